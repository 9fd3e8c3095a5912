"""From hits to what a generator reads, and back to the page."""

import asyncio
import itertools
import math
from typing import Any

import grpc
import psycopg
import pytest
from fpdf import FPDF

from folio.common.v1 import document_pb2
from folio.retriever.v1 import retriever_pb2 as pb
from services.postgres.admin import act_for
from services.retriever.search.passages import OMITTED
from services.rpc import tables
from services.text.tables import Grid
from tests.conftest import Postgres
from tests.retriever.conftest import Caller

pytestmark = pytest.mark.integration

TOKEN = (
    "The impeller of pump number {n} is fastened with {n} newton metres and checked every spring."
)


def manual(pages: int = 6) -> bytes:
    """A PDF with one heading and some paragraphs a page, and a word of its own on each."""
    pdf = FPDF()
    for number in range(pages):
        pdf.add_page()
        pdf.set_font("helvetica", "B", 20)
        pdf.cell(text=f"Chapter {number}", new_x="LMARGIN", new_y="NEXT")
        pdf.set_font("helvetica", size=11)
        for paragraph in range(5):
            pdf.multi_cell(
                0, 6, f"marker{number}x{paragraph} " + TOKEN.format(n=10 * number + paragraph)
            )
            pdf.ln(6)
    return bytes(pdf.output())


async def passages(caller: Caller, hits: list[int], **request: Any) -> list[pb.Passage]:
    answer = await caller.stub.GetPassages(
        pb.GetPassagesRequest(chunk_ids=hits, **request), timeout=30
    )
    return list(answer.passages)


async def test_the_section_around_each_hit_once_ranked_by_its_best(caller: Caller) -> None:
    await caller.ingest(manual(), "manual.pdf")
    found = (await caller.search("how is the impeller of pump number 32 fastened?", limit=12)).hits
    ids = [hit.chunk.id for hit in found]
    got = await passages(caller, ids)
    order = [hit.chunk.section_id for hit in found]
    assert [passage.section_id for passage in got] == list(dict.fromkeys(order))
    assert sum(len(passage.hits) for passage in got) == len(found)
    for passage in got:
        assert passage.token_count <= 2000
        for hit in passage.hits:
            start = hit.char_start - passage.char_start
            assert passage.text[start : start + len(hit.body)] == hit.body
            pages = [p.page for p in passage.pages if p.char_offset <= start]
            assert pages[-1] == hit.page_start
    assert sum(passage.token_count for passage in got) <= 8000


async def test_a_long_document_without_headings_gives_the_neighbourhood_of_each_hit(
    caller: Caller,
) -> None:
    text = "\n\n".join(TOKEN.format(n=n) for n in range(400))
    await caller.ingest(text, "long.txt")
    hits = (await caller.search("pump number 37", "pump number 310", limit=6)).hits
    got = await passages(
        caller, [hit.chunk.id for hit in hits], max_passage_tokens=200, max_total_tokens=500
    )
    assert 0 < sum(passage.token_count for passage in got) <= 500
    assert all(passage.token_count <= 200 for passage in got)
    assert got[0].hits[0].id == hits[0].chunk.id
    for passage in got:
        assert text[passage.char_start : passage.char_end] == passage.text
        for hit in passage.hits:
            assert hit.body in passage.text
    spans = sorted((passage.char_start, passage.char_end) for passage in got)
    assert all(end <= start + 300 for (_, end), (start, _) in itertools.pairwise(spans))


async def test_hits_only_gives_the_chunks_themselves(caller: Caller) -> None:
    await caller.ingest(manual(2), "manual.pdf")
    ids = [hit.chunk.id for hit in (await caller.search("impeller")).hits]
    got = await passages(caller, ids, hits_only=True)
    assert [passage.hits[0].id for passage in got] == ids
    assert all(passage.text == passage.hits[0].body for passage in got)


async def test_ids_that_are_gone_are_passed_over(caller: Caller) -> None:
    await caller.ingest(manual(2), "manual.pdf")
    here = (await caller.search("impeller")).hits[0].chunk.id
    assert len(await passages(caller, [10**12, here])) == 1


async def test_every_marker_is_located_on_its_page_and_drawn(caller: Caller) -> None:
    result = await caller.ingest(manual(), "manual.pdf")
    hits = (await caller.search("marker3x2", limit=40)).hits
    chunk = next(hit.chunk for hit in hits if "marker3x2" in hit.chunk.body)
    start = chunk.char_start + chunk.body.index("marker3x2")
    located = await caller.stub.LocateQuotes(
        pb.LocateQuotesRequest(
            spans=[
                pb.QuoteSpan(document_id=result.document.id, char_start=start, char_end=start + 9)
            ]
        ),
        timeout=60,
    )
    region = located.quotes[0].regions[0]
    assert located.quotes[0].located
    assert region.page == 3
    assert region.page_label == "4"
    assert region.page_kind == document_pb2.PAGE_KIND_PAGE
    box = region.rectangles[0]
    assert 0 <= box.left < box.right <= 1
    assert 0 <= box.top < box.bottom <= 1
    drawn = await caller.stub.RenderPage(
        pb.RenderPageRequest(document_id=result.document.id, page=3, dpi=72, highlights=[box]),
        timeout=60,
    )
    assert drawn.png.startswith(b"\x89PNG")
    assert math.isclose(drawn.width, 595, abs_tol=2)


async def test_a_document_read_before_boxes_were_kept_is_located_by_its_words(
    caller: Caller, tenant_id: int, postgres: Postgres
) -> None:
    result = await caller.ingest(manual(), "manual.pdf")
    chunk = (await caller.search("marker3x2", limit=1)).hits[0].chunk
    start = chunk.char_start + chunk.body.index("marker3x2 The impeller of pump number 32")
    request = pb.LocateQuotesRequest(
        spans=[pb.QuoteSpan(document_id=result.document.id, char_start=start, char_end=start + 40)]
    )
    kept = (await caller.stub.LocateQuotes(request, timeout=60)).quotes[0]
    with psycopg.connect(postgres.admin_url) as connection:
        act_for(connection, tenant_id)
        connection.execute("update folio.pages set boxes = null")
    again = (await caller.stub.LocateQuotes(request, timeout=60)).quotes[0]
    assert kept == again
    assert [region.page for region in kept.regions] == [3]


async def test_text_has_no_pages_to_draw_or_to_stand_on(caller: Caller) -> None:
    result = await caller.ingest("A plain text that is long enough to be read.", "a.txt")
    located = await caller.stub.LocateQuotes(
        pb.LocateQuotesRequest(
            spans=[pb.QuoteSpan(document_id=result.document.id, char_start=0, char_end=5)]
        ),
        timeout=9,
    )
    assert not located.quotes[0].located
    with pytest.raises(grpc.aio.AioRpcError) as error:
        await caller.stub.RenderPage(
            pb.RenderPageRequest(document_id=result.document.id), timeout=9
        )
    assert error.value.code() is grpc.StatusCode.FAILED_PRECONDITION


@pytest.mark.parametrize("span", [(5, 5), (9, 3)])
async def test_an_empty_span_is_refused(caller: Caller, span: tuple[int, int]) -> None:
    result = await caller.ingest("A plain text that is long enough to be read.", "a.txt")
    with pytest.raises(grpc.aio.AioRpcError) as error:
        await caller.stub.LocateQuotes(
            pb.LocateQuotesRequest(
                spans=[
                    pb.QuoteSpan(
                        document_id=result.document.id, char_start=span[0], char_end=span[1]
                    )
                ]
            ),
            timeout=9,
        )
    assert error.value.code() is grpc.StatusCode.INVALID_ARGUMENT


async def test_a_page_that_is_not_there_is_refused(caller: Caller) -> None:
    result = await caller.ingest(manual(2), "manual.pdf")
    with pytest.raises(grpc.aio.AioRpcError) as error:
        await caller.stub.RenderPage(
            pb.RenderPageRequest(document_id=result.document.id, page=2), timeout=30
        )
    assert error.value.code() is grpc.StatusCode.INVALID_ARGUMENT


async def test_a_scan_needs_ocr_and_does_not_replace_a_readable_version(caller: Caller) -> None:
    blank = FPDF()
    blank.add_page()
    scan = bytes(blank.output())
    result = await caller.ingest(scan, "scan.pdf")
    got = await caller.stub.GetDocument(
        pb.GetDocumentRequest(document_id=result.document.id), timeout=9
    )
    assert got.document.status == document_pb2.DOCUMENT_STATUS_NEEDS_OCR
    assert list(got.document.empty_pages) == [0]
    await caller.ingest(manual(1), "manual.pdf")
    with pytest.raises(grpc.aio.AioRpcError) as error:
        await caller.ingest(scan, "manual.pdf")
    assert error.value.code() is grpc.StatusCode.FAILED_PRECONDITION
    assert (await caller.search("impeller")).hits


async def test_documents_are_listed_in_pages_that_neither_repeat_nor_hide(caller: Caller) -> None:
    await asyncio.gather(
        *(caller.ingest(f"Text number {n}, long enough to be read.", f"{n}.txt") for n in range(5))
    )
    seen: list[int] = []
    token = ""
    while True:
        answer = await caller.stub.ListDocuments(
            pb.ListDocumentsRequest(page_size=2, page_token=token), timeout=9
        )
        seen += [document.id for document in answer.documents]
        if token == "":
            await caller.stub.DeleteDocument(
                pb.DeleteDocumentRequest(document_id=seen[0]), timeout=9
            )
        token = answer.next_page_token
        if not token:
            break
    assert len(seen) == len(set(seen)) == 5
    with pytest.raises(grpc.aio.AioRpcError) as error:
        await caller.stub.ListDocuments(pb.ListDocumentsRequest(page_token="nonsense"), timeout=9)
    assert error.value.code() is grpc.StatusCode.INVALID_ARGUMENT


def parts(rows: int) -> str:
    """A Markdown file of a long table below some prose."""
    lines = [
        f"| PX-{4000 + 7 * row} | valve of {row % 90} mm | {row % 300}.{row % 89:02} |"
        for row in range(rows)
    ]
    head = "| Part number | Name | Price in euros |\n|---|---|---|"
    return "\n".join(
        ["# Spare parts\n\nPrices hold until spring.\n", head, *lines, "\n# End\n\nOver."]
    )


def grids(passage: pb.Passage) -> list[Grid]:
    return [Grid(tables.unpack(table, len(passage.text)), passage.text) for table in passage.tables]


async def test_a_short_table_is_read_whole_and_its_cells_are_slices(caller: Caller) -> None:
    await caller.ingest(parts(5), "parts.md")
    hits = (await caller.search("valve of 3 mm")).hits
    passage = (await passages(caller, [hit.chunk.id for hit in hits]))[0]
    (grid,) = grids(passage)
    assert not passage.slices
    assert passage.page_kind == document_pb2.PAGE_KIND_NONE
    assert [grid.say(cell) for cell in grid.heads] == ["Part number", "Name", "Price in euros"]
    assert [grid.say(cell) for cell in grid.row(3)] == ["PX-4014", "valve of 2 mm", "2.02"]


async def test_rows_far_below_the_head_of_their_table_are_read_with_it(caller: Caller) -> None:
    await caller.ingest(parts(500), "parts.md")
    hits = (await caller.search("PX-7010")).hits
    got = await passages(caller, [hits[0].chunk.id])
    (passage,) = got
    (grid,) = grids(passage)
    row = 1 + (7010 - 4000) // 7
    assert passage.token_count <= 2000
    assert "Prices hold until spring." in passage.text
    assert [grid.say(cell) for cell in grid.heads] == ["Part number", "Name", "Price in euros"]
    assert next(grid.say(cell) for cell in grid.row(row)) == "PX-7010"
    assert row not in (grid.rows[0], grid.rows[-1])
    chunk = passage.hits[0]
    head, rest = passage.slices
    assert (head.char_offset, head.char_start) == (0, passage.char_start)
    assert passage.text[rest.char_offset :] in chunk.body or chunk.body in passage.text
    start = chunk.char_start - rest.char_start + rest.char_offset
    assert passage.text[start : start + len(chunk.body)] == chunk.body
    assert passage.text[head.length : rest.char_offset] == OMITTED


async def test_hits_all_over_a_long_table_are_one_passage(caller: Caller) -> None:
    await caller.ingest(parts(500), "parts.md")
    ids = [(await caller.search(f"PX-{number}")).hits[0].chunk.id for number in (7010, 4700, 5890)]
    (passage,) = await passages(caller, ids)
    assert {hit.id for hit in passage.hits} == set(ids)
    names = {
        grid.say(cell) for grid in grids(passage) for row in grid.rows for cell in grid.names(row)
    }
    assert names >= {"PX-7010", "PX-4700", "PX-5890"}
    assert passage.token_count <= 2000

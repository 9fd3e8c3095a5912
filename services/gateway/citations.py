"""From quotes that hold to citations that people can follow: document, page, label, link."""

from collections.abc import Sequence
from urllib.parse import quote as url_quote

from folio.common.v1 import document_pb2
from folio.gateway.v1 import gateway_pb2
from folio.retriever.v1 import retriever_pb2
from services.gateway.grounding.check import CheckedSentence, Quote, Verdict
from services.gateway.grounding.text import neutralise
from services.gateway.slices import in_document
from services.gateway.steps.passages import Read
from services.gateway.table_values import table_values


def answered(verdict: Verdict, read: Sequence[Read], *, rows: bool) -> gateway_pb2.Answered:
    """An answer that is grounded, with its citations; with `rows`, values of tables have their whole rows."""
    return gateway_pb2.Answered(
        sentences=[sentence(checked, read, rows=rows) for checked in verdict.sentences]
    )


def sentence(checked: CheckedSentence, read: Sequence[Read], *, rows: bool) -> gateway_pb2.Sentence:
    """A checked sentence with its citations."""
    return gateway_pb2.Sentence(
        text=checked.text,
        citations=[citation(quote, read[quote.source]) for quote in checked.quotes],
        proof=gateway_pb2.PROOF_JUDGE if checked.judged else gateway_pb2.PROOF_RULES,
        table_values=table_values(checked, [each.text for each in read], rows=rows),
    )


def citation(quote: Quote, read: Read) -> gateway_pb2.Citation:
    """The proof of one quote. Its page is that of the quote's own first character, not of the section's."""
    passage = read.passage
    place = in_document(passage, quote.span)
    page, label = page_at(passage, quote.span.start)
    last, last_label = page_at(passage, quote.span.end - 1)
    pageless = passage.page_kind == document_pb2.PAGE_KIND_NONE
    return gateway_pb2.Citation(
        source=quote.source,
        quote=quote.text,
        chunk_id=_chunk_at(passage.hits, place.start, place.end),
        document_id=passage.document_id,
        title=neutralise(passage.title),
        file_name=neutralise(passage.file_name),
        sha256=passage.sha256,
        page=page,
        page_label=label,
        link=link(passage.file_name, page),
        char_start=place.start,
        char_end=place.end,
        page_kind=passage.page_kind,
        cells=_cells(quote, read),
        heading=neutralise(passage.section_path[-1]) if pageless and passage.section_path else "",
        uncertain=any(
            span.char_start < quote.span.end and quote.span.start < span.char_end
            for span in passage.uncertain
        ),
        page_end=last if last != page else None,
        page_end_label=last_label if last != page else "",
    )


def _cells(quote: Quote, read: Read) -> str:
    """The cells of a sheet that a quote is from: "B12", or "B12:D12"."""
    addresses = [
        cell.address
        for grid in read.text.grids
        for cell in grid.table.cells
        if cell.address and cell.char_start < quote.span.end and quote.span.start < cell.char_end
    ]
    if not addresses:
        return ""
    return addresses[0] if len(addresses) == 1 else f"{addresses[0]}:{addresses[-1]}"


def page_at(passage: retriever_pb2.Passage, offset: int) -> tuple[int, str]:
    """The physical page and its label at a character of the passage."""
    found = (0, "")
    for start in passage.pages:
        if start.char_offset > offset:
            break
        found = (start.page, start.page_label)
    return found


def link(file_name: str, page: int) -> str:
    """Opens a PDF at the page (viewers count from 1; RFC 8118); any other file has no pages to open it at.

    Relative to the folder that was ingested, so that files of one name in two folders have two links.
    """
    parts = neutralise(file_name).split("/")
    name = url_quote("/".join(part for part in parts if part not in ("", ".", "..")))
    return f"{name}#page={page + 1}" if file_name.lower().endswith(".pdf") else name


def _chunk_at(hits: Sequence[document_pb2.Chunk], start: int, end: int) -> int:
    """The hit that holds most of the quote; 0 if the quote is from the section around the hits."""
    best, most = 0, 0
    for hit in hits:
        shared = min(end, hit.char_end) - max(start, hit.char_start)
        if shared > most:
            best, most = hit.id, shared
    return best

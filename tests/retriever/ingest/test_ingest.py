"""From bytes to a served document: versions, repetition, failure."""

import threading
from collections.abc import Callable
from functools import partial
from typing import Any

import grpc
import psycopg
import pytest

from folio.common.v1 import document_pb2, query_pb2, service_pb2, step_pb2
from folio.retriever.v1 import retriever_pb2 as pb
from services.retriever.ingest import staging
from services.retriever.search import lexical
from services.rpc.errors import ResourceExhausted
from services.rpc.identity import Principal
from tests.conftest import Postgres
from tests.retriever.conftest import Caller, Retriever
from tests.retriever.ingest.stored import LEAVE, count

pytestmark = pytest.mark.integration


async def test_a_staged_version_is_invisible_until_published(caller: Caller) -> None:
    result, progress = await caller.stage(LEAVE, "leave.md", kind="policy")
    assert result.document.status == document_pb2.DOCUMENT_STATUS_STAGED
    assert {event.step for event in progress} == {
        step_pb2.STEP_RECEIVE,
        step_pb2.STEP_PARSE,
        step_pb2.STEP_CHUNK,
        step_pb2.STEP_EMBED,
        step_pb2.STEP_STORE,
    }
    assert len((await caller.search("parental leave")).hits) == 0
    published = await caller.publish(result)
    assert published.document.status == document_pb2.DOCUMENT_STATUS_READY
    hits = (await caller.search("How many weeks of parental leave do full-time staff get?")).hits
    assert "16 weeks" in hits[0].chunk.body
    assert hits[0].chunk.section_path[-1] == "Parental leave"
    assert hits[0].chunk.kind == "policy"


async def test_the_database_and_the_retriever_encode_the_same_text(
    caller: Caller, postgres: Postgres, tenant_id: int
) -> None:
    """Otherwise the encoder reads a chunk twice, and its vectors are of two texts."""
    table = "\n\n| Part | Price |\n| --- | --- |\n| PX-1 | 3.50 |\n| PX-2 | 4.75 |\n"
    await caller.ingest(LEAVE + table, "leave.md", title="Leave at the ferry: " + "é" * 120)
    with psycopg.connect(postgres.admin_url) as connection:
        rows = connection.execute(
            "select folio.encoded_text(heading, reading, body), text_sha256, reading"
            " from folio.chunks where organization_id = %s",
            [tenant_id],
        ).fetchall()
    assert any(reading for _, _, reading in rows)
    for text, digest, _ in rows:
        assert text.startswith("Leave at the ferry: éé")
        assert staging.text_sha256(text) == bytes(digest)


async def test_publishing_twice_is_harmless(caller: Caller) -> None:
    result, _ = await caller.stage(LEAVE, "leave.md")
    await caller.publish(result)
    again = await caller.publish(result)
    assert again.document.version == result.version


async def test_the_same_file_again_changes_nothing(
    caller: Caller, postgres: Postgres, tenant_id: int
) -> None:
    first = await caller.ingest(LEAVE, "leave.md")
    chunks = count(postgres, tenant_id, "chunks")
    again = await caller.ingest(LEAVE, "leave.md")
    assert again.unchanged
    assert again.document.id == first.document.id
    assert count(postgres, tenant_id, "chunks") == chunks


async def test_words_are_looked_for_beside_the_event_loop(
    caller: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A long document takes seconds, and searches and health checks share the loop."""
    threads: set[int] = set()

    def seen(real: Callable[[str], Any], text: str) -> Any:
        threads.add(threading.get_ident())
        return real(text)

    monkeypatch.setattr(lexical, "words", partial(seen, lexical.words))
    monkeypatch.setattr(lexical, "index_terms", partial(seen, lexical.index_terms))
    await caller.ingest(LEAVE, "leave.md")
    assert threads
    assert threading.get_ident() not in threads


async def test_new_bytes_are_a_new_version_of_the_document(
    caller: Caller, postgres: Postgres, tenant_id: int
) -> None:
    first = await caller.ingest(LEAVE, "leave.md")
    staged, _ = await caller.stage(LEAVE.replace("16 weeks", "20 weeks"), "leave.md")
    assert staged.document.id == first.document.id
    assert "16 weeks" in (await caller.search("parental leave weeks")).hits[0].chunk.body
    await caller.publish(staged)
    bodies = [hit.chunk.body for hit in (await caller.search("parental leave weeks")).hits]
    assert any("20 weeks" in body for body in bodies)
    assert not any("16 weeks" in body for body in bodies)
    assert count(postgres, tenant_id, "document_versions") == 1
    assert count(postgres, tenant_id, "files") == 1


async def test_another_kind_for_the_same_bytes_is_a_new_version(caller: Caller) -> None:
    first = await caller.ingest(LEAVE, "leave.md", kind="draft")
    second = await caller.ingest(LEAVE, "leave.md", kind="policy")
    assert second.document.id == first.document.id
    assert not second.unchanged
    got = await caller.stub.GetDocument(
        pb.GetDocumentRequest(document_id=first.document.id), timeout=9
    )
    assert got.document.kind == "policy"


@pytest.mark.parametrize(
    ("data", "header", "code"),
    [
        (b"", {}, grpc.StatusCode.INVALID_ARGUMENT),
        (b"text", {"sha256": "0" * 64}, grpc.StatusCode.INVALID_ARGUMENT),
        (b"text", {"size_bytes": 5}, grpc.StatusCode.INVALID_ARGUMENT),
        (b"text", {"published_on": "2025-02-30"}, grpc.StatusCode.INVALID_ARGUMENT),
        (b"text", {"size_bytes": 2**40}, grpc.StatusCode.RESOURCE_EXHAUSTED),
        (b"text", {"rooftop_id": 999_999}, grpc.StatusCode.NOT_FOUND),
        (b"GIF89a" + b"0" * 50, {}, grpc.StatusCode.INVALID_ARGUMENT),
    ],
)
async def test_a_bad_upload_is_refused_and_leaves_nothing_to_find(
    caller: Caller,
    postgres: Postgres,
    tenant_id: int,
    data: bytes,
    header: dict[str, object],
    code: object,
) -> None:
    with pytest.raises(grpc.aio.AioRpcError) as error:
        await caller.stage(data, "a.bin", **header)
    assert error.value.code() is code
    for table in ("chunks", "pages", "sections", "files"):
        assert count(postgres, tenant_id, table) == 0


async def test_who_still_sends_when_refused_learns_why(caller: Caller) -> None:
    for _ in range(20):
        with pytest.raises(grpc.aio.AioRpcError) as error:
            await caller.stage(b"0" * (8 << 20), "a.bin", size_bytes=2**40)
        assert error.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED


async def test_a_file_that_cannot_be_read_is_listed_as_failed_and_can_be_sent_again(
    caller: Caller,
) -> None:
    for _ in range(2):
        with pytest.raises(grpc.aio.AioRpcError):
            await caller.stage(b"%PDF-1.7 and nothing more", "broken.md")
    listed = (await caller.stub.ListDocuments(pb.ListDocumentsRequest(), timeout=9)).documents
    assert [document.status for document in listed] == [document_pb2.DOCUMENT_STATUS_FAILED]
    assert listed[0].error
    result = await caller.ingest(LEAVE, "broken.md")
    assert result.document.id == listed[0].id


@pytest.mark.parametrize(
    ("reason", "status"),
    [
        ("PARSE_TIMEOUT", document_pb2.DOCUMENT_STATUS_FAILED),
        ("PARSE_MEMORY", document_pb2.DOCUMENT_STATUS_FAILED),
        ("TOO_MUCH_TEXT", document_pb2.DOCUMENT_STATUS_FAILED),
        ("OVERLOADED", document_pb2.DOCUMENT_STATUS_STAGED),
    ],
)
async def test_a_file_past_a_limit_has_failed_and_one_that_met_a_full_queue_has_not(
    caller: Caller,
    retriever: Retriever,
    monkeypatch: pytest.MonkeyPatch,
    reason: str,
    status: int,
) -> None:
    async def refuse(data: bytes, **options: object) -> object:
        raise ResourceExhausted("it took too long", reason=reason)

    monkeypatch.setattr(retriever.service.parts.parser, "parse", refuse)
    with pytest.raises(grpc.aio.AioRpcError) as error:
        await caller.stage(LEAVE, "slow.md")
    assert error.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    listed = (await caller.stub.ListDocuments(pb.ListDocumentsRequest(), timeout=9)).documents
    assert [document.status for document in listed] == [status]
    monkeypatch.undo()
    assert (await caller.ingest(LEAVE, "slow.md")).document.chunk_count


async def test_a_rooftop_that_is_not_there_is_not_found(
    retriever: Retriever, tenant_id: int
) -> None:
    stranger = await retriever.as_(Principal(tenant_id, 999_999))
    with pytest.raises(grpc.aio.AioRpcError) as error:
        await stranger.stage(LEAVE, "leave.md")
    assert error.value.code() is grpc.StatusCode.NOT_FOUND


async def test_another_declared_type_for_the_same_bytes_is_a_new_version(caller: Caller) -> None:
    plain = await caller.ingest("# Leave\n\nSixteen *weeks* of leave.", "leave")
    marked = await caller.ingest(
        "# Leave\n\nSixteen *weeks* of leave.", "leave", media_type="text/markdown"
    )
    assert (plain.document.media_type, plain.unchanged) == ("text/plain", False)
    assert (marked.document.id, marked.unchanged) == (plain.document.id, False)
    assert (await caller.search("weeks")).hits[0].chunk.section_path == ["Leave"]


async def test_a_failed_new_version_leaves_the_old_one_served(caller: Caller) -> None:
    first = await caller.ingest(LEAVE, "leave.md")
    with pytest.raises(grpc.aio.AioRpcError):
        await caller.stage(b"%PDF-1.7 and nothing more", "leave.md")
    got = await caller.stub.GetDocument(
        pb.GetDocumentRequest(document_id=first.document.id), timeout=9
    )
    assert got.document.status == document_pb2.DOCUMENT_STATUS_READY
    assert (await caller.search("parental leave")).hits


async def test_deleting_removes_everything_that_was_made_from_it(
    caller: Caller, postgres: Postgres, tenant_id: int
) -> None:
    result = await caller.ingest(LEAVE, "leave.md", request_id="r")
    chunks = count(postgres, tenant_id, "chunks")
    deleted = await caller.stub.DeleteDocument(
        pb.DeleteDocumentRequest(document_id=result.document.id), timeout=9
    )
    assert deleted.chunks_deleted == chunks > 0
    with psycopg.connect(postgres.admin_url) as connection:
        tables = [
            row[0]
            for row in connection.execute(
                "select c.relname from pg_class c where relnamespace = 'folio'::regnamespace and relkind in ('r','p') "
                "and not relispartition and exists (select from pg_attribute where attrelid = c.oid "
                "and attname = 'organization_id')"
            ).fetchall()
        ]
    assert {name: count(postgres, tenant_id, name) for name in tables} == dict.fromkeys(tables, 0)
    assert (await caller.search("parental leave")).hits == []


async def test_an_unknown_organization_is_not_found_and_told_what_to_do(
    retriever: Retriever,
) -> None:
    stranger = await retriever.as_(Principal(987_654_321))
    with pytest.raises(grpc.aio.AioRpcError) as error:
        await stranger.stage(LEAVE, "leave.md")
    assert error.value.code() is grpc.StatusCode.NOT_FOUND
    assert "create-organization" in (error.value.details() or "")


async def test_every_text_column_holds_clean_text(
    caller: Caller, postgres: Postgres, tenant_id: int
) -> None:
    """Driven by the schema: a text column that is added later is checked too."""
    dirty = "a\x00b\x0b\u200bc"
    await caller.ingest(
        f"# {dirty}\n\nBody {dirty} with enough words to be more than twenty characters.".encode(),
        f"{dirty}.md",
        title=dirty,
        kind=dirty,
        collection=dirty,
        request_id=dirty,
    )
    await caller.stub.LogQuery(
        pb.LogQueryRequest(
            request_id=dirty,
            outcome=query_pb2.OUTCOME_ANSWERED,
            question=dirty,
            steps=[step_pb2.StepReport(reason=dirty, model=dirty)],
            egress=[service_pb2.Egress(provider=dirty, purpose=service_pb2.PURPOSE_ANSWER)],
        ),
        timeout=9,
    )
    with psycopg.connect(postgres.admin_url) as connection:
        connection.execute("select set_config('app.organization_id', %s, true)", [str(tenant_id)])
        columns = connection.execute(
            "select table_name, column_name from information_schema.columns c join pg_class r "
            "on r.relname = c.table_name and r.relnamespace = 'folio'::regnamespace "
            "where table_schema = 'folio' and not r.relispartition and data_type in ('text', 'ARRAY', 'jsonb') "
            "and table_name in (select table_name from information_schema.columns "
            "where table_schema = 'folio' and column_name = 'organization_id')"
        ).fetchall()
        assert len(columns) > 20
        for table, column in columns:
            values = connection.execute(
                f"select {column}::text from folio.{table} where organization_id = %s".encode(),
                [tenant_id],
            ).fetchall()
            for (value,) in values:
                assert "\x0b" not in (value or ""), (table, column)
                assert "\u200b" not in (value or ""), (table, column)

"""Who reads which file: many at once, a repeated request, a worker that dies, is cancelled or loses its claim."""

import asyncio
import contextlib
import hashlib
from typing import Any

import grpc
import psycopg
import pytest

from folio.common.v1 import document_pb2
from folio.retriever.v1 import retriever_pb2 as pb
from services.postgres.pool import tenant
from services.retriever.ingest import claims, staging
from services.retriever.ingest.pipeline import Ingest, Options
from services.retriever.uploads import upload_from
from services.rpc.errors import Aborted
from services.rpc.identity import Principal
from tests.conftest import Postgres
from tests.retriever.conftest import Caller, Retriever
from tests.retriever.ingest.stored import LEAVE, count

pytestmark = pytest.mark.integration


async def test_twenty_at_once_are_one_document_and_one_embedding_pass(
    caller: Caller,
    postgres: Postgres,
    tenant_id: int,
    retriever: Retriever,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    embedded: list[str] = []
    embedder = retriever.service.parts.embedder
    real = embedder.embed

    async def counting(texts: list[str], *, query: bool = False) -> object:
        embedded.extend(texts)
        return await real(texts, query=query)

    monkeypatch.setattr(embedder, "embed", counting)
    results = await asyncio.gather(*(caller.stage(LEAVE, "leave.md") for _ in range(20)))
    assert len({(result.document.id, result.version) for result, _ in results}) == 1
    assert len(embedded) == len(set(embedded)) == results[0][0].document.chunk_count
    assert count(postgres, tenant_id, "documents") == 1
    assert count(postgres, tenant_id, "chunks") == len(embedded)


async def test_a_retry_with_the_same_request_id_gets_the_same_result(caller: Caller) -> None:
    first, _ = await caller.stage(LEAVE, "leave.md", request_id="r1")
    again, _ = await caller.stage(LEAVE, "leave.md", request_id="r1")
    assert (again.document.id, again.version) == (first.document.id, first.version)
    for data, file_name in ((LEAVE + "more", "leave.md"), (LEAVE, "other.md")):
        with pytest.raises(grpc.aio.AioRpcError) as error:
            await caller.stage(data, file_name, request_id="r1")
        assert error.value.code() is grpc.StatusCode.ALREADY_EXISTS


async def test_of_two_files_at_once_with_one_request_id_one_is_refused(
    caller: Caller, postgres: Postgres, tenant_id: int
) -> None:
    results = await asyncio.gather(
        *(caller.stage(f"{LEAVE}{n}", f"{n}.md", request_id="r1") for n in range(6)),
        return_exceptions=True,
    )
    refused = [result for result in results if isinstance(result, grpc.aio.AioRpcError)]
    assert {error.code() for error in refused} == {grpc.StatusCode.ALREADY_EXISTS}
    assert len(refused) == 5
    assert count(postgres, tenant_id, "documents") == 1


async def test_a_cancelled_ingest_is_completed_by_the_next_without_embedding_again(
    caller: Caller,
    postgres: Postgres,
    tenant_id: int,
    retriever: Retriever,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = "\n\n".join(
        f"Rule {n}: {hashlib.sha256(bytes([n])).hexdigest()} must be kept." for n in range(90)
    )
    embedder = retriever.service.parts.embedder
    embedded: list[str] = []
    real, reached = embedder.embed, asyncio.Event()

    async def stuck(texts: list[str], *, query: bool = False) -> object:
        if embedded:
            reached.set()
            await asyncio.Event().wait()
        embedded.extend(texts)
        return await real(texts, query=query)

    monkeypatch.setattr(embedder, "embed", stuck)
    work = asyncio.create_task(caller.stage(text, "rules.txt"))
    await reached.wait()
    work.cancel()
    await asyncio.wait([work])
    assert count(postgres, tenant_id, "chunks") == 0
    finished = list(embedded)

    async def counting(texts: list[str], *, query: bool = False) -> object:
        embedded.extend(texts)
        return await real(texts, query=query)

    monkeypatch.setattr(embedder, "embed", counting)
    result = await caller.ingest(text, "rules.txt")
    assert len(finished) > 0
    assert len(embedded) == len(set(embedded)) == result.document.chunk_count


async def test_the_claim_of_a_dead_worker_is_taken_over_when_its_lease_ends(
    caller: Caller, postgres: Postgres, retriever: Retriever, tenant_id: int
) -> None:
    """As if the process had been killed between two batches: rows half stored, nothing released."""
    parts = retriever.service.parts
    data = LEAVE.encode()
    upload = upload_from(
        pb.IngestHeader(file_name="leave.md"),
        hashlib.sha256(data).hexdigest(),
        len(data),
        parts.settings,
        parts.embedder,
    )
    who = Principal(tenant_id)
    async with tenant(parts.pool, who) as connection:
        dead = await claims.claim(connection, who, upload, "dead", lease_s=0.5)
        await staging.write_file(
            connection, staging.Staging(tenant_id, None, dead, "dead"), b"half"
        )
    result = await caller.ingest(LEAVE, "leave.md")
    assert (result.document.id, result.version) == (dead.document_id, dead.version)
    assert (await caller.search("parental leave")).hits
    async with tenant(parts.pool, who) as connection:
        # The dead worker, should it wake up, changes nothing.
        with pytest.raises(Aborted):
            await claims.renew(connection, tenant_id, dead, "dead", 5)
        await claims.fail(connection, tenant_id, dead, "dead", "late")
    got = await caller.stub.GetDocument(
        pb.GetDocumentRequest(document_id=dead.document_id), timeout=9
    )
    assert got.document.status == document_pb2.DOCUMENT_STATUS_READY
    assert count(postgres, tenant_id, "chunks") == result.document.chunk_count > 0
    assert (await caller.search("parental leave")).hits


async def test_an_ingest_does_not_lose_its_claim_to_its_own_end(
    retriever: Retriever, tenant_id: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A renewal that goes on after its end, as where a cancellation comes with what is awaited."""
    parts, data, real = retriever.service.parts, LEAVE.encode(), claims.renew

    async def stubborn(*arguments: Any) -> None:
        if asyncio.current_task() is not task:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(60)
        await real(*arguments)

    monkeypatch.setattr(claims, "renew", stubborn)
    settings = parts.settings.model_copy(update={"lease_seconds": 0.003})
    digest = hashlib.sha256(data).hexdigest()
    header = pb.IngestHeader(file_name="leave.md")
    upload = upload_from(header, digest, len(data), settings, parts.embedder)
    work = Ingest(
        parts.pool, parts.parser, parts.embedder, parts.column, settings, Principal(tenant_id)
    )
    task = asyncio.create_task(work.run(upload, data, Options()))
    assert not (await task).unchanged


@pytest.mark.parametrize("meanwhile", ["deleted", "taken over and published"])
async def test_an_ingest_that_lost_its_document_is_aborted_and_harms_nothing(
    caller: Caller,
    postgres: Postgres,
    retriever: Retriever,
    tenant_id: int,
    monkeypatch: pytest.MonkeyPatch,
    meanwhile: str,
) -> None:
    embedder = retriever.service.parts.embedder
    real, reached, go_on = embedder.embed, asyncio.Event(), asyncio.Event()

    async def slow(texts: list[str], *, query: bool = False) -> object:
        if not reached.is_set():
            reached.set()
            await go_on.wait()
        return await real(texts, query=query)

    monkeypatch.setattr(embedder, "embed", slow)
    late = asyncio.create_task(caller.stage(LEAVE, "leave.md"))
    await reached.wait()
    document = (await caller.stub.ListDocuments(pb.ListDocumentsRequest(), timeout=9)).documents[0]
    if meanwhile == "deleted":
        await caller.stub.DeleteDocument(
            pb.DeleteDocumentRequest(document_id=document.id), timeout=9
        )
    else:
        with psycopg.connect(postgres.admin_url) as connection:
            # As if its host had slept through the lease.
            connection.execute(
                "update folio.document_versions set leased_until = now() where organization_id = %s",
                [tenant_id],
            )
        await caller.ingest(LEAVE, "leave.md")
    chunks = count(postgres, tenant_id, "chunks")
    go_on.set()
    with pytest.raises(grpc.aio.AioRpcError) as error:
        await late
    assert error.value.code() is grpc.StatusCode.ABORTED
    assert count(postgres, tenant_id, "chunks") == chunks
    assert bool(chunks) is (meanwhile != "deleted")
    assert bool((await caller.search("parental leave")).hits) is bool(chunks)

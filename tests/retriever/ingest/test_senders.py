"""Senders that are slow or fall silent while they upload, or send what takes long to read."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import grpc
import pytest

from folio.retriever.v1 import retriever_pb2 as pb
from folio.retriever.v1 import retriever_pb2_grpc
from services.retriever.assembly import Service
from services.rpc.identity import Principal
from services.rpc.testing import running
from tests.conftest import Postgres
from tests.retriever.conftest import Caller, Retriever, settings_on
from tests.retriever.ingest.stored import LEAVE, count
from tests.retriever.parsing.test_pool import BOMB
from tests.retriever.search.test_passages import manual

pytestmark = pytest.mark.integration


async def test_senders_that_dawdle_keep_no_other_organization_waiting(
    postgres: Postgres, retriever: Retriever
) -> None:
    parts = replace(retriever.service.parts, settings=settings_on(postgres, max_ingests=2))
    service, done = Service(parts), asyncio.Event()

    async def dawdling() -> AsyncIterator[pb.IngestDocumentRequest]:
        yield pb.IngestDocumentRequest(header=pb.IngestHeader(file_name="slow.md"))
        await done.wait()

    slow, quick = Principal(postgres.organization()), Principal(postgres.organization())
    async with (
        running("retriever", service.register, slow) as its,
        running("retriever", service.register, quick) as ours,
    ):
        stub: Any = retriever_pb2_grpc.RetrieverServiceStub(its)
        calls = [stub.IngestDocument(dawdling(), timeout=120) for _ in range(4)]
        async with asyncio.timeout(60):
            while service.servicer.uploads.waiting(slow.organization_id) < 3:  # noqa: ASYNC110  (a gate has no event for its queue)
                await asyncio.sleep(0.01)
        result = await Caller(retriever_pb2_grpc.RetrieverServiceStub(ours)).ingest(LEAVE, "a.md")
        assert result.document.chunk_count
        done.set()
        for call in calls:
            call.cancel()


async def test_a_sender_that_falls_silent_is_given_up(
    postgres: Postgres, retriever: Retriever
) -> None:
    parts = replace(
        retriever.service.parts, settings=settings_on(postgres, sender_silence_seconds=0.2)
    )

    async def silent() -> AsyncIterator[pb.IngestDocumentRequest]:
        yield pb.IngestDocumentRequest(header=pb.IngestHeader(file_name="slow.md"))
        yield pb.IngestDocumentRequest(data=b"a beginning")
        await asyncio.Event().wait()

    principal = Principal(postgres.organization())
    async with running("retriever", Service(parts).register, principal) as channel:
        stub: Any = retriever_pb2_grpc.RetrieverServiceStub(channel)
        with pytest.raises(grpc.aio.AioRpcError) as failed:
            _ = [event async for event in stub.IngestDocument(silent(), timeout=60)]
    assert failed.value.code() is grpc.StatusCode.ABORTED
    assert count(postgres, principal.organization_id, "documents") == 0


async def test_a_file_that_takes_long_to_read_keeps_no_quote_from_being_located(
    postgres: Postgres, retriever: Retriever
) -> None:
    slow = await retriever.as_(Principal(postgres.organization()))
    quick = await retriever.as_(Principal(postgres.organization()))
    document = (await quick.ingest(manual(1), "manual.pdf")).document.id
    await retriever.service.warm_up()
    reading = asyncio.create_task(slow.stage(BOMB, "bomb.pdf"))
    parser = retriever.service.parts.parser
    async with asyncio.timeout(60):
        while parser._idle:  # noqa: ASYNC110  (a process has no event for being taken)
            await asyncio.sleep(0.01)
    span = pb.QuoteSpan(document_id=document, char_start=0, char_end=7)
    located = await quick.stub.LocateQuotes(pb.LocateQuotesRequest(spans=[span]), timeout=60)
    assert located.quotes[0].located
    assert not reading.done()
    reading.cancel()
    await asyncio.wait([reading])

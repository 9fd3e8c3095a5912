"""A real retriever on the session's PostgreSQL, called over gRPC by whoever a test wants to be."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from typing import Any

import pytest
from pydantic import SecretStr

from folio.retriever.v1 import retriever_pb2 as pb
from folio.retriever.v1 import retriever_pb2_grpc
from services.retriever.assembly import Service, open_service
from services.retriever.settings import RetrieverSettings
from services.rpc.identity import Principal
from services.rpc.testing import running
from tests.conftest import Postgres

CHUNK_TOKENS = 60


def settings_on(postgres: Postgres, **changes: object) -> RetrieverSettings:
    """Small chunks, so that small documents have several."""
    return RetrieverSettings.model_validate(
        {
            "internal_secret": SecretStr("x" * 32),
            "database_url": SecretStr(postgres.url),
            "chunk_tokens": CHUNK_TOKENS,
            "chunk_overlap": 10,
            "chunk_snap": 10,
            "max_ingests": 32,
            "lease_seconds": 3,
            **changes,
        }
    )


class Caller:
    """The retriever as one principal sees it."""

    def __init__(self, stub: Any) -> None:
        self.stub = stub

    async def stage(
        self, data: bytes | str, file_name: str, **header: Any
    ) -> tuple[pb.IngestResult, list[pb.IngestProgress]]:
        """Ingests without publishing."""
        content = data.encode() if isinstance(data, str) else data

        async def messages() -> AsyncIterator[pb.IngestDocumentRequest]:
            yield pb.IngestDocumentRequest(header=pb.IngestHeader(file_name=file_name, **header))
            for start in range(0, len(content), 1 << 20):
                yield pb.IngestDocumentRequest(data=content[start : start + (1 << 20)])

        result, progress = None, []
        call = self.stub.IngestDocument(messages(), timeout=120)
        try:
            async for event in call:
                if event.WhichOneof("event") == "result":
                    result = event.result
                else:
                    progress.append(event.progress)
        finally:
            call.cancel()
        assert result is not None
        return result, progress

    async def ingest(self, data: bytes | str, file_name: str, **header: Any) -> pb.IngestResult:
        """Ingests and publishes."""
        result, _ = await self.stage(data, file_name, **header)
        if not result.unchanged:
            await self.publish(result)
        return result

    async def publish(self, result: pb.IngestResult) -> Any:
        return await self.stub.PublishDocument(
            pb.PublishDocumentRequest(document_id=result.document.id, version=result.version),
            timeout=60,
        )

    async def search(self, *texts: str, **request: Any) -> pb.SearchResponse:
        found: pb.SearchResponse = await self.stub.Search(
            pb.SearchRequest(queries=[pb.Query(text=text) for text in texts], **request), timeout=60
        )
        return found


class Retriever:
    """Makes callers; the servers end with the session."""

    def __init__(self, service: Service, stack: AsyncExitStack) -> None:
        self.service = service
        self._stack = stack

    async def as_(self, principal: Principal) -> Caller:
        channel = await self._stack.enter_async_context(
            running("retriever", self.service.register, principal)
        )
        return Caller(retriever_pb2_grpc.RetrieverServiceStub(channel))


@pytest.fixture(scope="session")
async def retriever(postgres: Postgres) -> AsyncIterator[Retriever]:
    """One for the session: the model is loaded once."""
    async with AsyncExitStack() as stack:
        service = await stack.enter_async_context(open_service(settings_on(postgres)))
        yield Retriever(service, stack)


@pytest.fixture
async def tenant_id(postgres: Postgres) -> int:
    """A new, empty organization."""
    return await asyncio.to_thread(postgres.organization)


@pytest.fixture
async def caller(retriever: Retriever, tenant_id: int) -> Caller:
    """Acts for a new, empty organization."""
    return await retriever.as_(Principal(tenant_id))

"""A model whose methods block, behind lanes: one batch at a time, queries first."""

from collections.abc import Sequence
from typing import Protocol

from services.colbert.encoders import Encoded
from services.colbert.settings import ColbertSettings
from services.rpc import identity
from services.rpc.lanes import Lane, Lanes
from services.rpc.providers import Worker

# Characters per token of English prose: for budgets, where a rough count will do.
_CHARACTERS_PER_TOKEN = 4


class BlockingEncoder(Worker, Protocol):
    """See Encoder; called in a thread, one call at a time."""

    revision: str
    dim: int
    query_length: int
    document_length: int

    def encode_queries(self, texts: Sequence[str]) -> list[Encoded]: ...

    def encode_documents(self, texts: Sequence[str]) -> list[Encoded]: ...


class BatchedEncoder:
    """See Encoder."""

    def __init__(self, model: BlockingEncoder, settings: ColbertSettings) -> None:
        self.provider, self.local = model.provider, model.local
        self.model, self.revision, self.dim = model.model, model.revision, model.dim
        self.query_length, self.document_length = model.query_length, model.document_length
        self._lanes: Lanes[str, Encoded] = Lanes(
            {
                Lane.QUERY: model.encode_queries,
                Lane.DOCUMENT: model.encode_documents,
                Lane.BULK: model.encode_documents,
            },
            batch=settings.batch_tokens,
            queue=settings.queue_tokens,
            wait_s=settings.batch_wait_ms / 1000,
        )

    async def encode_queries(self, texts: Sequence[str]) -> Sequence[Encoded | None]:
        return await self._run(Lane.QUERY, texts, self.query_length)

    async def encode_documents(
        self, texts: Sequence[str], *, bulk: bool = False
    ) -> Sequence[Encoded | None]:
        return await self._run(Lane.BULK if bulk else Lane.DOCUMENT, texts, self.document_length)

    async def _run(self, lane: Lane, texts: Sequence[str], limit: int) -> list[Encoded | None]:
        costs = [min(len(text) // _CHARACTERS_PER_TOKEN + 2, limit) for text in texts]
        return await self._lanes.run(lane, texts, costs, identity.organization())

    async def warm_up(self) -> None:
        await self.encode_queries(["warm up"])
        await self.encode_documents(["warm up"])

    async def close(self) -> None:
        await self._lanes.close()

"""Puts colbert together: database, encoder, memory, scorer."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass

import grpc

from folio.rerank.v1 import late_interaction_pb2_grpc, rerank_pb2_grpc
from services.colbert.cache import TileCache
from services.colbert.chunks import Chunks
from services.colbert.encoders import ENCODERS, Encoder
from services.colbert.encoding import Encoding
from services.colbert.exact_search import ExactSearch
from services.colbert.indexing import Indexer
from services.colbert.queries import Queries
from services.colbert.reranker import Reranker
from services.colbert.scoring import Scorer
from services.colbert.servicer import ColbertServicer, Parts
from services.colbert.settings import ColbertSettings
from services.colbert.store import TokenStore
from services.colbert.visibility import Visibility
from services.postgres import gates
from services.postgres.migrate import latest
from services.postgres.pool import TenantPool, alive, open_pool
from services.rpc.providers import load


@dataclass(frozen=True)
class Service:
    """What serve() needs of this service."""

    servicer: ColbertServicer
    parts: Parts
    pool: TenantPool

    def register(self, server: grpc.aio.Server) -> Sequence[str]:
        """See services.rpc.serve.Register."""
        rerank_pb2_grpc.add_RerankServiceServicer_to_server(self.servicer, server)
        late_interaction_pb2_grpc.add_LateInteractionServiceServicer_to_server(
            self.servicer, server
        )
        return ["folio.rerank.v1.RerankService", "folio.rerank.v1.LateInteractionService"]

    async def warm_up(self) -> None:
        """Before the first caller comes."""
        await self.parts.encoding.encoder.warm_up()
        await gates.check(self.pool, latest())

    async def check(self) -> None:
        """Raises while the database is away."""
        await alive(self.pool)


@asynccontextmanager
async def open_service(
    settings: ColbertSettings, encoder: Encoder | None = None
) -> AsyncIterator[Service]:
    """All that the service holds, closed at the end. `encoder` stands in for the configured one, and stays open."""
    own = encoder is None
    if encoder is None:
        encoder = await asyncio.to_thread(_load_encoder, settings)
    encoding = Encoding(encoder, settings)
    cache, visibility = TileCache(settings.cache_bytes), Visibility()
    listener: asyncio.Task[None] | None = None
    executor = ThreadPoolExecutor(settings.kernel_workers, "maxsim")
    async with open_pool(settings) as pool:
        try:
            if settings.leases and settings.database_prepared_statements:
                url = settings.database_url.get_secret_value()
                listener = asyncio.create_task(visibility.listen(url))
            store = TokenStore(pool, encoding.key)
            chunks = Chunks(store, encoding, cache, visibility, settings.max_encode_on_demand)
            scorer = Scorer(executor, settings.kernel_threads)
            parts = Parts(
                encoding,
                Queries(encoding),
                Reranker(encoding, chunks, cache, scorer),
                Indexer(store, chunks),
                ExactSearch(store, chunks, scorer, settings.max_exact_chunks),
            )
            yield Service(ColbertServicer(parts, settings), parts, pool)
        finally:
            if listener is not None:
                listener.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await listener
            if own:
                await encoder.close()
            await asyncio.to_thread(executor.shutdown)


def _load_encoder(settings: ColbertSettings) -> Encoder:
    encoder: Encoder = load(ENCODERS, settings.encoder, "FOLIO_COLBERT_ENCODER").create(settings)
    return encoder

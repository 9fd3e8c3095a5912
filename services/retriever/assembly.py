"""Puts the retriever together: pool, gates, parser, embedder, servicer."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace

import grpc

from folio.retriever.v1 import retriever_pb2_grpc
from services.postgres import gates
from services.postgres.migrate import latest
from services.postgres.pool import alive, open_pool
from services.retriever import embedding_models
from services.retriever.embedders import EMBEDDERS, Embedder
from services.retriever.parsing import ParseLimits, ParserPool
from services.retriever.search.hybrid import Searcher
from services.retriever.servicer import Parts, RetrieverServicer
from services.retriever.settings import RetrieverSettings
from services.retriever.viewing import Viewer
from services.rpc.providers import load


@asynccontextmanager
async def open_service(settings: RetrieverSettings) -> AsyncIterator["Service"]:
    """Everything that a retriever needs, closed at the end. FailedPrecondition if a gate is shut."""
    embedder: Embedder = await asyncio.to_thread(
        load(EMBEDDERS, settings.embedder, "FOLIO_EMBEDDER").create, settings
    )
    limits = ParseLimits(workers=settings.parser_workers, max_bytes=settings.max_file_bytes)
    parser = ParserPool(limits, settings.ocr_languages)
    # A process of its own: no file that is being read keeps the quotes of an answer waiting.
    viewing = ParserPool(replace(limits, workers=1))
    async with open_pool(settings) as pool:
        try:
            facts = await gates.check(pool, latest())
            column = await embedding_models.column_of(pool, embedder)
            searcher = Searcher(
                pool,
                embedder,
                column,
                exact_below=settings.exact_below,
                k1=settings.bm25_k1,
                b=settings.bm25_b,
            )
            yield Service(
                Parts(
                    settings, pool, parser, embedder, column, facts, searcher, Viewer(pool, viewing)
                )
            )
        finally:
            await parser.close()
            await viewing.close()
            await embedder.close()


class Service:
    """What serve() needs of this service."""

    def __init__(self, parts: Parts) -> None:
        self.parts = parts
        self.servicer = RetrieverServicer(parts)

    def register(self, server: grpc.aio.Server) -> Sequence[str]:
        """See services.rpc.serve.Register."""
        retriever_pb2_grpc.add_RetrieverServiceServicer_to_server(self.servicer, server)
        return ["folio.retriever.v1.RetrieverService"]

    async def warm_up(self) -> None:
        """Starts the parsers and runs the model once."""
        await self.parts.parser.start()
        await self.parts.viewer.start()
        await self.parts.embedder.warm_up()

    async def check(self) -> None:
        """Raises when the database is away."""
        await alive(self.parts.pool)

"""Puts the crossencoder together: model, reranker, servicer."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

import grpc

from folio.rerank.v1 import rerank_pb2_grpc
from services.crossencoder.models import SCORERS, PairScorer
from services.crossencoder.reranker import PairReranker
from services.crossencoder.servicer import CrossEncoderServicer
from services.crossencoder.settings import CrossEncoderSettings
from services.rpc.errors import FailedPrecondition
from services.rpc.providers import load


@dataclass(frozen=True)
class Service:
    """What serve() needs of this service."""

    servicer: CrossEncoderServicer
    scorer: PairScorer

    def register(self, server: grpc.aio.Server) -> Sequence[str]:
        """See services.rpc.serve.Register."""
        rerank_pb2_grpc.add_RerankServiceServicer_to_server(self.servicer, server)
        return ["folio.rerank.v1.RerankService"]

    async def warm_up(self) -> None:
        """Loads or reaches the model. Raises where it is no cross-encoder."""
        await self.scorer.start()


@asynccontextmanager
async def open_service(settings: CrossEncoderSettings) -> AsyncIterator[Service]:
    """The service with its model, which is closed at the end. FailedPrecondition where none is configured."""
    scorer = await asyncio.to_thread(_scorer, settings)
    try:
        reranker = PairReranker(scorer, settings.attempts, settings.attempt_seconds)
        yield Service(CrossEncoderServicer(reranker, settings), scorer)
    finally:
        await scorer.close()


def _scorer(settings: CrossEncoderSettings) -> PairScorer:
    name = settings.provider or ("tei" if settings.reranker_url else "")
    if not name:
        # A score that is made up would help nobody.
        raise FailedPrecondition(
            "no cross-encoder is configured: set RERANKER_URL or FOLIO_CROSSENCODER_PROVIDER,"
            " or do not start this service (replies then say that its step was skipped)"
        )
    scorer: PairScorer = load(SCORERS, name, "FOLIO_CROSSENCODER_PROVIDER").create(settings)
    return scorer

"""RerankService: unpack, call the reranker, pack."""

from collections.abc import AsyncIterator
from typing import Any

import grpc

from folio.common.v1 import service_pb2, step_pb2
from folio.rerank.v1 import rerank_pb2, rerank_pb2_grpc
from services.crossencoder.models import ScoreType
from services.crossencoder.reranker import PairReranker
from services.crossencoder.settings import CrossEncoderSettings
from services.rerank import wire
from services.rerank.stream import stream
from services.rpc import deadline, rules
from services.rpc.build import package_version
from services.rpc.errors import FailedPrecondition
from services.rpc.limits import Gate
from services.rpc.providers import entry
from services.rpc.report import Report

Context = grpc.aio.ServicerContext[Any, Any]

_SCORE_TYPES = {
    ScoreType.LOGIT: service_pb2.SCORE_TYPE_LOGIT,
    ScoreType.RELEVANCE: service_pb2.SCORE_TYPE_RELEVANCE,
}


class CrossEncoderServicer(rerank_pb2_grpc.RerankServiceServicer):
    """RerankService over a PairScorer: texts only."""

    def __init__(self, reranker: PairReranker, settings: CrossEncoderSettings) -> None:
        self._reranker = reranker
        self._settings = settings
        self._gate = Gate(settings.max_concurrency, settings.max_queue)

    async def Rerank(
        self, request: rerank_pb2.RerankRequest, context: Context
    ) -> rerank_pb2.RerankResponse:
        return await self._rerank(request)

    async def StreamRerank(
        self, requests: AsyncIterator[rerank_pb2.StreamRerankRequest], context: Context
    ) -> AsyncIterator[rerank_pb2.StreamRerankResponse]:
        async for answer in stream(requests, self._rerank, self._settings.stream_in_flight):
            yield answer

    async def GetCapabilities(
        self, request: rerank_pb2.GetCapabilitiesRequest, context: Context
    ) -> rerank_pb2.GetCapabilitiesResponse:
        scorer = self._reranker.scorer
        return rerank_pb2.GetCapabilitiesResponse(
            capabilities=service_pb2.Capabilities(
                service="crossencoder",
                version=package_version(),
                providers=[entry(service_pb2.PURPOSE_RERANK, scorer, scorer.revision)],
                score_type=_SCORE_TYPES[scorer.score_type],
                limits={
                    "max_candidates": rules.max_items(rerank_pb2.Texts, "texts"),
                    "batch_pairs": scorer.batch_pairs,
                    "max_message_bytes": self._settings.max_message_bytes,
                },
            ),
            accepts_texts=True,
        )

    async def _rerank(self, request: rerank_pb2.RerankRequest) -> rerank_pb2.RerankResponse:
        _require_texts(request)
        report = Report()
        async with self._gate:
            with report.step(step_pb2.STEP_SCORE, needed=True):
                scores = await self._reranker.rerank(
                    request.text,
                    list(request.texts.texts),
                    deadline.current(),
                    truncate=request.options.truncation != rerank_pb2.TRUNCATION_NONE,
                )
        return wire.response(
            scores,
            top_n=request.options.top_n,
            model=self._reranker.scorer.model,
            query_tokens=0,
            steps=report.steps,
        )


def _require_texts(request: rerank_pb2.RerankRequest) -> None:
    if not request.HasField("text") or not request.HasField("texts"):
        raise FailedPrecondition(
            "a cross-encoder reads text: send the query's text and the candidates' texts",
            reason="TEXTS_ONLY",
        )
    if request.options.alignments:
        raise FailedPrecondition(
            "a cross-encoder has no alignments; ask colbert", reason="NO_ALIGNMENTS"
        )

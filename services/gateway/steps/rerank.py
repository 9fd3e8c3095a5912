"""Orders candidates by a reranker. All rerankers speak one contract; what they take, they say themselves."""

import math
from dataclasses import replace

from folio.common.v1 import service_pb2
from folio.rerank.v1 import rerank_pb2
from services.gateway.clients import RerankerClient
from services.gateway.hits import Hits
from services.gateway.request import Call
from services.gateway.route import Scored
from services.gateway.settings import RERANKERS
from services.rpc.errors import Internal

PART = 0.5


async def rerank(call: Call, name: str, question: str, hits: Hits) -> Hits:
    """The best hits by the reranker of this name; on any failure the first of them in the order they had.

    Hits that hold the question's code stay before the others whatever the reranker says of them.
    """
    reranker, keep = call.clients.rerankers.get(name), call.plan.rerank_candidates
    reason = _why_not(call, name, reranker, hits)
    if reason or reranker is None:
        call.report.skip(RERANKERS[name], reason)
        return hits.first(keep)
    result = hits.first(keep)
    with call.report.step(RERANKERS[name]) as step:
        about = await reranker.about(call.deadline.share(PART))
        request = rerank_pb2.RerankRequest(text=question)
        if about.accepts_chunk_ids:
            request.chunk_ids.ids.extend(hit.chunk.id for hit in hits.items)
        else:
            request.texts.texts.extend(hit.chunk.reading or hit.chunk.body for hit in hits.items)
        await call.ledger.note(
            reranker, service_pb2.PURPOSE_RERANK, request, call.deadline.share(PART)
        )
        reply = await reranker.call(reranker.stub.Rerank, request, call.deadline.share(PART))
        step.model = reply.model
        ordered = _ordered(reply, hits, about.capabilities.score_type, name).named_first()
        call.rankings.append(ordered.ranking())
        result = ordered.first(keep)
    return result


def _why_not(call: Call, name: str, reranker: RerankerClient | None, hits: Hits) -> str:
    if reranker is None:
        return "not configured"
    if not getattr(call.plan, name):
        return "switched off"
    if call.plan.exact and name == "colbert":
        return "exact search has scored everything already"
    return "" if len(hits) else "nothing to rank"


def _ordered(
    reply: rerank_pb2.RerankResponse,
    hits: Hits,
    kind: "service_pb2.ScoreType.ValueType",
    name: str,
) -> Hits:
    """The hits in the reranker's order. A reply that is no order of the hits is an error, never a silent order."""
    results = sorted(reply.results, key=lambda result: result.rank)
    if sorted(result.index for result in results) != list(range(len(hits))):
        raise Internal(f"{name} returned something other than one score per candidate")
    if not all(math.isfinite(result.score) for result in results):
        raise Internal(f"{name} returned a score that is not a number")
    if not any(result.status == rerank_pb2.CANDIDATE_STATUS_SCORED for result in results):
        raise Internal(f"{name} could score no candidate")
    per_token = kind == service_pb2.SCORE_TYPE_MAXSIM_SUM
    return Hits(
        items=tuple(replace(hits.items[result.index], score=result.score) for result in results),
        scored_by=RERANKERS[name],
        scored=Scored(
            reply.model,
            "score_per_token" if per_token else "score",
            tuple(_signal(result, per_token) for result in results),
        ),
    )


def _signal(result: rerank_pb2.ScoredCandidate, per_token: bool) -> float:
    """What a calibration reads: a candidate that could not be scored answers nothing."""
    if result.status != rerank_pb2.CANDIDATE_STATUS_SCORED:
        return -math.inf
    return result.score_per_token if per_token else result.score

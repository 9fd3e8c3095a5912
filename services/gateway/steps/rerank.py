"""Orders candidates by a reranker. All rerankers speak one contract; what they take, they say themselves."""

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace

from folio.common.v1 import document_pb2, service_pb2
from folio.rerank.v1 import rerank_pb2
from services.gateway.clients import RerankerClient
from services.gateway.hits import Hits
from services.gateway.request import Call
from services.gateway.route import Scored
from services.gateway.settings import RERANKERS
from services.rpc.errors import Internal

PART = 0.5
# Of what a row scores above its window: so much the window gains. A row says less than a page that is about it.
ROW_PART = 0.75


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
            request.chunk_ids.ids.extend(chunk.id for chunk in _chunks(hits))
        else:
            request.texts.texts.extend(chunk.reading or chunk.body for chunk in _chunks(hits))
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


def _chunks(hits: Hits) -> list[document_pb2.Chunk]:
    """What the reranker scores: each hit, followed by the rows that were found in it."""
    return [chunk for hit in hits.items for chunk in (hit.chunk, *hit.rows)]


def _ordered(
    reply: rerank_pb2.RerankResponse,
    hits: Hits,
    kind: "service_pb2.ScoreType.ValueType",
    name: str,
) -> Hits:
    """The hits in the reranker's order, lifted by their rows, and these in their order.

    A reply that is no order of what was sent is an error, never a silent order.
    """
    results = sorted(reply.results, key=lambda result: result.rank)
    if sorted(result.index for result in results) != list(range(len(_chunks(hits)))):
        raise Internal(f"{name} returned something other than one score per candidate")
    if not all(math.isfinite(result.score) for result in results):
        raise Internal(f"{name} returned a score that is not a number")
    if not any(map(_is_scored, results)):
        raise Internal(f"{name} could score no candidate")
    per_token = kind == service_pb2.SCORE_TYPE_MAXSIM_SUM
    places = [(at, row) for at, hit in enumerate(hits.items) for row in (None, *hit.rows)]
    own: dict[int, rerank_pb2.ScoredCandidate] = {}
    rows: dict[int, list[tuple[rerank_pb2.ScoredCandidate, document_pb2.Chunk]]] = defaultdict(list)
    for result in results:
        at, row = places[result.index]
        if row is None:
            own[at] = result
        else:
            rows[at].append((result, row))
    lifted = {at: _lifted(result, [each for each, _ in rows[at]]) for at, result in own.items()}
    order = sorted(
        own, key=lambda at: (not _is_scored(lifted[at]), -lifted[at].score, own[at].rank)
    )
    return Hits(
        items=tuple(
            replace(hits.items[at], score=lifted[at].score, rows=tuple(row for _, row in rows[at]))
            for at in order
        ),
        scored_by=RERANKERS[name],
        scored=Scored(
            reply.model,
            "score_per_token" if per_token else "score",
            tuple(_signal(lifted[at], per_token) for at in order),
        ),
    )


def _lifted(
    own: rerank_pb2.ScoredCandidate, rows: Sequence[rerank_pb2.ScoredCandidate]
) -> rerank_pb2.ScoredCandidate:
    """A hit with what its best row adds to its score."""
    scored = list(filter(_is_scored, rows))
    if not scored:
        return own
    best = max(scored, key=lambda row: row.score)
    if not _is_scored(own):
        return best
    if best.score <= own.score:
        return own
    return rerank_pb2.ScoredCandidate(
        status=own.status,
        score=own.score + ROW_PART * (best.score - own.score),
        score_per_token=own.score_per_token
        + ROW_PART * (best.score_per_token - own.score_per_token),
    )


def _is_scored(result: rerank_pb2.ScoredCandidate) -> bool:
    return result.status == rerank_pb2.CANDIDATE_STATUS_SCORED


def _signal(result: rerank_pb2.ScoredCandidate, per_token: bool) -> float:
    """What a calibration reads: a candidate that could not be scored answers nothing."""
    if result.status != rerank_pb2.CANDIDATE_STATUS_SCORED:
        return -math.inf
    return result.score_per_token if per_token else result.score

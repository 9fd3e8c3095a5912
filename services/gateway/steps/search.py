"""Finds candidates: hybrid search in the retriever, or exact late interaction over everything."""

from folio.common.v1 import document_pb2, service_pb2, step_pb2
from folio.rerank.v1 import late_interaction_pb2
from folio.retriever.v1 import retriever_pb2
from folio.words import word
from services.gateway.egress import note
from services.gateway.hits import Hit, Hits
from services.gateway.request import Call, filter_of
from services.gateway.route import Scored
from services.gateway.scope import Restriction
from services.gateway.stages import RELAYED, Retriever, Stages
from services.gateway.steps.find_scope import Scoped
from services.rpc import rules
from services.rpc.errors import FailedPrecondition
from services.rpc.report import DEGRADED

PART = 0.5
# As many chunks as one call of GetPassages takes.
MAX_EXACT = rules.max_items(retriever_pb2.GetPassagesRequest, "chunk_ids")
ALL_TOKENS = rules.most(retriever_pb2.GetPassagesRequest, "max_total_tokens")


async def search(
    call: Call,
    stages: Stages,
    queries: list[retriever_pb2.Query],
    scoped: Scoped,
    caller: Restriction,
    limit: int,
) -> tuple[Hits, Scoped]:
    """Candidates, and the restriction that found them: a scope in which nothing is found is dropped, and said so.

    Nothing can be answered without candidates, so a failure here is the call's own.
    """
    hits = await _search_once(call, stages, queries, scoped.restriction, limit)
    if not len(hits) and scoped.scope is not None:
        with call.account.report.step(step_pb2.STEP_SCOPE) as step:
            step.reason = "nothing was found within the scope of the question; searched without it"
        hits = await _search_once(call, stages, queries, caller, limit)
        return hits, Scoped(caller)
    return hits, scoped


async def _search_once(
    call: Call,
    stages: Stages,
    queries: list[retriever_pb2.Query],
    restriction: Restriction,
    limit: int,
) -> Hits:
    if call.plan.exact:
        return await _exact(call, stages, queries[0].text, restriction, limit)
    with call.account.report.step(step_pb2.STEP_SEARCH, needed=True) as step:
        request = retriever_pb2.SearchRequest(
            queries=queries,
            limit=limit,
            filter=filter_of(restriction),
            without_dense=not call.plan.dense,
            without_sparse=not call.plan.sparse,
            without_typos=not call.plan.typos,
        )
        if call.plan.dense:
            await note(
                call.account,
                stages.retriever,
                service_pb2.PURPOSE_EMBED,
                request,
                call.deadline.share(PART),
            )
        reply = await stages.retriever.call(
            stages.retriever.stub.Search, request, call.deadline.share(PART), RELAYED
        )
        if broken := [part for part in reply.steps if part.status == DEGRADED]:
            step.degrade(
                "; ".join(f"{word(step_pb2.Step, part.step)}: {part.reason}" for part in broken)
            )
    hits = Hits(
        items=tuple(Hit(hit.chunk, hit.score) for hit in reply.hits),
        scored_by=step_pb2.STEP_SEARCH,
        scored=_dense_scores(reply),
    )
    call.account.rankings.append(hits.ranking())
    return hits


def _dense_scores(reply: retriever_pb2.SearchResponse) -> Scored | None:
    """Cosines with the question, for a calibration of the embedding model: the signal of last resort."""
    dense = next(
        (part for part in reply.steps if part.step == step_pb2.STEP_EMBED and part.model), None
    )
    if dense is None or dense.status == DEGRADED:
        return None
    return Scored(dense.model, "dense_score", tuple(hit.dense_score for hit in reply.hits))


async def _exact(
    call: Call, stages: Stages, question: str, restriction: Restriction, limit: int
) -> Hits:
    colbert = stages.colbert
    if colbert is None:
        raise FailedPrecondition("exact search needs colbert, which is not configured")
    with call.account.report.step(step_pb2.STEP_SEARCH, needed=True) as step:
        reply = await colbert.call(
            colbert.late_interaction.SearchExact,
            late_interaction_pb2.SearchExactRequest(
                text=question, limit=min(limit, MAX_EXACT), filter=filter_of(restriction)
            ),
            call.deadline.share(PART),
            RELAYED,
        )
        step.model = reply.model
        chunks = await _chunks(call, stages.retriever, [hit.chunk_id for hit in reply.hits])
    found = [hit for hit in reply.hits if hit.chunk_id in chunks]
    hits = Hits(
        items=tuple(Hit(chunks[hit.chunk_id], hit.score) for hit in found),
        scored_by=step_pb2.STEP_SEARCH,
        scored=Scored(reply.model, "score_per_token", tuple(hit.score_per_token for hit in found)),
    )
    call.account.rankings.append(hits.ranking())
    return hits


async def _chunks(
    call: Call, retriever: Retriever, ids: list[int]
) -> dict[int, document_pb2.Chunk]:
    if not ids:
        return {}
    reply = await retriever.call(
        retriever.stub.GetPassages,
        retriever_pb2.GetPassagesRequest(
            chunk_ids=ids, hits_only=True, max_total_tokens=ALL_TOKENS
        ),
        call.deadline.share(PART),
    )
    return {chunk.id: chunk for passage in reply.passages for chunk in passage.hits}

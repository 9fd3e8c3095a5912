"""Finds candidates: hybrid search in the retriever, or exact late interaction over everything."""

from folio.common.v1 import document_pb2, stage_pb2
from folio.rerank.v1 import late_interaction_pb2
from folio.retriever.v1 import retriever_pb2
from services.gateway.account import DEGRADED
from services.gateway.egress import Ledger
from services.gateway.hits import Hit, Hits
from services.gateway.request import Call, filter_of
from services.gateway.route import Scored
from services.gateway.scope import Restriction
from services.gateway.stages import RELAYED, Retriever, Stages
from services.gateway.steps.find_scope import Scoped
from services.rpc.errors import FailedPrecondition

PART = 0.5
# As many chunks as one call of GetPassages takes.
MAX_EXACT = 100
ALL_TOKENS = 262144


async def search(
    call: Call,
    stages: Stages,
    ledger: Ledger,
    queries: list[retriever_pb2.Query],
    scoped: Scoped,
    caller: Restriction,
    limit: int,
) -> tuple[Hits, Scoped]:
    """Candidates, and the restriction that found them: a scope in which nothing is found is dropped, and said so.

    Nothing can be answered without candidates, so a failure here is the call's own.
    """
    hits = await _search_once(call, stages, ledger, queries, scoped.restriction, limit)
    if not len(hits) and scoped.scope is not None:
        with call.account.step("scope") as step:
            step.reason = "nothing was found within the scope of the question; searched without it"
        hits = await _search_once(call, stages, ledger, queries, caller, limit)
        return hits, Scoped(caller)
    return hits, scoped


async def _search_once(
    call: Call,
    stages: Stages,
    ledger: Ledger,
    queries: list[retriever_pb2.Query],
    restriction: Restriction,
    limit: int,
) -> Hits:
    if call.plan.exact:
        return await _exact(call, stages, queries[0].text, restriction, limit)
    with call.account.step("search", needed=True) as step:
        request = retriever_pb2.SearchRequest(
            queries=queries,
            limit=limit,
            filter=filter_of(restriction),
            without_dense=not call.plan.dense,
            without_sparse=not call.plan.sparse,
            without_typos=not call.plan.typos,
        )
        if call.plan.dense:
            await ledger.note(call.account, stages.retriever, "embed", request)
        reply = await stages.retriever.call(
            stages.retriever.stub.Search, request, call.deadline.share(PART), RELAYED
        )
        if broken := [part for part in reply.steps if part.status == DEGRADED]:
            step.degrade("; ".join(f"{part.stage}: {part.reason}" for part in broken))
    hits = Hits(
        items=tuple(Hit(hit.chunk, hit.score) for hit in reply.hits),
        scored_by="search",
        scored=_dense_scores(reply),
    )
    call.account.rank("search", hits.ranking())
    return hits


def _dense_scores(reply: retriever_pb2.SearchResponse) -> Scored | None:
    """Cosines with the question, for a calibration of the embedding model: the signal of last resort."""
    dense: stage_pb2.StageReport | None = next(
        (part for part in reply.steps if part.stage == "embed" and part.model), None
    )
    if dense is None or dense.status == DEGRADED:
        return None
    return Scored(dense.model, "dense_score", tuple(hit.dense_score for hit in reply.hits))


async def _exact(
    call: Call, stages: Stages, question: str, restriction: Restriction, limit: int
) -> Hits:
    colbert = stages.colbert
    if colbert is None:
        raise FailedPrecondition("exact search needs the colbert stage, which is not configured")
    with call.account.step("search", needed=True) as step:
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
        scored_by="exact",
        scored=Scored(reply.model, "score_per_token", tuple(hit.score_per_token for hit in found)),
    )
    call.account.rank("exact", hits.ranking())
    return hits


async def _chunks(
    call: Call, retriever: Retriever, ids: list[int]
) -> dict[int, document_pb2.Chunk]:
    if not ids:
        return {}
    reply = await retriever.call(
        retriever.stub.GetPassages,
        retriever_pb2.GetPassagesRequest(
            chunk_ids=ids, without_parents=True, max_total_tokens=ALL_TOKENS
        ),
        call.deadline.share(PART),
    )
    return {chunk.id: chunk for passage in reply.passages for chunk in passage.hits}

"""Finds candidates: hybrid search in the retriever, or exact late interaction over everything."""

from dataclasses import replace

from folio.common.v1 import document_pb2, service_pb2, step_pb2
from folio.common.v1.document_pb2 import Filter
from folio.rerank.v1 import late_interaction_pb2
from folio.retriever.v1 import retriever_pb2
from folio.words import word
from services.gateway.clients import RELAYED
from services.gateway.hits import Hit, Hits
from services.gateway.named import named
from services.gateway.request import Call
from services.gateway.route import Scored
from services.rpc import rules
from services.rpc.errors import FailedPrecondition
from services.rpc.report import DEGRADED, Running

PART = 0.5
# As many chunks as one call of GetPassages takes.
MAX_EXACT = rules.max_items(retriever_pb2.GetPassagesRequest, "chunk_ids")
ALL_TOKENS = rules.most(retriever_pb2.GetPassagesRequest, "max_total_tokens")


async def search(call: Call, queries: list[retriever_pb2.Query], within: Filter) -> Hits:
    """Candidates. Nothing can be answered without them, so a failure here is the call's own."""
    with call.report.step(step_pb2.STEP_SEARCH, needed=True) as step:
        if call.plan.exact:
            hits = await _exact(call, queries[0].text, within, step)
        else:
            hits = await _hybrid(call, queries, within, step)
    hits = _named(queries[0].text, hits)
    call.rankings.append(hits.ranking())
    return hits


def _named(question: str, hits: Hits) -> Hits:
    """Hits that hold the question's code go first: a model of meaning cannot tell one code from the next."""
    marks = named(question, [hit.chunk.body for hit in hits.items])
    items = tuple(replace(hit, named=mark) for hit, mark in zip(hits.items, marks, strict=True))
    return replace(hits, items=items).named_first()


async def _hybrid(
    call: Call, queries: list[retriever_pb2.Query], within: Filter, step: Running
) -> Hits:
    request = retriever_pb2.SearchRequest(
        queries=queries,
        limit=call.plan.search_candidates,
        filter=within,
        without_dense=not call.plan.dense,
        without_sparse=not call.plan.sparse,
        without_typos=not call.plan.typos,
    )
    retriever, seconds = call.clients.retriever, call.deadline.share(PART)
    if call.plan.dense:
        await call.ledger.note(retriever, service_pb2.PURPOSE_EMBED, request, seconds)
    reply = await retriever.call(retriever.stub.Search, request, call.deadline.share(PART), RELAYED)
    if broken := [part for part in reply.steps if part.status == DEGRADED]:
        step.degrade(
            "; ".join(f"{word(step_pb2.Step, part.step)}: {part.reason}" for part in broken)
        )
    return Hits(
        items=tuple(Hit(hit.chunk, hit.score, rows=tuple(hit.rows)) for hit in reply.hits),
        scored_by=step_pb2.STEP_SEARCH,
        scored=_dense_scores(reply),
    )


def _dense_scores(reply: retriever_pb2.SearchResponse) -> Scored | None:
    """Cosines with the question, for a calibration of the embedding model: the signal of last resort."""
    dense = next(
        (part for part in reply.steps if part.step == step_pb2.STEP_EMBED and part.model), None
    )
    if dense is None or dense.status == DEGRADED:
        return None
    return Scored(dense.model, "dense_score", tuple(hit.dense_score for hit in reply.hits))


async def _exact(call: Call, question: str, within: Filter, step: Running) -> Hits:
    colbert = call.clients.colbert
    if colbert is None:
        raise FailedPrecondition("exact search needs colbert, which is not configured")
    request = late_interaction_pb2.SearchExactRequest(
        text=question, limit=min(call.plan.search_candidates, MAX_EXACT), filter=within
    )
    seconds = call.deadline.share(PART)
    await call.ledger.note(colbert, service_pb2.PURPOSE_RERANK, request, seconds)
    reply = await colbert.call(
        colbert.late_interaction.SearchExact, request, call.deadline.share(PART), RELAYED
    )
    step.model = reply.model
    chunks = await _chunks(call, [hit.chunk_id for hit in reply.hits])
    found = [hit for hit in reply.hits if hit.chunk_id in chunks]
    return Hits(
        items=tuple(Hit(chunks[hit.chunk_id], hit.score) for hit in found),
        scored_by=step_pb2.STEP_SEARCH,
        scored=Scored(reply.model, "score_per_token", tuple(hit.score_per_token for hit in found)),
    )


async def _chunks(call: Call, ids: list[int]) -> dict[int, document_pb2.Chunk]:
    if not ids:
        return {}
    retriever = call.clients.retriever
    reply = await retriever.call(
        retriever.stub.GetPassages,
        retriever_pb2.GetPassagesRequest(
            chunk_ids=ids, hits_only=True, max_total_tokens=ALL_TOKENS
        ),
        call.deadline.share(PART),
    )
    return {chunk.id: chunk for passage in reply.passages for chunk in passage.hits}

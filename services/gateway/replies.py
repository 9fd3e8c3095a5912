"""Packs what the pipeline found into replies."""

from collections.abc import Iterable

from folio.common.v1 import document_pb2
from folio.gateway.v1 import gateway_pb2
from services.gateway.hits import Hits
from services.gateway.request import Call, filter_of
from services.gateway.steps.find_scope import Scoped

DEFAULT_RESULTS = 10
NOT_SAID = "The documents do not say."
NO_DOCUMENTS = "There are no documents to answer from."
NOT_CONFIGURED = "No language model is configured, so no answer was made. These are the sources."
REFUSED = "The language model refused to answer this."
WHICH_ONE = "The documents come close to this, but not close enough. Can you say more precisely what you mean?"


def scope(scoped: Scoped) -> gateway_pb2.ProposedScope | None:
    """The scope that was found in the question and applied, if any."""
    if scoped.scope is None:
        return None
    return gateway_pb2.ProposedScope(
        filter=filter_of(scoped.scope.restriction), descriptions=scoped.scope.descriptions
    )


def set_scope(
    reply: gateway_pb2.AskResponse | gateway_pb2.SearchResponse | gateway_pb2.Rewritten,
    scoped: Scoped,
) -> None:
    found = scope(scoped)
    if found is not None:
        reply.scope.CopyFrom(found)


def rewritten(question: str, scoped: Scoped) -> gateway_pb2.Rewritten:
    event = gateway_pb2.Rewritten(standalone_question=question)
    set_scope(event, scoped)
    return event


def source(
    chunk: document_pb2.Chunk, probability: float, pages: Iterable[int] = ()
) -> gateway_pb2.SourcePassage:
    """A hit, and the pages that were read around it."""
    return gateway_pb2.SourcePassage(chunk=chunk, probability=probability, pages=pages)


def close(call: Call, reply: gateway_pb2.AskResponse, *, trace: bool) -> None:
    """Adds the account."""
    account = call.account
    reply.steps.extend(account.report.steps)
    reply.usage.extend(account.usage)
    reply.egress.extend(account.egress)
    if trace:
        reply.rankings.extend(account.rankings)
    reply.elapsed_ms = account.elapsed_ms


def search_response(
    call: Call, hits: Hits, scoped: Scoped, *, trace: bool
) -> gateway_pb2.SearchResponse:
    """Ranked chunks with the account."""
    account = call.account
    reply = gateway_pb2.SearchResponse(
        request_id=call.request_id,
        results=[
            gateway_pb2.SearchResult(chunk=hit.chunk, score=hit.score, scored_by=hits.scored_by)
            for hit in hits.items
        ],
        steps=account.report.steps,
        rankings=account.rankings if trace else [],
        elapsed_ms=account.elapsed_ms,
    )
    set_scope(reply, scoped)
    return reply

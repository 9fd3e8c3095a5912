"""Packs what the pipeline found into replies."""

from collections.abc import Sequence
from dataclasses import dataclass

from folio.gateway.v1 import gateway_pb2
from services.gateway.hits import Hits
from services.gateway.request import Call
from services.gateway.scope import Scope
from services.gateway.steps.passages import Read
from services.gateway.steps.route import Routed

Event = gateway_pb2.StreamAskResponse
# How a question ends: one of the messages of AskResponse.outcome.
Outcome = (
    gateway_pb2.Answered
    | gateway_pb2.Clarify
    | gateway_pb2.Abstained
    | gateway_pb2.Unverified
    | gateway_pb2.Unavailable
    | gateway_pb2.Refused
    | gateway_pb2.WebAnswer
)

NOT_SAID = "The documents do not say."
NO_DOCUMENTS = "There are no documents to answer from."
REFUSED = "The language model refused to answer this."
WHICH_ONE = "The documents come close to this, but not close enough. Can you say more precisely what you mean?"

_FIELDS = {
    field.message_type: field.name
    for field in gateway_pb2.AskResponse.DESCRIPTOR.oneofs_by_name["outcome"].fields
}


@dataclass
class Findings:
    """What a reply says beside its outcome, as far as the pipeline came."""

    question: str = ""
    scope: Scope | None = None
    routed: Routed | None = None
    read: Sequence[Read] = ()
    generator: str = ""


def pack(call: Call, found: Findings, outcome: Outcome, *, trace: bool) -> gateway_pb2.AskResponse:
    """The reply."""
    reply = gateway_pb2.AskResponse(
        request_id=call.request_id,
        sources=sources(found),
        standalone_question=found.question,
        scope=scope(found.scope),
        steps=call.report.steps,
        usage=call.usage,
        egress=call.ledger.entries,
        answer_probability=found.routed.probability if found.routed else 0.0,
        answer_threshold=found.routed.threshold if found.routed else 0.0,
        rankings=call.rankings if trace else (),
        elapsed_ms=call.report.elapsed_ms,
        generator=found.generator,
    )
    getattr(reply, _FIELDS[outcome.DESCRIPTOR]).CopyFrom(outcome)
    return reply


def sources(found: Findings) -> list[gateway_pb2.SourcePassage]:
    """What was read, with the pages around each best hit; where nothing was read, the hits."""
    if found.read:
        return [
            gateway_pb2.SourcePassage(
                chunk=read.passage.hits[0],
                probability=read.relevance,
                pages=(start.page for start in read.passage.pages),
            )
            for read in found.read
        ]
    hits = found.routed.hits.items if found.routed else ()
    return [gateway_pb2.SourcePassage(chunk=hit.chunk, probability=hit.probability) for hit in hits]


def scope(found: Scope | None) -> gateway_pb2.ProposedScope | None:
    """The scope that was found in the question and applied, if any."""
    if found is None:
        return None
    return gateway_pb2.ProposedScope(filter=found.filter, descriptions=found.descriptions)


def rewritten(question: str, found: Scope | None) -> gateway_pb2.Rewritten:
    """The question as it is searched."""
    return gateway_pb2.Rewritten(standalone_question=question, scope=scope(found))


def abstained(reason: "gateway_pb2.AbstainReason.ValueType") -> gateway_pb2.Abstained:
    """An honest no."""
    empty = reason == gateway_pb2.ABSTAIN_REASON_NO_DOCUMENTS
    return gateway_pb2.Abstained(reason=reason, message=NO_DOCUMENTS if empty else NOT_SAID)


def search_response(
    call: Call, hits: Hits, found: Scope | None, *, trace: bool
) -> gateway_pb2.SearchResponse:
    """Ranked chunks, and how they were found."""
    return gateway_pb2.SearchResponse(
        request_id=call.request_id,
        results=[
            gateway_pb2.SearchResult(chunk=hit.chunk, score=hit.score, scored_by=hits.scored_by)
            for hit in hits.items
        ],
        steps=call.report.steps,
        rankings=call.rankings if trace else (),
        scope=scope(found),
        elapsed_ms=call.report.elapsed_ms,
    )

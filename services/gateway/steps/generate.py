"""Has the answer written, and checks each sentence as it comes."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field

from folio.common.v1 import service_pb2, step_pb2
from folio.gateway.v1 import gateway_pb2
from folio.generator.v1 import generator_pb2
from folio.generator.v1.generator_pb2 import FINISH_CUT_SHORT, FINISH_UNSPECIFIED
from services.gateway import citations
from services.gateway.clients import GeneratorClient
from services.gateway.grounding.check import (
    MAX_SENTENCES,
    CheckedSentence,
    DraftQuote,
    DraftSentence,
    check_sentence,
)
from services.gateway.grounding.quotes import Span
from services.gateway.ledger import providers_of
from services.gateway.request import Call
from services.gateway.slices import in_passage
from services.gateway.steps.passages import Read
from services.rpc import rules
from services.rpc.errors import Code, FolioError

PART = 0.85
MAX_TEXT_BYTES = rules.max_bytes(generator_pb2.Source, "text")
MAX_HITS = rules.max_items(generator_pb2.Source, "hits")
MAX_TABLES = rules.max_items(generator_pb2.Source, "tables")
MAX_TITLE_CHARACTERS = 1000

_REASONS = {
    Code.UNAVAILABLE: gateway_pb2.UNAVAILABLE_REASON_UNREACHABLE,
    Code.DEADLINE_EXCEEDED: gateway_pb2.UNAVAILABLE_REASON_SLOW,
    Code.RESOURCE_EXHAUSTED: gateway_pb2.UNAVAILABLE_REASON_OVERLOADED,
}
_MESSAGES = {
    gateway_pb2.UNAVAILABLE_REASON_NOT_CONFIGURED: "No generator is configured, so no answer was written.",
    gateway_pb2.UNAVAILABLE_REASON_UNREACHABLE: "The generator cannot be reached at the moment.",
    gateway_pb2.UNAVAILABLE_REASON_SLOW: "The generator did not answer in time.",
    gateway_pb2.UNAVAILABLE_REASON_OVERLOADED: "The generator has too much to do at the moment.",
    gateway_pb2.UNAVAILABLE_REASON_BROKE_OFF: "The generator broke off before the answer was whole.",
    gateway_pb2.UNAVAILABLE_REASON_FAILED: "The generator failed.",
}


@dataclass
class Draft:
    """What the generator made, and how it ended; or an `objection` to it, whatever it holds.

    Where nothing could be made, `unavailable` says why.
    """

    checked: list[CheckedSentence] = field(default_factory=list)
    finish: "generator_pb2.Finish.ValueType" = generator_pb2.FINISH_UNSPECIFIED
    objection: str = ""
    provider: str = ""
    unavailable: gateway_pb2.Unavailable | None = None


async def generate(call: Call, question: str, read: Sequence[Read]) -> Draft:
    """The answer, each sentence checked against the passages; where progress is shown, those that hold are sent."""
    draft = Draft()
    generator = call.clients.generator
    if generator is None:
        call.report.skip(step_pb2.STEP_GENERATE, "no generator is configured")
        draft.unavailable = unavailable(gateway_pb2.UNAVAILABLE_REASON_NOT_CONFIGURED)
        return draft
    request = generator_pb2.AnswerRequest(
        question=question,
        sources=[_source(index, each) for index, each in enumerate(read)],
        max_output_tokens=call.settings.max_output_tokens,
    )
    with call.report.step(step_pb2.STEP_GENERATE) as step:
        try:
            result = await _ask(call, generator, request, read, draft)
        except FolioError as error:
            draft.unavailable = _outage(error, begun=bool(draft.checked))
            raise
        if result is not None:
            step.model = result.model
            call.spend(result.usage)
        if draft.objection:
            step.degrade(draft.objection)
        elif result is None or result.finish in (FINISH_UNSPECIFIED, FINISH_CUT_SHORT):
            step.degrade((result and result.detail) or "the answer was cut off")
            draft.unavailable = unavailable(gateway_pb2.UNAVAILABLE_REASON_BROKE_OFF)
    return draft


async def _ask(
    call: Call,
    generator: GeneratorClient,
    request: generator_pb2.AnswerRequest,
    read: Sequence[Read],
    draft: Draft,
) -> generator_pb2.AnswerResult | None:
    """One call of the generator, in the ledger before it is made: a result, if one came."""
    first, *others = await providers_of(
        generator, service_pb2.PURPOSE_ANSWER, call.deadline.share(PART)
    )
    call.ledger.record(first, request.ByteSize())
    result = None
    try:
        replies = generator.stream(generator.stub.Answer, request, call.deadline.share(PART))
        result = await _checked(call, replies, read, draft)
        return result
    finally:
        # Unless the first one answered, the question may have gone to the others too.
        if result is None or (result.provider, result.model) != (first.provider, first.model):
            for provider in others:
                call.ledger.record(provider, request.ByteSize())


async def _checked(
    call: Call,
    replies: AsyncIterator[generator_pb2.AnswerResponse],
    read: Sequence[Read],
    draft: Draft,
) -> generator_pb2.AnswerResult | None:
    """Checks the sentences as they come, into the draft. Gives the result that ended them, if one came."""
    texts = [each.text for each in read]
    streamed: list[generator_pb2.AnswerSentence] = []
    result = None
    async for reply in replies:
        if reply.HasField("sentence"):
            streamed.append(reply.sentence)
            if len(streamed) > MAX_SENTENCES:
                draft.objection = f"the answer has more than {MAX_SENTENCES} sentences"
                break
            # Tens of milliseconds over long sources: not on the loop that answers everybody.
            checked = await asyncio.to_thread(check_sentence, _draft(reply.sentence), texts)
            draft.checked.append(checked)
            if call.plan.show_progress and not checked.reasons:
                sentence = citations.sentence(checked, read, rows=call.plan.table_rows)
                call.tell(gateway_pb2.StreamAskResponse(sentence=sentence))
        elif reply.HasField("result"):
            result = reply.result
            draft.provider = result.provider
            if list(result.sentences) == streamed:
                draft.finish = result.finish
            else:
                draft.objection = "the generator's result is not what it streamed"
    return result


def _outage(error: FolioError, *, begun: bool) -> gateway_pb2.Unavailable:
    reason = _REASONS.get(error.code, gateway_pb2.UNAVAILABLE_REASON_FAILED)
    if error.code is Code.RESOURCE_EXHAUSTED and error.retry_after_s is None:
        # Too large for the model, and it will stay so: who is busy says when to come back.
        reason = gateway_pb2.UNAVAILABLE_REASON_FAILED
    if begun and error.code is not Code.DEADLINE_EXCEEDED:
        reason = gateway_pb2.UNAVAILABLE_REASON_BROKE_OFF
    return unavailable(reason, error.retry_after_s)


def unavailable(
    reason: "gateway_pb2.UnavailableReason.ValueType", retry_after_s: float | None = None
) -> gateway_pb2.Unavailable:
    """No answer could be made, and why."""
    return gateway_pb2.Unavailable(
        reason=reason, message=_MESSAGES[reason], retry_after_s=retry_after_s
    )


def _source(index: int, read: Read) -> generator_pb2.Source:
    passage = read.passage
    spans = [
        in_passage(passage, Span(hit.char_start, hit.char_end)) for hit in passage.hits[:MAX_HITS]
    ]
    return generator_pb2.Source(
        index=index,
        title=passage.title[:MAX_TITLE_CHARACTERS],
        text=passage.text.encode()[:MAX_TEXT_BYTES].decode(errors="ignore"),
        tables=passage.tables[:MAX_TABLES],
        hits=[generator_pb2.Span(start=span.start, end=span.end) for span in spans if span],
        relevance=read.relevance,
    )


def _draft(sentence: generator_pb2.AnswerSentence) -> DraftSentence:
    return DraftSentence(
        sentence.text,
        tuple(
            DraftQuote(citation.source_index, citation.quote, citation.char_start)
            for citation in sentence.citations
        ),
    )

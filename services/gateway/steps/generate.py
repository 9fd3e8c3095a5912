"""Has the answer written, and checks each sentence as it comes."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from folio.gateway.v1 import gateway_pb2
from folio.generator.v1 import generator_pb2
from folio.retriever.v1 import retriever_pb2
from services.gateway import citations
from services.gateway.egress import Ledger
from services.gateway.grounding.check import (
    MAX_SENTENCES,
    CheckedSentence,
    DraftQuote,
    DraftSentence,
    check_sentence,
)
from services.gateway.grounding.quotes import SourceText
from services.gateway.request import Call
from services.gateway.stages import Generator
from services.rpc.errors import Internal

PART = 0.85
MAX_TEXT_BYTES = 262144
MAX_TITLE_CHARACTERS = 1000


@dataclass
class Draft:
    """What the generator made. `finish` is unspecified and `failure` says why, if it did not end well."""

    checked: list[CheckedSentence] = field(default_factory=list)
    finish: "generator_pb2.Finish.ValueType" = generator_pb2.FINISH_UNSPECIFIED
    failure: str = ""
    detail: str = ""
    provider: str = ""


async def generate(
    call: Call,
    generator: Generator | None,
    ledger: Ledger,
    question: str,
    passages: Sequence[retriever_pb2.Passage],
    relevance: Sequence[float],
    max_output_tokens: int,
    show_progress: bool,
) -> Draft:
    """The answer, each sentence checked against the passages; with `show_progress`, those that hold are sent."""
    draft = Draft()
    if generator is None:
        call.account.skip("generate", "no generator is configured")
        draft.failure = "no generator is configured: no answer was made"
        return draft
    texts = [SourceText(passage.text, passage.char_start) for passage in passages]
    request = generator_pb2.AnswerRequest(
        question=question,
        sources=[
            _source(index, passage, relevance[index]) for index, passage in enumerate(passages)
        ],
        max_output_tokens=max_output_tokens,
    )
    with call.account.step("generate") as step:
        draft.failure = "the generator failed: no whole answer was made"
        await ledger.note(call.account, generator, "answer", request)
        streamed: list[generator_pb2.AnswerSentence] = []
        async for reply in generator.stream(
            generator.stub.Answer, request, call.deadline.share(PART)
        ):
            if reply.HasField("sentence"):
                streamed.append(reply.sentence)
                if len(streamed) > MAX_SENTENCES:
                    raise Internal(f"the generator wrote more than {MAX_SENTENCES} sentences")
                # Tens of milliseconds over long sources: not on the loop that answers everybody.
                checked = await asyncio.to_thread(check_sentence, _draft(reply.sentence), texts)
                draft.checked.append(checked)
                if show_progress and not checked.reasons:
                    call.account.emit(
                        gateway_pb2.StreamAskResponse(
                            sentence=citations.sentence(checked, passages)
                        )
                    )
            elif reply.HasField("result"):
                result = reply.result
                step.model = result.model
                call.account.spend(result.usage)
                draft.finish, draft.detail = result.finish, result.detail
                draft.provider, draft.failure = result.provider, ""
                if list(result.sentences) != streamed:
                    draft.failure = "the generator's result is not what it streamed"
        if draft.finish == generator_pb2.FINISH_UNSPECIFIED:
            step.degrade("the generator's stream ended without a result")
        elif draft.finish == generator_pb2.FINISH_CUT_SHORT:
            step.degrade(draft.detail or "the provider's stream was cut short")
    return draft


def _source(index: int, passage: retriever_pb2.Passage, relevance: float) -> generator_pb2.Source:
    size = len(passage.text)
    spans = [
        (max(0, hit.char_start - passage.char_start), min(size, hit.char_end - passage.char_start))
        for hit in passage.hits[:100]
    ]
    return generator_pb2.Source(
        index=index,
        title=passage.title[:MAX_TITLE_CHARACTERS],
        text=passage.text.encode()[:MAX_TEXT_BYTES].decode(errors="ignore"),
        hits=[generator_pb2.Span(start=start, end=end) for start, end in spans if start < end],
        relevance=relevance,
    )


def _draft(sentence: generator_pb2.AnswerSentence) -> DraftSentence:
    return DraftSentence(
        sentence.text,
        tuple(
            DraftQuote(citation.source_index, citation.quote, citation.char_start)
            for citation in sentence.citations
        ),
    )

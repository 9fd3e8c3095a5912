"""Claude with citations. Only stop_reason end_turn is an answer; every other end has its own name."""

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing
from typing import Any

from services.generator.answers import Finish, Result, Sentence, Source, Usage
from services.generator.instructions import ABSTAINS
from services.generator.prices import Prices
from services.generator.providers.anthropic.client import ClaudeClient
from services.generator.providers.anthropic.request import citable, request
from services.generator.providers.anthropic.transcript import Transcript
from services.generator.providers.anthropic.usage import TokenCount
from services.generator.settings import GeneratorSettings
from services.outbound.retries import MALFORMED
from services.rpc.deadline import Deadline
from services.rpc.errors import FailedPrecondition, FolioError, Internal

# A turn that the API pauses is continued so many times.
MAX_CONTINUATIONS = 3

_CUT = {
    "max_tokens": (Finish.MAX_TOKENS, "the answer reached the token limit"),
    "model_context_window_exceeded": (Finish.MAX_TOKENS, "the sources fill the model's context"),
    "refusal": (Finish.REFUSED, "the model refused"),
    "stop_sequence": (Finish.CUT_SHORT, "the model stopped at a stop sequence that nobody set"),
    "tool_use": (Finish.CUT_SHORT, "the model asked for a tool that nobody offered"),
    "pause_turn": (Finish.CUT_SHORT, "the model paused too often"),
    "": (Finish.CUT_SHORT, "the stream ended before the answer did"),
}


class AnthropicGenerator:
    """See Generator."""

    provider = "anthropic"

    def __init__(self, client: ClaudeClient, model: str, prices: Prices) -> None:
        self.model = model
        self._client = client
        self._prices = prices

    @classmethod
    def create(cls, settings: GeneratorSettings) -> "AnthropicGenerator":
        if not settings.model:
            raise FailedPrecondition("set RAG_MODEL to the id of a Claude model")
        return cls(ClaudeClient.of(settings), settings.model, Prices.read(settings.prices))

    async def answer(
        self, question: str, sources: Sequence[Source], max_output_tokens: int, deadline: Deadline
    ) -> AsyncIterator[Sentence | Result]:
        """See Generator. Raises FolioError only before the first sentence, and Internal for an unknown end."""
        documents = citable(sources)
        if not documents:
            yield self._result(Finish.ABSTAINED, (), TokenCount(), "the sources hold no text")
            return
        sent = request(self.model, question, documents, max_output_tokens)
        transcript, tokens, said = Transcript(documents), TokenCount(), list[Sentence]()
        turn = _Turn()
        try:
            # Closed at once, whoever leaves: the provider's stream must not wait for the garbage collector.
            async with aclosing(self._turns(sent, transcript, tokens, turn, deadline)) as turns:
                async for sentence in turns:
                    said.append(sentence)
                    yield sentence
        except FolioError as error:
            if not said:
                raise
            yield self._result(Finish.CUT_SHORT, said, tokens, error.message)
            return
        finish, detail = _end(turn.end, transcript.text)
        if finish is Finish.COMPLETE:
            for sentence in transcript.finish():
                said.append(sentence)
                yield sentence
            if not said:
                finish, detail = Finish.CUT_SHORT, "the answer is empty"
        yield self._result(finish, said, tokens, detail)

    async def _turns(
        self,
        sent: dict[str, Any],
        transcript: Transcript,
        tokens: TokenCount,
        turn: "_Turn",
        deadline: Deadline,
    ) -> AsyncGenerator[Sentence, None]:
        """Sentences as they become certain, over a message and its continuations; `turn` says how the last ended."""
        for _ in range(1 + MAX_CONTINUATIONS):
            turn.begin()
            tokens.begin()
            async with aclosing(self._client.events(sent, deadline)) as events:
                async for event in events:
                    for sentence in _read(event, turn, tokens, transcript):
                        if ABSTAINS not in sentence.text:
                            yield sentence
            if turn.end != "pause_turn":
                return
            sent = _continued(sent, transcript.text)

    def _result(
        self, finish: Finish, said: Sequence[Sentence], tokens: TokenCount, detail: str
    ) -> Result:
        total = tokens.total()
        usage = Usage(
            provider=self.provider,
            model=self.model,
            input_tokens=total.input + total.cache_write,
            output_tokens=total.output,
            cached_input_tokens=total.cached_input,
            cost_usd=self._prices.cost(self.model, total),
        )
        return Result(finish, tuple(said), usage, self.provider, self.model, detail)


class _Turn:
    """How a streamed message ended."""

    def __init__(self) -> None:
        self._stop, self._whole = "", False

    def begin(self) -> None:
        """Another message."""
        self._stop, self._whole = "", False

    def note(self, event: Any) -> None:
        if event.type == "message_delta":
            self._stop = str(event.delta.stop_reason or self._stop)
        elif event.type == "message_stop":
            self._whole = True

    @property
    def end(self) -> str:
        """The stop reason; empty if message_stop never came."""
        return self._stop if self._whole else ""


def _read(event: Any, turn: _Turn, tokens: TokenCount, transcript: Transcript) -> list[Sentence]:
    """The sentences that an event makes certain. Internal for one of another form: the SDK checks none."""
    try:
        turn.note(event)
        tokens.note_event(event)
        return list(transcript.feed(event))
    except MALFORMED:
        raise Internal("the Claude API sent what is not in its documentation") from None


def _end(stop: str, text: str) -> tuple[Finish, str]:
    """What a stop reason means; Internal for one that nobody documented."""
    if ABSTAINS in text:
        return Finish.ABSTAINED, "the model found no answer in the sources"
    if stop == "end_turn":
        return Finish.COMPLETE, ""
    if stop in _CUT:
        return _CUT[stop]
    raise Internal("the Claude API ended with a stop reason that is not in its documentation")


def _continued(sent: dict[str, Any], text: str) -> dict[str, Any]:
    """The request that goes on after a pause: what was said so far becomes the assistant's turn."""
    user = sent["messages"][0]
    said = text.rstrip()
    messages = [user, {"role": "assistant", "content": said}] if said else [user]
    return {**sent, "messages": messages}

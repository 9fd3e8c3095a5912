"""Any server with /v1/chat/completions. Only finish_reason stop is an answer."""

from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from typing import Any

from services.generator.answers import Finish, Result, Sentence, Source, Usage
from services.generator.instructions import ABSTAINS
from services.generator.markers import MarkerReader
from services.generator.prices import Prices, Tokens
from services.generator.providers.openai_compatible.client import ChatClient
from services.generator.providers.openai_compatible.request import citable, request
from services.generator.settings import GeneratorSettings
from services.outbound.retries import MALFORMED
from services.rpc.deadline import Deadline
from services.rpc.errors import FailedPrecondition, FolioError, Internal

_CUT = {
    "length": (Finish.MAX_TOKENS, "the answer reached the token limit"),
    "content_filter": (Finish.REFUSED, "the model's filter stopped the answer"),
    "refusal": (Finish.REFUSED, "the model refused"),
    "tool_calls": (Finish.CUT_SHORT, "the model asked for a tool that nobody offered"),
    "function_call": (Finish.CUT_SHORT, "the model asked for a function that nobody offered"),
    "": (Finish.CUT_SHORT, "the stream ended before the answer did"),
}


class OpenAICompatibleGenerator:
    """See Generator."""

    provider = "openai_compatible"

    def __init__(self, client: ChatClient, model: str, prices: Prices) -> None:
        self.model = model
        self._client = client
        self._prices = prices

    @classmethod
    def create(cls, settings: GeneratorSettings) -> "OpenAICompatibleGenerator":
        if not settings.model:
            raise FailedPrecondition("set RAG_MODEL to the id of a model of the server")
        return cls(ChatClient.of(settings), settings.model, Prices.read(settings.prices))

    async def answer(
        self, question: str, sources: Sequence[Source], max_output_tokens: int, deadline: Deadline
    ) -> AsyncIterator[Sentence | Result]:
        """See Generator. Raises FolioError only before the first sentence, and Internal for an unknown end."""
        documents = citable(sources)
        stream = _Stream()
        if not documents:
            yield self._result(Finish.ABSTAINED, (), stream, "the sources hold no text")
            return
        sent = request(self.model, question, documents, max_output_tokens)
        reader, said = MarkerReader(documents), list[Sentence]()
        try:
            # Closed at once, whoever leaves: the provider's stream must not wait for the garbage collector.
            async with aclosing(self._client.chunks(sent, deadline)) as chunks:
                async for chunk in chunks:
                    for sentence in _read(chunk, stream, reader):
                        if ABSTAINS not in sentence.text:
                            said.append(sentence)
                            yield sentence
        except FolioError as error:
            if not said:
                raise
            yield self._result(Finish.CUT_SHORT, said, stream, error.message)
            return
        finish, detail = _end(stream.finish, reader.text)
        if finish is Finish.COMPLETE:
            for sentence in reader.finish():
                said.append(sentence)
                yield sentence
            if not said:
                finish, detail = Finish.CUT_SHORT, "the answer is empty"
        yield self._result(finish, said, stream, detail)

    def _result(
        self, finish: Finish, said: Sequence[Sentence], stream: "_Stream", detail: str
    ) -> Result:
        tokens = stream.tokens
        usage = Usage(
            self.provider,
            self.model,
            tokens.input,
            tokens.output,
            tokens.cached_input,
            self._prices.cost(self.model, tokens),
        )
        return Result(finish, tuple(said), usage, self.provider, self.model, detail)


class _Stream:
    """What the chunks say besides text."""

    def __init__(self) -> None:
        self.finish = ""
        self.tokens = Tokens()

    def note(self, chunk: Any) -> str:
        """The chunk's text. Only the first choice counts: no more were asked for."""
        if chunk.usage is not None:
            self.tokens = tokens_of(chunk.usage)
        if not chunk.choices:
            return ""
        choice = chunk.choices[0]
        if getattr(choice.delta, "refusal", None):
            self.finish = "refusal"
        elif choice.finish_reason and self.finish != "refusal":
            self.finish = str(choice.finish_reason)
        return choice.delta.content or ""


def _read(chunk: Any, stream: _Stream, reader: MarkerReader) -> list[Sentence]:
    """The sentences that a chunk makes certain. Internal for one of another form: the SDK checks none."""
    try:
        return list(reader.add(stream.note(chunk)))
    except MALFORMED:
        raise Internal("the model server sent what is not a chat completion") from None


def tokens_of(usage: Any) -> Tokens:
    """The SDK's usage as ours: prompt_tokens includes what came from the cache. What is no number counts nothing."""
    details = getattr(usage, "prompt_tokens_details", None)
    cached = _count(details, "cached_tokens")
    return Tokens(
        input=max(_count(usage, "prompt_tokens") - cached, 0),
        output=_count(usage, "completion_tokens"),
        cached_input=cached,
    )


def _count(usage: Any, name: str) -> int:
    value = getattr(usage, name, None)
    return value if type(value) is int and value >= 0 else 0


def _end(reason: str, text: str) -> tuple[Finish, str]:
    """What a finish reason means; Internal for one that nobody documented."""
    if ABSTAINS in text:
        return Finish.ABSTAINED, "the model found no answer in the sources"
    if reason == "stop":
        return Finish.COMPLETE, ""
    if reason in _CUT:
        return _CUT[reason]
    raise Internal("the model server ended with a finish reason that is not in its documentation")

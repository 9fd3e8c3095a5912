"""Makes answers of what a language model streams: sentences with citations, and one named end.

It is the same for every provider. Tried again before the first content, never after: nothing is said twice.
"""

import asyncio
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing

from services.generator.answers import Finish, Result, Sentence, Source
from services.generator.blocks import BlockReader
from services.generator.instructions import ABSTAINS
from services.generator.markers import MarkerReader
from services.generator.models import LanguageModel
from services.generator.prices import Tokens
from services.generator.providers import Delta, Ending, Quote, Text
from services.generator.quotes import blank
from services.outbound.failures import SLOW, unreadable
from services.outbound.retries import pause
from services.rpc.deadline import Deadline
from services.rpc.errors import DeadlineExceeded, FolioError, Unavailable

_FINISHES = {
    Ending.DONE: (Finish.COMPLETE, ""),
    Ending.TOKEN_LIMIT: (Finish.MAX_TOKENS, "the answer reached the token limit"),
    Ending.CONTEXT_FULL: (Finish.MAX_TOKENS, "the sources fill the model's context"),
    Ending.REFUSED: (Finish.REFUSED, "the model refused"),
    Ending.FILTERED: (Finish.REFUSED, "the model's filter stopped the answer"),
    Ending.STOP_SEQUENCE: (
        Finish.CUT_SHORT,
        "the model stopped at a stop sequence, and none was set",
    ),
    Ending.TOOL: (Finish.CUT_SHORT, "the model asked for a tool, and none was offered"),
    Ending.PAUSED: (Finish.CUT_SHORT, "the model paused too often"),
    None: (Finish.CUT_SHORT, "the stream ended before the answer did"),
}


class ModelGenerator:
    """See Generator. `patience` is the part of the time (0 to 1) in which the first content must come."""

    def __init__(self, model: LanguageModel, patience: float = 1.0) -> None:
        self.provider, self.model, self.local = model.provider, model.model, model.local
        self._model = model
        self._patience = patience

    async def answer(
        self, question: str, sources: Sequence[Source], max_output_tokens: int, deadline: Deadline
    ) -> AsyncGenerator[Sentence | Result, None]:
        """See Generator. Raises Internal for an undocumented ending."""
        documents = [source for source in sources if not blank(source.text)]
        draft = _Draft(self._model, documents)
        if not documents:
            yield draft.result(Finish.ABSTAINED, "the sources hold no text")
            return
        try:
            async with aclosing(
                self._deltas(question, documents, max_output_tokens, deadline)
            ) as deltas:
                async for delta in deltas:
                    for sentence in draft.take(delta):
                        yield sentence
        except FolioError as error:
            if not draft.said:
                raise
            yield draft.result(Finish.CUT_SHORT, error.message)
            return
        finish, detail = draft.finish()
        if finish is Finish.COMPLETE:
            for sentence in draft.rest():
                yield sentence
            if not draft.said:
                finish, detail = Finish.CUT_SHORT, "the answer is empty"
        yield draft.result(finish, detail)

    async def _deltas(
        self, question: str, documents: Sequence[Source], max_tokens: int, deadline: Deadline
    ) -> AsyncGenerator[Delta, None]:
        """What the first try that comes to content streams."""
        patience = deadline
        if self._patience < 1:
            patience = Deadline.after(deadline.share(self._patience))
        attempt, begun = 0, False
        while True:
            attempt += 1
            try:
                async with aclosing(self._model.stream(question, documents, max_tokens)) as deltas:
                    while True:
                        async with asyncio.timeout((deadline if begun else patience).rest()):
                            delta = await anext(deltas)
                        begun = begun or isinstance(delta, Text | Quote)
                        yield delta
            except StopAsyncIteration:
                return
            except (TimeoutError, DeadlineExceeded):
                label = self._model.label
                if begun or patience is deadline:
                    raise DeadlineExceeded(f"{label} did not answer in time") from None
                raise Unavailable(f"{label} did not begin in time", reason=SLOW) from None
            except FolioError as error:
                if begun:
                    raise
                await pause(attempt, error, patience)


class _Draft:
    """What has come so far, and what was said of it."""

    def __init__(self, model: LanguageModel, documents: Sequence[Source]) -> None:
        self.said: list[Sentence] = []
        self._model = model
        self._reader = BlockReader(documents) if model.quotes else MarkerReader(documents)
        self._tokens = Tokens()
        self._ending: Ending | None = None

    def take(self, delta: Delta) -> Iterator[Sentence]:
        """The sentences that a delta makes certain."""
        if isinstance(delta, Tokens):
            self._tokens = delta
        elif isinstance(delta, Ending):
            self._ending = delta
        else:
            for sentence in self._reader.read(delta):
                if ABSTAINS not in sentence.text:
                    self.said.append(sentence)
                    yield sentence

    def finish(self) -> tuple[Finish, str]:
        """How it ended, and why."""
        if ABSTAINS in self._reader.text:
            return Finish.ABSTAINED, "the model found no answer in the sources"
        if self._ending is Ending.UNKNOWN:
            raise unreadable(self._model.label, "an ending that is not in its documentation")
        return _FINISHES[self._ending]

    def rest(self) -> Iterator[Sentence]:
        """What is certain since there is no more to come."""
        for sentence in self._reader.finish():
            self.said.append(sentence)
            yield sentence

    def result(self, finish: Finish, detail: str) -> Result:
        model = self._model
        spent = model.usage(self._tokens)
        return Result(finish, tuple(self.said), spent, model.provider, model.model, detail)

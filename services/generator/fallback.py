"""A second generator for when the first one cannot."""

import logging
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from dataclasses import replace

from services.generator.answers import NOTHING, Finish, Generator, Result, Sentence, Source
from services.outbound.failures import SPEND_LIMIT, may_pass
from services.rpc.deadline import Deadline
from services.rpc.errors import FolioError

log = logging.getLogger("folio.generator")

# The part of the time in which the first generator must begin.
PATIENCE = 0.4


class FallbackGenerator:
    """See Generator. `second` answers where `first` is overloaded, away or refuses, and has said nothing yet.

    The result says who answered, and its usage is that of both.
    """

    def __init__(self, first: Generator, second: Generator) -> None:
        self.provider, self.model, self.local = first.provider, first.model, first.local
        self._first = first
        self._second = second

    async def answer(
        self, question: str, sources: Sequence[Source], max_output_tokens: int, deadline: Deadline
    ) -> AsyncGenerator[Sentence | Result, None]:
        """See Generator."""
        spent = NOTHING
        try:
            events = self._first.answer(question, sources, max_output_tokens, deadline)
            async with aclosing(events):
                async for event in events:
                    if isinstance(event, Result):
                        if event.finish is not Finish.REFUSED or event.sentences:
                            yield event
                            return
                        spent, why = event.usage, "REFUSED"
                    else:
                        yield event
        # A generator raises before its first sentence only.
        except FolioError as error:
            if not may_pass(error) and error.reason != SPEND_LIMIT:
                raise
            why = error.reason
        log.warning(
            "%s answers in place of %s: %s", self._second.provider, self._first.provider, why
        )
        events = self._second.answer(question, sources, max_output_tokens, deadline)
        async with aclosing(events):
            async for event in events:
                if isinstance(event, Result):
                    event = replace(event, usage=spent.plus(event.usage))
                yield event

"""What a generator is given and what it gives: sources in, sentences with citations out."""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from services.rpc.deadline import Deadline
from services.rpc.providers import Worker
from services.text.tables import Table

# An index that no source has: a citation of nothing, which no check lets pass.
NO_SOURCE = 2**32 - 1


@dataclass(frozen=True)
class Span:
    """Characters (code points) of a text, end exclusive."""

    start: int
    end: int


@dataclass(frozen=True)
class Source:
    """A text that an answer may cite. `hits` are the parts that matched best, `relevance` is 0 to 1.

    `tables` stand in the text, in its order.
    """

    index: int
    title: str
    text: str
    hits: tuple[Span, ...] = ()
    relevance: float = 0.0
    tables: tuple[Table, ...] = ()


@dataclass(frozen=True)
class Citation:
    """A verbatim quote and where in the source's text it stands. An empty quote proves nothing."""

    source_index: int
    quote: str
    start: int
    end: int


@dataclass(frozen=True)
class Sentence:
    """One sentence of an answer."""

    text: str
    citations: tuple[Citation, ...] = ()


@dataclass(frozen=True)
class Usage:
    """Tokens and US dollars spent; `cost_usd` is None where no price is known."""

    provider: str = ""
    model: str = ""
    input_tokens: int = 0
    output_tokens: int = 0
    cached_input_tokens: int = 0
    cost_usd: float | None = None

    def plus(self, other: "Usage") -> "Usage":
        """The sum, under the name of the other; its cost is known only if that of all its tokens is."""
        costs = [one.cost_usd for one in (self, other) if one.input_tokens or one.output_tokens]
        return Usage(
            provider=other.provider or self.provider,
            model=other.model or self.model,
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cached_input_tokens=self.cached_input_tokens + other.cached_input_tokens,
            cost_usd=None
            if None in costs or not costs
            else sum(cost for cost in costs if cost is not None),
        )


# What a provider that asks no one spends.
NOTHING = Usage()


class Finish(Enum):
    """Why a generator stopped."""

    COMPLETE = "complete"
    ABSTAINED = "abstained"
    REFUSED = "refused"
    MAX_TOKENS = "max_tokens"
    CUT_SHORT = "cut_short"


@dataclass(frozen=True)
class Result:
    """The end of an answer. `sentences` equal those that were streamed.

    `detail` is for people and holds no text of the question or the sources.
    """

    finish: Finish
    sentences: tuple[Sentence, ...] = ()
    usage: Usage = NOTHING
    provider: str = ""
    model: str = ""
    detail: str = ""
    confidence: float | None = None


class Generator(Worker, Protocol):
    """Answers from sources. Yields each Sentence as it is made, then exactly one Result, last.

    Raises FolioError only before the first sentence.
    """

    def answer(
        self, question: str, sources: Sequence[Source], max_output_tokens: int, deadline: Deadline
    ) -> AsyncGenerator[Sentence | Result, None]: ...

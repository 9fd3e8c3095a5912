"""Reads [n] markers out of a model's text: which sentence cites which sources. Pure.

Known forms: [1], [1][2], [1, 2], [1-3], 【1】, 【1†source】. Left alone: markers in code, links like [1](address),
and what is no number. Inside a table row the marker counts and the text stays as it is.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from services.generator.answers import NO_SOURCE, Citation, Sentence, Source, Span
from services.generator.providers import BlockEnd, Quote, Text
from services.generator.quotes import best_support
from services.generator.sentences import split

MAX_PER_MARKER = 20

_MARKER = re.compile(
    r"[ \t]*(?:\[|【)\s*(?P<list>\^?\d{1,3}(?:\s*[-–—,;]\s*\d{1,3})*)(?:†[^\]】\n]{0,40})?\s*(?:\]|】)(?!\()"
)
_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]+`", re.DOTALL)
_UNFINISHED = re.compile(r"[ \t]*(?:\[|【)[^\]】]{0,60}\Z|`+\Z")
# White space to the splitter, and no column of a table.
_FILLER = "\u200a"


@dataclass(frozen=True)
class Marker:
    """Where a marker stands and the numbers it names, 1-based."""

    start: int
    end: int
    numbers: tuple[int, ...]


def markers(text: str) -> list[Marker]:
    """All markers of a text outside code."""
    code = [match.span() for match in _CODE.finditer(text)]
    return [
        Marker(match.start(), match.end(), _numbers(match["list"]))
        for match in _MARKER.finditer(text)
        if not any(start <= match.start("list") < end for start, end in code)
    ]


def _numbers(found: str) -> tuple[int, ...]:
    numbers: list[int] = []
    for part in re.split(r"[,;]", found.lstrip("^")):
        first, *rest = (int(number) for number in re.split(r"[-–—]", part))
        last = rest[-1] if rest else first
        numbers.extend(range(first, last + 1) if first <= last else (first, last))
    return tuple(dict.fromkeys(numbers[:MAX_PER_MARKER]))


class MarkerReader:
    """Fed with deltas in order; gives each sentence once the next one has begun."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self._sources = sources
        self._text = ""
        self._said_until = 0

    @property
    def text(self) -> str:
        """Everything so far."""
        return self._text

    def read(self, delta: Text | Quote | BlockEnd) -> Iterator[Sentence]:
        """Takes more text; its citations are in it, and quotes of the provider's are none."""
        if not isinstance(delta, Text):
            return
        self._text += delta.text
        open_end = _UNFINISHED.search(self._text)
        yield from self._say(open_end.start() if open_end else len(self._text), keep_last=True)

    def finish(self) -> Iterator[Sentence]:
        """There is no more: gives what is left."""
        yield from self._say(len(self._text), keep_last=False)

    def _say(self, until: int, *, keep_last: bool) -> Iterator[Sentence]:
        found = [one for one in markers(self._text[:until]) if one.start >= self._said_until]
        plain = self._text[:until]
        for one in found:
            plain = plain[: one.start] + _FILLER * (one.end - one.start) + plain[one.end :]
        offset = self._said_until
        spans = [Span(span.start + offset, span.end + offset) for span in split(plain[offset:])]
        for place, span in enumerate(spans[:-1] if keep_last else spans):
            after = spans[place + 1].start if place + 1 < len(spans) else until
            before = offset if place == 0 else span.start
            self._said_until = after
            yield self._sentence(span, [one for one in found if before <= one.start < after])

    def _sentence(self, span: Span, found: Sequence[Marker]) -> Sentence:
        text = self._text[span.start : span.end]
        if "|" not in text:
            for one in reversed(found):
                if span.start <= one.start < span.end:
                    text = text[: one.start - span.start] + text[one.end - span.start :]
            text = " ".join(text.split())
        numbers = dict.fromkeys(number for one in found for number in one.numbers)
        return Sentence(text, tuple(self._citation(text, number) for number in numbers))

    def _citation(self, sentence: str, number: int) -> Citation:
        """The source's own words that support the sentence best; an empty quote where none do."""
        if not 1 <= number <= len(self._sources):
            return Citation(NO_SOURCE, "", 0, 0)
        source = self._sources[number - 1]
        span = best_support(source.text, sentence)
        if span is None:
            return Citation(source.index, "", 0, 0)
        return Citation(source.index, source.text[span.start : span.end], span.start, span.end)

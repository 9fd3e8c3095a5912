"""Finds quotes in the text that they are said to be from."""

from dataclasses import dataclass
from functools import cached_property

from services.gateway.grounding.numbers import Figures, figures
from services.gateway.grounding.text import Normalised, normalise
from services.text.scripts import is_unspaced
from services.text.tables import Grid, Table

# A quote longer than this is not one.
MAX_QUOTE_CHARACTERS = 20_000
# Of a quote that stands in more places, only the first are looked at.
MAX_PLACES = 500


@dataclass(frozen=True)
class SourceText:
    """What a quote may be from: a passage. `char_start` is its place in the document's text."""

    text: str
    char_start: int = 0
    tables: tuple[Table, ...] = ()
    gaps: tuple["Span", ...] = ()
    """What stands between the slices that it is made of: no part of the document."""

    @cached_property
    def grids(self) -> tuple[Grid, ...]:
        return tuple(Grid(table, self.text) for table in self.tables)

    @cached_property
    def joined(self) -> Normalised:
        return normalise(self.text)

    @cached_property
    def hyphenated(self) -> Normalised:
        return normalise(self.text, join_hyphens=False)

    @cached_property
    def figures(self) -> Figures:
        return figures(self.text)


@dataclass(frozen=True)
class Span:
    """Characters of a source's text, end exclusive."""

    start: int
    end: int


def find(quote: str, source: SourceText, hint: int | None = None) -> Span | None:
    """Where a quote stands, verbatim but for white space and line-end hyphens; None if nowhere, or if it says nothing.

    Of several places, the one nearest to `hint` (a character of the source's text), else the first. A quote that
    would begin or end inside a word or a number of the source is not in it: "16" is not in "2016".
    """
    if not quote or len(quote) > MAX_QUOTE_CHARACTERS:
        return None
    for wanted, text in (
        (normalise(quote), source.joined),
        (normalise(quote, join_hyphens=False), source.hyphenated),
    ):
        if not any(character.isalnum() for character in wanted.text):
            return None
        starts = _occurrences(wanted.text, text.text)
        if starts:
            start = starts[0]
            if hint is not None:
                start = min(starts, key=lambda at: abs(text.places[at] - hint))
            last = text.places[start + len(wanted.text) - 1]
            return Span(text.places[start], last + 1)
    return None


def _occurrences(wanted: str, text: str) -> list[int]:
    found, at = [], text.find(wanted)
    for _ in range(MAX_PLACES):
        if at < 0:
            break
        if not _splits(text, at) and not _splits(text, at + len(wanted)):
            found.append(at)
        at = text.find(wanted, at + 1)
    return found


def _splits(text: str, at: int) -> bool:
    """Whether a cut before character `at` falls inside a word or a number."""
    if at <= 0 or at >= len(text):
        return False
    before, after = text[at - 1], text[at]
    if _joins(before) and _joins(after):
        return True
    # Inside "1,000.50": a separator with a digit on either side.
    if before in ".," and after.isdigit():
        return at >= 2 and text[at - 2].isdigit()
    if after in ".," and before.isdigit():
        return at + 1 < len(text) and text[at + 1].isdigit()
    return False


def _joins(character: str) -> bool:
    """Whether letters stick to it: scripts without spaces between words (CJK, kana, Thai) do not."""
    return character.isalnum() and not is_unspaced(character)

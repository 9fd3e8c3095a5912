"""Whether a sentence says more than its evidence: figures that are not there, a negation that was turned round."""

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal

from services.gateway.grounding.numbers import Date, figures
from services.gateway.grounding.quotes import SourceText
from services.gateway.grounding.text import normalise
from services.text.notes import without_marks
from services.text.words import FUNCTION_WORDS, stem

_NEGATION = re.compile(
    r"\b(?:not|no|never|none|nothing|nobody|neither|nor|without|cannot|unable|prohibited|forbidden|unless|free of"
    r"|fail(?:s|ed|ing)? to|[a-z]+n['\u2019]t)\b",
    re.IGNORECASE,
)
# The word that answers a question, before the sentence that says why.
_ANSWER_WORD = re.compile(r"^(?:no|yes)\s*[,.:;!\u2013\u2014-]\s*", re.IGNORECASE)
# Negations that bound a number instead of denying anything: "no later than", "not more than".
_BOUND = re.compile(
    r"\b(?:no|not)\s+(?:later|more|less|fewer|earlier|longer|only|exceed\w*)\b", re.IGNORECASE
)
_WORD = re.compile(r"[^\W\d_]{3,}|\d+")
_LETTERS = re.compile(r"[^\W\d_]+")
_JOINED_NAMES = re.compile(r"[a-z]+(?:[-/][a-z]+)+")
_LINE_END_HYPHEN = re.compile(r"(?<=\w)[-\u2010]\s*\n\s*(?=\w)")
_SENTENCE_END = re.compile(r"(?<=[.!?;])\s+")
# So much of the shorter one's content must be shared before two sentences are held to say the same thing.
SAME_SUBJECT = 0.7


def missing_figures(
    sentence: str, quotes: Sequence[str], sections: Sequence[SourceText]
) -> list[str]:
    """Kinds of figures that a sentence states and neither its quotes nor their sections do: number, date, code."""
    claimed = figures(sentence)
    # As it stands on the page, and as an answer writes it: "PX-/204" over a line end is PX-204.
    whole = [" ".join(_LINE_END_HYPHEN.sub("-", quote).split()) for quote in quotes]
    evidence = [*map(figures, [*quotes, *whole]), *(section.figures for section in sections)]
    days = frozenset(date for found in evidence for readings in found.dates for date in readings)
    numbers = frozenset().union(*(found.numbers for found in evidence))
    numbers |= frozenset().union(*(both for found in evidence for both in found.doubtful))
    numbers |= frozenset().union(*(found.loose for found in evidence))
    scales = frozenset().union(*(found.scales for found in evidence))
    numbers |= {(number * scale).normalize() for number in numbers for scale in scales}
    # A year or a day may be stated alone; a month has no number of its own.
    numbers |= {Decimal(value) for year, _, day in days for value in (year, day) if value}
    months = frozenset().union(*(found.month_words for found in evidence), (day[1] for day in days))
    codes = frozenset().union(*(found.codes for found in evidence))
    missing = []
    if not claimed.numbers <= numbers or not all(both & numbers for both in claimed.doubtful):
        missing.append("number")
    dated = all(any(_dated(date, days, numbers) for date in readings) for readings in claimed.dates)
    if not dated or not claimed.months <= months:
        missing.append("date")
    unknown = claimed.codes - codes
    if unknown:
        words = {
            word.casefold()
            for text in (*quotes, *(section.text for section in sections))
            for word in _LETTERS.findall(text)
        }
        if not all(_apart(code, words) for code in unknown):
            missing.append("code")
    return missing


def _apart(code: str, words: set[str]) -> bool:
    """Whether a code is several names joined, each a word of the sources: UK/EU of "in the UK and in the EU"."""
    return _JOINED_NAMES.fullmatch(code) is not None and set(re.split("[-/]", code)) <= words


def _dated(date: Date, known: frozenset[Date], numbers: frozenset[Decimal]) -> bool:
    year, month, day = date
    if date in known:
        return True
    if year == 0:
        return any((month, day) == other[1:] for other in known)
    return (0, month, day) in known and year in numbers


def flips_negation(sentence: str, quotes: Sequence[str]) -> bool:
    """Whether the quoted sentence nearest to this one says it with the opposite sign."""
    said = _ANSWER_WORD.sub("", normalise(sentence).text)
    if any(said.rstrip(".") in normalise(quote).text for quote in quotes):
        return False
    # Whole quotes side by side (a heading and what stands under it, the cells of a row) say no more than each of them.
    rest = said
    for whole in sorted({piece for quote in quotes for piece in _pieces(quote)}, key=len)[::-1]:
        rest = re.sub(rf"(?<!\w){re.escape(whole)}(?!\w)", " ", rest)
    if not any(map(str.isalnum, rest)):
        return False
    words = _content(said)
    nearest, shared = "", 0.0
    for quote in quotes:
        for part in _SENTENCE_END.split(normalise(quote).text):
            others = _content(part)
            overlap = len(words & others) / max(1, min(len(words), len(others)))
            if overlap > shared:
                nearest, shared = part, overlap
    return shared >= SAME_SUBJECT and _negated(said) != _negated(nearest)


def _pieces(quote: str) -> Iterator[str]:
    """A quote, and the cells of the rows that it shows."""
    cells = re.split(r"\||\n", quote) if "|" in quote else ()
    for piece in (quote, *cells):
        if found := normalise(without_marks(piece)).text.strip().rstrip(":"):
            yield found


def _content(text: str) -> frozenset[str]:
    found = (word.casefold() for word in _WORD.findall(_NEGATION.sub(" ", text)))
    return frozenset(stem(word) for word in found if word not in FUNCTION_WORDS)


def _negated(text: str) -> bool:
    return len(_NEGATION.findall(_BOUND.sub(" ", text))) % 2 == 1

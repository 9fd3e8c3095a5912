"""Finds a quote in a text and says where it stands. Pure."""

import re
import unicodedata
from bisect import bisect_right

from services.generator.answers import Span
from services.generator.sentences import split
from services.generator.words import Word, numbers, words
from services.text.invisible import without_invisible
from services.text.words import STOP_WORDS

# Shares of a sentence's words below which a span of the source does not support it.
MIN_SUPPORT = 0.5


def blank(text: str) -> bool:
    """Whether nothing of a text can be seen: white space, invisible and control characters only."""
    return all(
        char.isspace() or unicodedata.category(char) in {"Cc", "Cn"}
        for char in without_invisible(text)
    )


def encodable(text: str) -> str:
    """The text with lone surrogates replaced, one for one, so that offsets stay and UTF-8 can hold it."""
    return re.sub("[\ud800-\udfff]", "\ufffd", text)


def locate(text: str, quote: str, near: int) -> Span | None:
    """Where a quote stands, the occurrence nearest to `near`; white space may differ. None: nowhere, or empty."""
    if blank(quote):
        return None
    found = [match.start() for match in re.finditer(re.escape(quote), text)]
    if found:
        start = min(found, key=lambda at: abs(at - near))
        return Span(start, start + len(quote))
    pattern = r"\s+".join(re.escape(part) for part in quote.split())
    spans = [Span(match.start(), match.end()) for match in re.finditer(pattern, text)]
    return min(spans, key=lambda span: abs(span.start - near)) if spans else None


def best_support(text: str, claim: str) -> Span | None:
    """The sentence of a text, or the two in a row, that shares most words with a claim; None if none shares enough.

    Every number of the claim that the text has at all must be in the span.
    """
    wanted = _weights(claim)
    if not wanted:
        return None
    spans = split(text)
    found = words(text)
    starts = [word.start for word in found]
    exact = numbers(claim) & numbers(text)
    best: tuple[float, int, Span] | None = None
    for first, span in enumerate(spans):
        for last in (first, first + 1):
            if last >= len(spans):
                continue
            candidate = Span(span.start, spans[last].end)
            inside = found[
                bisect_right(starts, candidate.start - 1) : bisect_right(starts, candidate.end - 1)
            ]
            score = _support(wanted, inside)
            if not exact <= numbers(text[candidate.start : candidate.end]):
                score *= 0.5
            # A longer span must earn its length.
            score -= 0.05 * (last - first)
            if best is None or score > best[0]:
                best = (score, first, candidate)
    return best[2] if best is not None and best[0] >= MIN_SUPPORT else None


def _weights(claim: str) -> dict[str, float]:
    """How much each word of a claim counts: numbers and names twice."""
    return {
        word.stem: 2.0 if word.is_number or word.is_code or word.is_name else 1.0
        for word in words(claim)
        if word.text.lower() not in STOP_WORDS
    }


def _support(wanted: dict[str, float], inside: list[Word]) -> float:
    present = {word.stem for word in inside}
    return sum(weight for stem, weight in wanted.items() if stem in present) / sum(wanted.values())

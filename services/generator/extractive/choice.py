"""From the best sentences to an answer: one to three quotes in reading order, each readable by itself."""

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from services.generator.answers import Citation, Sentence, Span
from services.generator.extractive.features import Reading
from services.generator.extractive.windows import Candidate
from services.generator.sentences import is_item

# Two sentences with this share of words in common say the same.
DUPLICATE = 0.8
# A further sentence must come this near to the best one's logit.
NEAR = 0.7
MAX_LIST_CHARS = 900
MAX_HEADING_CHARS = 80

# A beginning that points back: without the sentence before, nobody knows to what.
_POINTS_BACK = re.compile(
    r"(?:this|these|that|those|it|its|they|their|he|she|his|her|such|both|neither|however|therefore|thus|hence|also"
    r"|instead|otherwise|moreover|furthermore|consequently|accordingly|then|there|in (?:addition|this|that|these|such)"
    r"|as (?:a result|such)|for (?:this|these|that)|the (?:latter|former|same|above|following))\b",
    re.IGNORECASE,
)
# Words without a stop, a column or an item's mark before them.
_HEADING = re.compile(r"(?:#{1,6} |\d+(?:\.\d+)*\.? )?[^\W\d_][^|\t.!?:;]*[^|\t.!?:;,\d]")
_CLOSED = re.compile(r"[.!?。！？…:;]['\"”’)\]]*$")


def choose(reading: Reading, logits: NDArray[np.float64], limit: int) -> list[int]:
    """Places of the best sentence and of those near it that add something, in reading order."""
    order = sorted(range(len(logits)), key=lambda place: (-logits[place], place))
    best = order[0]
    chosen = [best]
    for place in order[1:]:
        if len(chosen) == limit or logits[best] - logits[place] > NEAR:
            break
        if not any(_alike(reading.sentences[place], reading.sentences[other]) for other in chosen):
            chosen.append(place)
    return sorted(chosen)


def _alike(one: Candidate, other: Candidate) -> bool:
    union = one.stems | other.stems
    return (
        not union
        or len(one.stems & other.stems) / min(len(one.stems) or 1, len(other.stems) or 1)
        >= DUPLICATE
    )


def quote(candidate: Candidate, siblings: Sequence[Candidate]) -> Span:
    """The sentence's span, with what it cannot do without: the sentence it points back to, the list it announces."""
    start, end = candidate.span.start, candidate.span.end
    at = candidate.ordinal
    if at and _POINTS_BACK.match(candidate.text) and _adjoins(siblings[at - 1], candidate):
        start = siblings[at - 1].span.start
    if at + 1 < len(siblings) and _announces(candidate.text):
        end = siblings[at + 1].span.end
    elif candidate.text.endswith((":", "：")):
        for item in siblings[at + 1 :]:
            if item.span.end - start > MAX_LIST_CHARS or _over(candidate.source.text, end, item):
                break
            end = item.span.end
    return Span(start, end)


def _announces(text: str) -> bool:
    """Whether what is asked or named here is said in the next sentence: a question, a heading."""
    return text.endswith(("?", "？", "؟")) or (
        len(text) < MAX_HEADING_CHARS and _HEADING.fullmatch(text) is not None
    )


def _adjoins(before: Candidate, sentence: Candidate) -> bool:
    """Whether two sentences stand in one paragraph, and the first is a sentence and no heading."""
    between = sentence.source.text[before.span.end : sentence.span.start]
    return "\n\n" not in between and _CLOSED.search(before.text) is not None


def _over(source: str, end: int, item: Candidate) -> bool:
    """Whether a list that reached `end` is over: a blank line, and no item after it."""
    return "\n\n" in source[end : item.span.start] and not is_item(item.text)


def sentences(
    reading: Reading, places: Sequence[int], siblings: dict[int, list[Candidate]]
) -> list[Sentence]:
    """The chosen sentences as an answer; one that lies inside another's quote is not said twice."""
    found: list[Sentence] = []
    taken: list[tuple[int, Span]] = []
    for place in places:
        candidate = reading.sentences[place]
        index = candidate.source.index
        span = quote(candidate, siblings[index])
        if any(
            index == other and span.start < have.end and have.start < span.end
            for other, have in taken
        ):
            continue
        taken.append((index, span))
        text = candidate.source.text[span.start : span.end]
        found.append(
            Sentence(" ".join(text.split()), (Citation(index, text, span.start, span.end),))
        )
    return found

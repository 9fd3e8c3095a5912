"""From the best sentences to an answer: one to three quotes in reading order, each readable by itself."""

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from services.generator.answers import Citation, Sentence, Span
from services.generator.extractive import codes
from services.generator.extractive.features import Reading
from services.generator.extractive.layout import Line
from services.generator.extractive.question import Question
from services.generator.extractive.windows import Candidate
from services.generator.sentences import is_item
from services.text.notes import without_marks

# Two sentences with this share of words in common say the same.
DUPLICATE = 0.8
# A further sentence must come this near to the best one's logit.
NEAR = 1.5
# What being next to the best adds.
BESIDE = 1.0
MAX_LIST_CHARS = 900
# Of a heading with what stands under it.
MAX_HEADED_CHARS = 400

# A beginning that points back: without the sentence before, nobody knows to what.
_POINTS_BACK = re.compile(
    r"(?:this|these|that|those|it|its|they|their|he|she|his|her|such|both|neither|however|therefore|thus|hence|also"
    r"|instead|otherwise|moreover|furthermore|consequently|accordingly|then|there|in (?:addition|this|that|these|such)"
    r"|as (?:a result|such)|for (?:this|these|that)|the (?:latter|former|same|above|following))\b",
    re.IGNORECASE,
)
_CLOSED = re.compile(r"[.!?。！？…:;]['\"”’)\]]*$")


def choose(reading: Reading, logits: NDArray[np.float64], limit: int) -> list[int]:
    """Places of the best sentence and of those near it that add something, in reading order; none if none may be."""
    order = sorted(np.flatnonzero(np.isfinite(logits)), key=lambda place: (-logits[place], place))
    if not order:
        return []
    least = logits[order[0]] - NEAR
    logits = logits + BESIDE * _beside(reading, int(order[0]))
    # The best first, whatever its neighbours gained.
    order = [order[0], *sorted(order[1:], key=lambda place: (-logits[place], place))]
    chosen: list[int] = []
    for place in map(int, order):
        if len(chosen) == limit or logits[place] < least:
            break
        if not any(_alike(reading.sentences[place], reading.sentences[other]) for other in chosen):
            chosen.append(place)
    return sorted(chosen)


def _beside(reading: Reading, best: int) -> NDArray[np.float64]:
    """(sentences,): 1 for what stands next to the best under the same heading: an answer may go on there."""
    chosen = reading.sentences[best]
    return np.array(
        [
            float(
                one.source is chosen.source
                and abs(one.ordinal - chosen.ordinal) == 1
                and one.above == chosen.above
            )
            for one in reading.sentences
        ]
    )


def _alike(one: Candidate, other: Candidate) -> bool:
    union = one.stems | other.stems
    return (
        not union
        or len(one.stems & other.stems) / min(len(one.stems) or 1, len(other.stems) or 1)
        >= DUPLICATE
    )


def quote(candidate: Candidate, siblings: Sequence[Candidate]) -> Span:
    """The sentence's span, with what it cannot do without: what it points back to, announces or heads."""
    start, end = candidate.span.start, candidate.span.end
    at = candidate.ordinal
    if at and _POINTS_BACK.match(candidate.text) and _adjoins(siblings[at - 1], candidate):
        start = siblings[at - 1].span.start
    if candidate.line is Line.HEADING:
        for below in siblings[at + 1 :]:
            if candidate not in below.above or below.span.end - start > MAX_HEADED_CHARS:
                break
            end = below.span.end
    elif at + 1 < len(siblings) and candidate.text.endswith(("?", "？", "؟")):
        end = siblings[at + 1].span.end
    elif candidate.text.endswith((":", "：")):
        for item in siblings[at + 1 :]:
            if item.span.end - start > MAX_LIST_CHARS or _over(candidate.source.text, end, item):
                break
            end = item.span.end
    return Span(start, end)


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
        spans = [*(_label(candidate, reading.question)), span]
        texts = [candidate.source.text[one.start : one.end] for one in spans]
        found.append(
            Sentence(
                ": ".join(without_marks(" ".join(text.split())) for text in texts),
                tuple(
                    Citation(index, text, one.start, one.end)
                    for text, one in zip(texts, spans, strict=True)
                ),
            )
        )
    return found


def _label(candidate: Candidate, question: Question) -> list[Span]:
    """What must be said before a sentence: the header of its row, the heading with the code that is asked about."""
    asked = codes.asked_about(question) - codes.codes(candidate.text)
    return [
        one.span
        for one in candidate.above
        if (candidate.line is Line.ROW and one.line is Line.HEADER) or asked & codes.codes(one.text)
    ]

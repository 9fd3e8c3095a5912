"""From the best sentences to an answer: one to three quotes in reading order, each readable by itself."""

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from services.generator.answers import Citation, Sentence, Span
from services.generator.extractive import codes
from services.generator.extractive.features import SENTENCE_FEATURES, Reading
from services.generator.extractive.layout import Line
from services.generator.extractive.question import Kind, Question
from services.generator.extractive.tables import spoken
from services.generator.extractive.windows import Candidate
from services.generator.sentences import is_item
from services.generator.words import numbers
from services.text.notes import without_marks

# Two sentences with this share of words in common say the same.
DUPLICATE = 0.8
# A further sentence must come this near to the best one's logit.
NEAR = 1.5
# What being next to the best adds.
BESIDE = 1.0
COVERAGE = SENTENCE_FEATURES.index("coverage")
KIND = SENTENCE_FEATURES.index("kind")
# Asked for, there is one.
VALUES = frozenset({Kind.NUMBER, Kind.DATE})
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
# A measure that only the sentence before names: "that figure is 71%".
_MEASURE_BEFORE = re.compile(
    r"\b(?:this|that) (?:figure|number|share|percentage|proportion|amount|sum|rate|total)\b",
    re.IGNORECASE,
)
_CLOSED = re.compile(r"[.!?。！？…:;]['\"”’)\]]*$")


def choose(
    reading: Reading, logits: NDArray[np.float64], limit: int, may: Sequence[bool] | None = None
) -> list[int]:
    """Places of the best sentence and of those near it that add something, none if none may be.

    In reading order, but an answer begins in the source of its best sentence.

    `may` says of each sentence whether it may answer; all of them, if it is left out. One that may not takes the place
    that its evidence gives it: what comes after it is no better an answer for its sake.
    """
    places = [int(place) for place in np.flatnonzero(np.isfinite(logits))]
    order = sorted(places, key=lambda place: (-logits[place], place))
    allowed = {
        place for place in order if (may is None or may[place]) and not _outdone(reading, place)
    }
    best = next((place for place in order if place in allowed), None)
    if best is None or _equalled(reading, best):
        return []
    least = logits[best] - NEAR
    logits = logits + BESIDE * _beside(reading, best)
    # The best first, whatever its neighbours gained.
    order = sorted(set(places) - {best}, key=lambda place: (-logits[place], place))
    chosen, taken = [best], 1
    # An item that gives the one value that is asked for is the whole answer.
    alone = (
        reading.question.kind in VALUES
        and reading.features[best, KIND] > 0
        and is_item(reading.sentences[best].text)
    )
    for place in () if alone else order:
        if taken == limit or logits[place] < least:
            break
        if any(_alike(reading.sentences[place], reading.sentences[other]) for other in chosen):
            continue
        taken += 1
        if place in allowed and not _equalled(reading, place):
            chosen.append(place)
    first = reading.sentences[best].source
    return sorted(chosen, key=lambda place: (reading.sentences[place].source is not first, place))


def _in_one_list(one: Candidate, other: Candidate) -> bool:
    """Whether two lines are items of one list or rows of one table, which may go on in another source."""
    if one.line is Line.ROW and other.line is Line.ROW:
        return bool(one.above) and one.context == other.context
    items = is_item(one.text) and is_item(other.text)
    return items and one.source is other.source and one.above == other.above


def _outdone(reading: Reading, place: int) -> bool:
    """Whether a line says less of the question than another of its list: the other is what is asked about.

    Where no value is asked for, several items may be meant, whatever their words.
    """
    one = reading.sentences[place]
    if one.line is not Line.ROW and reading.question.kind not in VALUES:
        return False
    return any(
        _in_one_list(one, other) and _coverage(reading, there) > _coverage(reading, place)
        for there, other in enumerate(reading.sentences)
    )


def _equalled(reading: Reading, place: int) -> bool:
    """Whether one value is asked for and another line of the list that says as much of the question gives another."""
    one = reading.sentences[place]
    own = numbers(one.text) - reading.question.exact
    if reading.question.kind not in VALUES or not own:
        return False
    return any(
        there != place
        and _in_one_list(one, other)
        and _coverage(reading, there) >= _coverage(reading, place)
        and numbers(other.text) - reading.question.exact not in (own, frozenset())
        for there, other in enumerate(reading.sentences)
    )


def _coverage(reading: Reading, place: int) -> float:
    return float(reading.features[place, COVERAGE])


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
    points = _POINTS_BACK.match(candidate.text) or _MEASURE_BEFORE.search(candidate.text)
    if at and points and _adjoins(siblings[at - 1], candidate):
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
        parts = spoken.parts(candidate.source, span)
        above = [
            spoken.Part(without_marks(" ".join(one.text.split())), (one.span,))
            for one in _label(candidate, reading.question)
            # A row says its heads itself.
            if not (parts[0].is_row and one.line is Line.HEADER)
        ]
        first = [*above, parts[0]]
        found.append(_sentence(candidate, first))
        found += [_sentence(candidate, [part]) for part in parts[1:]]
    return found


def _sentence(candidate: Candidate, parts: Sequence[spoken.Part]) -> Sentence:
    text = candidate.source.text
    return Sentence(
        ": ".join(part.text for part in parts),
        tuple(
            Citation(candidate.source.index, text[one.start : one.end], one.start, one.end)
            for part in parts
            for one in part.spans
        ),
    )


def _label(candidate: Candidate, question: Question) -> list[Candidate]:
    """What must be said before a sentence: the header of its row, the heading with the code that is asked about."""
    asked = codes.asked_about(question) - codes.codes(candidate.text)
    return [
        one
        for one in candidate.above
        if (candidate.line is Line.ROW and one.line is Line.HEADER) or asked & codes.codes(one.text)
    ]

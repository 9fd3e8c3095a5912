"""What an answer is worth: correct, grounded, abstained or wrong; and the rates over a run. Pure.

    expect    outcome                                                        score
    answer    answered, every needed text is in it, a cited page is relevant  correct
    answer    answered, every sentence is cited, all cited pages relevant     grounded
    answer    answered otherwise, or with a text that must not be in it       wrong
    answer    no answer shown (abstained, clarify, unverified, refused)       abstained
    clarify   asked back                                                      correct
    clarify   answered from pages that are relevant, as for answer            as there, else wrong
    abstain   no answer shown                                                 correct
    refuse    no answer shown                                                 correct
    both      answered                                                        wrong

    any       no answer could be made (unavailable)                           unavailable

An outage says nothing of the documents: it is no abstention, is never right, and stands in no rate.

A web answer counts as an answer without a citation: never correct where the documents were to decide.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from evals.golden import Case
from evals.scoring.judgements import Place

CORRECT, GROUNDED, ABSTAINED, WRONG = "correct", "grounded", "abstained", "wrong"
UNAVAILABLE = "unavailable"
SCORES = (CORRECT, GROUNDED, ABSTAINED, WRONG, UNAVAILABLE)
# The scores of a search, and of a question for which no answer could be made.
NO_ANSWER = frozenset({"", UNAVAILABLE})
SHOWN = frozenset({"answered", "web"})
# Apostrophe, hyphen (NFKC makes the non-breaking one U+2010), soft hyphen.
SAME = {0x2019: "'", 0x2010: "-", 0xAD: None}


@dataclass(frozen=True)
class Answer:
    """What came back. Each sentence has the places that it cites."""

    outcome: str
    sentences: tuple[str, ...] = ()
    citations: tuple[tuple[Place, ...], ...] = ()

    @property
    def cited(self) -> tuple[Place, ...]:
        return tuple(place for places in self.citations for place in places)


def normalise(text: str) -> str:
    """Case, width, quotes and white space do not decide whether a fact was said."""
    folded = unicodedata.normalize("NFKC", text).casefold().translate(SAME)
    return re.sub(r"\s+", " ", folded)


def includes(answer: str, ways: Sequence[str]) -> bool:
    """One of the ways to say it occurs, not inside a longer word or number ("27" is not in "270" or "27.5")."""
    said = normalise(answer)
    return any(
        re.search(rf"(?<![\w])(?<!\d[.,]){re.escape(normalise(way))}(?![\w]|[.,]\d)", said)
        for way in ways
    )


def score_answer(case: Case, answer: Answer) -> str:
    """One of SCORES; see the table above."""
    if answer.outcome == UNAVAILABLE:
        return UNAVAILABLE
    shown = answer.outcome in SHOWN
    if case.expect in ("abstain", "refuse"):
        return WRONG if shown else CORRECT
    if not shown:
        asked_back = case.expect == "clarify" and answer.outcome == "clarify"
        return CORRECT if asked_back else ABSTAINED
    on_page = [case.answers_from(place.document, place.first, place.last) for place in answer.cited]
    text = " ".join(answer.sentences)
    if any(includes(text, (bad,)) for bad in case.must_not_include):
        return WRONG
    if any(on_page) and all(includes(text, ways) for ways in case.must_include):
        return CORRECT
    every_sentence = bool(answer.citations) and all(answer.citations)
    return GROUNDED if every_sentence and all(on_page) else WRONG


def citation_precision(case: Case, answer: Answer) -> float | None:
    """Share of citations whose page is relevant; None where nothing is cited or no page could be."""
    if not answer.cited or not case.judgements:
        return None
    right = [case.answers_from(place.document, place.first, place.last) for place in answer.cited]
    return sum(right) / len(right)


@dataclass(frozen=True)
class Rates:
    """Shares over a run, of the cases that were not unavailable; None where there is no case of the sort."""

    answerable: int
    unanswerable: int
    counts: dict[str, int]
    # Of the cases that must not be answered: those that were.
    false_answer_rate: float | None
    # Of the cases that the documents answer: those left without an answer.
    over_abstention_rate: float | None
    # Of the cases that the documents answer: those answered wrongly.
    wrong_answer_rate: float | None


def rates(scored: Iterable[tuple[str, str]]) -> Rates:
    """Of (expect, score) pairs."""
    pairs = list(scored)
    heard = [(expect, score) for expect, score in pairs if score != UNAVAILABLE]
    must_not = [score for expect, score in heard if expect in ("abstain", "refuse")]
    answerable = [score for expect, score in heard if expect == "answer"]
    return Rates(
        len(answerable),
        len(must_not),
        {name: sum(score == name for _, score in pairs) for name in SCORES},
        _share(must_not, WRONG),
        _share(answerable, ABSTAINED),
        _share(answerable, WRONG),
    )


def _share(scores: Sequence[str], name: str) -> float | None:
    return scores.count(name) / len(scores) if scores else None

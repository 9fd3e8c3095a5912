"""What an answer is worth, and how ranked chunks become ranked items."""

from dataclasses import replace

import pytest

from evals.golden import Case, Relevant
from evals.scoring.answers import Answer, citation_precision, includes, rates, score_answer
from evals.scoring.judgements import Place, rank_documents, rank_items
from evals.scoring.metrics import ndcg, recall

PAGE = Place("handbook", 7, 7)
OTHER = Place("handbook", 9, 9)
ASKED = Case(
    "c",
    "mill",
    "?",
    "answer",
    relevant=(Relevant("handbook", 7, 8, 1),),
    must_include=(("27 days",),),
    must_not_include=("forty-two herons",),
)
HOPELESS = Case("c", "mill", "?", "abstain")
UNCLEAR = Case("c", "mill", "?", "clarify")


def answered(text: str, *places: Place) -> Answer:
    return Answer("answered", (text,), (places,))


@pytest.mark.parametrize(
    ("case", "answer", "expected"),
    [
        (ASKED, answered("Staff have 27 days.", PAGE), "correct"),
        (ASKED, answered("Staff have 27 days.", PAGE, OTHER), "correct"),
        (ASKED, answered("Staff have leave.", PAGE), "grounded"),
        (ASKED, answered("Staff have leave.", PAGE, OTHER), "wrong"),
        (ASKED, answered("Staff have 27 days.", OTHER), "wrong"),
        (ASKED, answered("Staff have 27 days."), "wrong"),
        (ASKED, answered("27 days, says the letter of forty-two herons.", PAGE), "wrong"),
        (ASKED, Answer("abstained"), "abstained"),
        (ASKED, Answer("unverified"), "abstained"),
        (ASKED, Answer("clarify"), "abstained"),
        (ASKED, Answer("web", ("27 days",), ((),)), "wrong"),
        (HOPELESS, Answer("abstained"), "correct"),
        (HOPELESS, Answer("refused"), "correct"),
        (HOPELESS, Answer("clarify"), "correct"),
        (HOPELESS, answered("Yes.", PAGE), "wrong"),
        (HOPELESS, Answer("web"), "wrong"),
        (UNCLEAR, Answer("clarify"), "correct"),
        (UNCLEAR, Answer("abstained"), "abstained"),
        (UNCLEAR, answered("27 days", PAGE), "wrong"),
    ],
)
def test_score_of_an_answer(case: Case, answer: Answer, expected: str) -> None:
    assert score_answer(case, answer) == expected


@pytest.mark.parametrize(
    ("text", "ways", "expected"),
    [
        ("You have 27 Days.", ("27 days",), True),
        ("You have 127 days", ("27 days",), False),
        ("It costs 27.5", ("27",), False),
        ("It costs 1,027", ("27",), False),
        ("It costs 27, and more", ("27",), True),
        ("twenty-seven\n days", ("27 days", "twenty-seven days"), True),
        ("E‑47 means leak", ("E-47",), True),
        ("E-470 means leak", ("E-47",), False),
    ],
)
def test_a_needed_text_is_found_as_a_whole(
    text: str, ways: tuple[str, ...], expected: bool
) -> None:
    assert includes(text, ways) is expected


def test_citation_precision_counts_pages() -> None:
    assert citation_precision(ASKED, answered("x", PAGE, OTHER, OTHER, OTHER)) == 0.25
    assert citation_precision(ASKED, Answer("abstained")) is None
    assert citation_precision(HOPELESS, answered("x", PAGE)) is None


def test_an_answer_from_the_other_edition_is_wrong_however_well_it_is_cited() -> None:
    editions = replace(
        ASKED, relevant=(Relevant("handbook", 7, 7, 3), Relevant("old handbook", 7, 7, 1))
    )
    old = answered("Staff have 25 days.", Place("old handbook", 7, 7))
    assert score_answer(editions, old) == "wrong"
    assert citation_precision(editions, old) == 0.0
    assert score_answer(editions, answered("Staff have leave.", PAGE)) == "grounded"


def test_rates_by_hand() -> None:
    found = rates(
        [
            ("answer", "correct"),
            ("answer", "abstained"),
            ("answer", "wrong"),
            ("answer", "grounded"),
            ("abstain", "wrong"),
            ("refuse", "correct"),
            ("clarify", "abstained"),
            ("answer", "unavailable"),
            ("abstain", "unavailable"),
        ]
    )
    assert (found.false_answer_rate, found.over_abstention_rate) == (0.5, 0.25)
    assert found.wrong_answer_rate == 0.25
    assert found.counts == {
        "correct": 2,
        "grounded": 1,
        "abstained": 2,
        "wrong": 2,
        "unavailable": 2,
    }
    assert rates([("answer", "correct")]).false_answer_rate is None


@pytest.mark.parametrize("expect", ["answer", "clarify", "abstain", "refuse"])
def test_an_outage_is_no_abstention_and_never_right(expect: str) -> None:
    assert score_answer(replace(ASKED, expect=expect), Answer("unavailable")) == "unavailable"


def test_the_same_pages_are_paid_once() -> None:
    items = (Relevant("handbook", 7, 7, 1),)
    places = {1: PAGE, 2: PAGE, 3: OTHER}
    assert rank_items([3, 2, 1, 99], places, items) == [
        "chunk 3",
        "handbook#7",
        "chunk 1",
        "chunk 99",
    ]


def test_a_chunk_over_two_relevant_items_stands_for_both_and_the_best_order_scores_one() -> None:
    items = (Relevant("handbook", 7, 7, 1), Relevant("handbook", 8, 8, 3))
    ranking = rank_items([1, 2], {1: Place("handbook", 7, 8), 2: OTHER}, items)
    assert ranking == ["handbook#8", "handbook#7", "chunk 2"]
    judgements = {item.id: item.grade for item in items}
    assert ndcg(ranking, judgements, 10) == 1.0
    assert recall(ranking, judgements, 1) == 0.5


def test_a_document_stands_at_its_best_chunk() -> None:
    places = {1: Place("a", 0, 0), 2: Place("b", 0, 0), 3: Place("a", 0, 0)}
    assert rank_documents([1, 3, 2, 9], places) == ["a", "b", "chunk 9"]

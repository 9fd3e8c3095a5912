"""The study of table questions judges what is said, and asks what it says it does."""

import pytest

from evals.studies.table_questions import Question, judge, load


def test_there_are_60_questions_over_10_tables() -> None:
    questions = load()
    assert len(questions) == 60
    assert len({(each.file, each.page) for each in questions}) == 10
    assert sum(not each.answer for each in questions) == 10
    assert len({each.ask for each in questions}) == 60


@pytest.mark.parametrize(
    ("said", "verdict"),
    [
        ("Fees: 2021 3,877", "right"),
        ("Fees | 3,877 | 3,541", "unclear"),
        ("Fees: 2020 3,541", "wrong"),
        (None, "abstained"),
    ],
)
def test_a_figure_of_another_column_is_no_right_answer(said: str | None, verdict: str) -> None:
    assert judge(Question("a.pdf", 1, "?", ("3,877",), ("3,541",)), said) == verdict


def test_to_abstain_is_right_where_the_table_does_not_answer() -> None:
    question = Question("a.pdf", 1, "?", (), ())
    assert judge(question, None) == "right"
    assert judge(question, "12") == "wrong"

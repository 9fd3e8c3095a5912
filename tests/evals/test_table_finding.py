"""The study of found tables knows right pairs from wrong ones."""

import pytest

from evals.studies.table_finding import Pair, TruePage, load, score

TRUE = [
    Pair("Net sales (1)", ("13 Weeks", "2023"), "$12"),
    Pair("Net sales (1)", ("52 Weeks", "2023"), "40"),
    Pair("Loss", ("13 Weeks", "2023"), "(3)"),
]


def page() -> TruePage:
    return TruePage("a.pdf", 1, "held-out", TRUE, {"13weeks", "52weeks", "2023"})


def test_the_pages_held_out_are_of_other_files() -> None:
    pages = load()
    files = {
        held: {page.file for page in pages if page.held == held} for held in ("held-in", "held-out")
    }
    assert len([page for page in pages if page.held == "held-in"]) == 29
    assert len([page for page in pages if page.held == "held-out"]) == 12
    assert not files["held-in"] & files["held-out"]
    assert sum(len(page.pairs) for page in pages) == 2_719


@pytest.mark.parametrize(
    ("found", "right", "wrong"),
    [
        (Pair("Net  sales[^1]", ("13 Weeks", "2023"), "12"), 1, 0),
        (Pair("Net sales", ("2023",), "40"), 1, 0),
        (Pair("Net sales", ("13 Weeks", "2023"), "40"), 0, 1),
        (Pair("Net sales", (), "12"), 0, 1),
        (Pair("Loss", ("13 Weeks", "2023"), "3"), 0, 1),
        (Pair("Loss", ("13 Weeks", "2023"), "(3)"), 1, 0),
        (Pair("Sales", ("13 Weeks", "2023"), "12"), 0, 1),
    ],
)
def test_a_pair_is_right_in_row_head_and_value(found: Pair, right: int, wrong: int) -> None:
    result = score(page(), [found])
    assert (result.right, len(result.wrong)) == (right, wrong)

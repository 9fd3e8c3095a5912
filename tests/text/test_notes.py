"""Marks of footnotes in text that is shown without its notes."""

import pytest

from services.text.notes import without_marks


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("One night costs 320[^1] euros.", "One night costs 320 euros."),
        ("It is closed[^*], the yard[^a][^12] too.[^3]", "It is closed, the yard too."),
        ("10^6 litres, 75[^iv] bar", "10^6 litres, 75 bar"),
        ("The pattern is [^a-z]+ or x[^a-z].", "The pattern is [^a-z]+ or x[^a-z]."),
        ("[^3] Measured by the maker.", "[^3] Measured by the maker."),
        ("a [1] b[2]", "a [1] b[2]"),
    ],
)
def test_marks_go_and_nothing_else(text: str, shown: str) -> None:
    assert without_marks(text) == shown

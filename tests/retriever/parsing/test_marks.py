"""Raised and lowered characters: a note is a note, a power a power, and a figure is never made longer."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.retriever.parsing.marks import lowered, raised


@pytest.mark.parametrize(
    ("before", "run", "after", "written"),
    [
        ("allowance is 320", "1", " euros", "[^1]"),
        ("a price of 450", "2", "", "[^2]"),
        ("75", "3", " bar", "[^3]"),
        ("1,234.5", "12", "", "[^12]"),
        ("2,010", "6", " units", "[^6]"),
        ("310", "2", " days", "[^2]"),
        ("the insured", "a", ",", "[^a]"),
        ("320", "(b)", " euros", "[^b]"),
        ("profit", "*", " rose", "[^*]"),
        ("Smith", "1,2", " and", "[^1][^2]"),
        ("Bi", "c", ", Wang", "[^c]"),
        ("Smith J", "b", ", Wang", "[^b]"),
        ("Vijayan", "+", "", "[^+]"),
        ("shown before", "[4]", ".", "[^4]"),
        ("as described in", "2", " the", "[^2]"),
        ("", "1", "See the annex", "[^1] "),
        ("", "1", "5,000 shares", "[^1] "),
        ("Vitamin C", "1", " is", "[^1]"),
        ("(see below)", "2", "", "[^2]"),
        ("holds 10", "6", " litres", "^6"),
        ("3.2 \u00d7 10", "-4", " m", "^-4"),
        ("3.2 x 10", "\u22124", "", "^-4"),
        ("3 x 10", "6", "7 units", "^6 "),
        ("an area of 40 m", "2", "", "^2"),
        ("(km", "2", ")", "^2"),
        ("9.81 m/s", "2", "", "^2"),
        ("m s", "\u22121", "", "^-1"),
        ("14 in", "2", "", "^2"),
        ("where x", "2", " is", "^2"),
        ("R", "2", " = 0.9", "^2"),
        ("(1 + r)", "5", "", "^5"),
        ("Ca", "2+", " ions", "^2+"),
        ("on the 1", "st", " of May", "st"),
        ("the 22", "nd", "", "nd"),
        ("le 2", "e", " jour", "e"),
        ("the n", "th", " time", "th"),
        ("N", "o", " 5", "o"),
        ("Folio", "TM", " is", "™"),
        ("heated to 20", "o", "C", "°"),
        ("heated to 20", "0", "C", "°"),
        ("dated by ", "14", "C in", "14"),
        ("a width of 3", "1", "/2", " 1"),
    ],
)
def test_raised(before: str, run: str, after: str, written: str) -> None:
    assert raised(before, run, after) == written


@pytest.mark.parametrize(
    ("before", "run", "after", "written"),
    [
        ("H", "2", "O", "2"),
        ("CO", "2", " and", "2"),
        ("x", "1", "", "1"),
        ("log", "2", "8", "2 "),
        ("101", "2", " in binary", "_2"),
        ("CO", "2", "5", "2 "),
    ],
)
def test_lowered(before: str, run: str, after: str, written: str) -> None:
    assert lowered(before, run, after) == written


DIGITS = st.text("0123456789", min_size=1, max_size=6)
ANY = st.text("0123456789 abm.,()%$-", max_size=6)


@given(before=ANY, run=DIGITS, after=ANY)
def test_no_figure_is_made_longer(before: str, run: str, after: str) -> None:
    for write in (raised, lowered):
        written = write(before, run, after)
        head = re.search(r"\d*$", before)
        tail = re.match(r"\d*", after)
        assert head
        assert tail
        whole = before + written + after
        assert not head[0] or not re.match(r"\d", whole[len(before) :])
        assert not tail[0] or not re.search(r"\d$", whole[: len(whole) - len(after)])

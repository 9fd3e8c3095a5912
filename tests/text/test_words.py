"""Number words, names of months, stop words and stems."""

import pytest

from services.text.dates import MONTH_ABBREVIATIONS, MONTHS, WEEKDAYS, month
from services.text.numbers import CARDINALS, ORDINALS, SCALES, TENS, UNITS
from services.text.words import FUNCTION_WORDS, STOP_WORDS, stem


def test_number_words_have_their_values() -> None:
    assert (UNITS["zero"], UNITS["one"], UNITS["nineteen"]) == (0, 1, 19)
    assert (TENS["twenty"], TENS["ninety"]) == (20, 90)
    assert (ORDINALS["first"], ORDINALS["twelfth"]) == (1, 12)
    assert SCALES["trillion"] == 10**12
    assert len(CARDINALS) == 20 + 8 + 1 + 4


def test_months_count_from_one_by_name_and_by_abbreviation() -> None:
    assert [month(name) for name in MONTHS] == list(range(1, 13))
    assert [month(short) for short in ("Jan", "MAY", "sept", "dec")] == [1, 5, 9, 12]
    assert len(set(MONTH_ABBREVIATIONS)) == 12
    assert "may" not in MONTH_ABBREVIATIONS
    assert (WEEKDAYS[0], len(WEEKDAYS)) == ("monday", 7)


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("Batteries", "battery"),
        ("charges", "charg"),
        ("charged", "charg"),
        ("charge", "charg"),
        ("loss", "loss"),
        ("library\u2019s", "library"),
        ("libraries'", "library"),
        ("1,000", "1000"),
        ("quickly", "quick"),
        ("sing", "sing"),
    ],
)
def test_stems(word: str, expected: str) -> None:
    assert stem(word) == expected


def test_grammar_alone_keeps_the_words_that_ask() -> None:
    """A question's "list" and "kind" ask; in a statement they may be what it is about."""
    assert {"list", "kind", "name", "explain"} <= STOP_WORDS
    assert not {"list", "kind", "name", "explain"} & FUNCTION_WORDS
    assert {"onto", "per"} == FUNCTION_WORDS - STOP_WORDS

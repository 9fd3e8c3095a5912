"""Invisible characters against the Unicode Character Database, and what is kept of them."""

import re
import sys
import unicodedata

import pytest

from services.text.invisible import (
    CONTROLS,
    HIDDEN,
    LONE_SURROGATE,
    REORDERING,
    SHAPING,
    is_invisible,
    without_hidden,
    without_invisible,
)

EVERY = [chr(point) for point in range(sys.maxunicode + 1) if not 0xD800 <= point < 0xE000]
# Format characters (Cf) that are drawn: signs of numbers and verses, and what joins hieroglyphs.
DRAWN = re.compile(
    "[\u0600-\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd\U00013430-\U0001343f]"
)


def members(inside: str) -> set[str]:
    return set(re.findall(f"[{inside}]", "".join(EVERY)))


def test_every_format_character_is_invisible_or_drawn() -> None:
    formats = {char for char in EVERY if unicodedata.category(char) == "Cf"}
    missing = {char for char in formats if not is_invisible(char) and not DRAWN.match(char)}
    assert not missing, sorted(map(hex, map(ord, missing)))


def test_nothing_that_is_drawn_is_invisible() -> None:
    """Marks and letters among them: variation selectors, fillers, the grapheme joiner, Khmer's inherent vowels."""
    shaped = {
        char
        for char in EVERY
        if is_invisible(char) and unicodedata.category(char) not in {"Cf", "Cn"}
    }
    undrawn = re.compile(r"VARIATION SELECTOR|FILLER|GRAPHEME JOINER|VOWEL INHERENT")
    assert all(undrawn.search(unicodedata.name(char)) for char in shaped)


def test_hidden_and_shaping_do_not_overlap() -> None:
    assert not members(HIDDEN) & members(SHAPING)


def test_reordering_is_what_unicode_calls_bidirectional_formatting() -> None:
    classes = {"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"}
    marks = set("\u061c\u200e\u200f")
    assert members(REORDERING) == marks | {
        char for char in EVERY if unicodedata.bidirectional(char) in classes
    }


def test_controls_are_those_that_are_no_white_space() -> None:
    assert members(CONTROLS) == {
        char for char in EVERY if unicodedata.category(char) == "Cc" and not char.isspace()
    }


def test_noncharacters_are_hidden_but_for_the_parsers_mark() -> None:
    assert {*map(chr, range(0xFDD1, 0xFDF0)), "\ufffe", "\uffff"} <= members(HIDDEN)
    assert "\ufdd0" not in members(HIDDEN)


@pytest.mark.parametrize(
    ("text", "shown", "seen"),
    [
        ("plain", "plain", "plain"),
        ("ig\u200bnore\u00ad", "ignore", "ignore"),
        ("ig\u034fno\ufe0fre", "ig\u034fno\ufe0fre", "ignore"),
        # Persian, and emoji of two parts.
        ("\u0645\u06cc\u200c\u062e", "\u0645\u06cc\u200c\u062e", "\u0645\u06cc\u062e"),
        ("\U0001f469\u200d\U0001f680", "\U0001f469\u200d\U0001f680", "\U0001f469\U0001f680"),
        ("\u2764\ufe0f", "\u2764\ufe0f", "\u2764"),
        ("a\U000e0069\U000e0067b", "ab", "ab"),
        ("\u202eevil\u2069 \u200e\u061c", "evil ", "evil "),
        ("\ufeff\ufff9word\uffff", "word", "word"),
        ("", "", ""),
    ],
)
def test_what_is_shown_and_what_is_compared(text: str, shown: str, seen: str) -> None:
    assert without_hidden(text) == shown
    assert without_invisible(text) == seen


def test_white_space_and_controls_are_not_invisible() -> None:
    assert not any(map(is_invisible, " \t\n\x00\x1b\x85\u00a0\u2003\u2028"))
    assert not is_invisible("")
    assert is_invisible("\u200b\u200d\ufe0f")


def test_a_surrogate_is_lone_without_its_other_half() -> None:
    assert re.findall(LONE_SURROGATE, "a\ud83d b\ude00 \ud83d\ude00") == ["\ud83d", "\ude00"]

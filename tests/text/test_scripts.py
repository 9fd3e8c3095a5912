"""Scripts without spaces: who takes which for what."""

import re
import sys
import unicodedata

import pytest

from services.text.scripts import INDEXED_IN_PAIRS, ONE_CHARACTER_WORDS, UNSPACED, is_unspaced

EVERY = "".join(chr(point) for point in range(sys.maxunicode + 1) if not 0xD800 <= point < 0xE000)


def members(inside: str) -> set[str]:
    return set(re.findall(f"[{inside}]", EVERY))


@pytest.mark.parametrize(
    ("char", "word", "paired", "unspaced"),
    [
        ("a", False, False, False),
        ("\u00e9", False, False, False),
        ("\u0431", False, False, False),
        ("\u0627", False, False, False),
        ("\u0915", False, False, False),
        ("7", False, False, False),
        ("\ua725", False, False, False),  # Latin, far behind Han
        ("\u6c34", True, True, True),
        ("\U00020001", True, True, True),
        ("\u30dd", True, True, True),
        ("\uae30", True, True, True),
        ("\u0e01", False, True, True),
        ("\u1780", False, True, True),
        ("\u1000", False, True, True),
        ("\u3005", False, False, True),  # repeats the character before it
        ("\uff76", False, False, True),  # half-width
        ("\ua984", False, False, True),
        ("\ua000", False, False, True),
    ],
)
def test_a_character_of_each_script(char: str, word: bool, paired: bool, unspaced: bool) -> None:
    assert bool(re.match(f"[{ONE_CHARACTER_WORDS}]", char)) is word
    assert bool(re.match(f"[{INDEXED_IN_PAIRS}]", char)) is paired
    assert is_unspaced(char) is unspaced


def test_each_set_holds_the_smaller_one() -> None:
    assert members(ONE_CHARACTER_WORDS) < members(INDEXED_IN_PAIRS) < members(UNSPACED)


def test_no_letter_of_a_spaced_script_is_unspaced() -> None:
    spaced = re.compile(
        r"LATIN|GREEK|CYRILLIC|ARMENIAN|HEBREW|ARABIC|DEVANAGARI|BENGALI|TAMIL|GEORGIAN|ETHIOPIC"
    )
    letters = (char for char in members(UNSPACED) if char.isalpha())
    assert not [char for char in letters if spaced.match(unicodedata.name(char, ""))]


def test_the_pairs_are_those_that_postings_were_written_with() -> None:
    """Whoever makes this fail changes what is stored, and owes a migration of all postings."""
    blocks = [
        (0x0E01, 0x0EFF),
        (0x1000, 0x109F),
        (0x1780, 0x17FF),
        (0x3041, 0x30FF),
        (0x3400, 0x4DBF),
        (0x4E00, 0x9FFF),
        (0xAC00, 0xD7AF),
        (0xF900, 0xFAFF),
        (0x20000, 0x3FFFF),
    ]
    written = {chr(point) for first, last in blocks for point in range(first, last + 1)}
    assert members(INDEXED_IN_PAIRS) == written

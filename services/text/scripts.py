"""Scripts that are written without spaces between words. Sets are the inside of a regular expression's brackets."""

import re

_KANA = "\u3041-\u30ff"
_HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
# Written with spaces, but what follows a noun is joined to it.
_HANGUL = "\uac00-\ud7af"
_THAI_LAO_MYANMAR_KHMER = "\u0e01-\u0eff\u1000-\u109f\u1780-\u17ff"

# A character of these is taken for a word, as tokenizers do. Thai and its neighbours are alphabets: a letter of theirs
# says as little as one of ours, so every passage would seem to hold every question.
ONE_CHARACTER_WORDS = _KANA + _HAN + _HANGUL
# Runs of these are indexed as pairs of characters. Stored: whoever changes this writes all postings anew.
INDEXED_IN_PAIRS = _KANA + _HAN + _HANGUL + _THAI_LAO_MYANMAR_KHMER
# A word may begin and end at any character of these. Beside those that are indexed in pairs: radicals, iteration
# marks, bopomofo and half-width kana, Yi, Javanese, Balinese, the Tai scripts, and extensions of Hangul and Myanmar.
UNSPACED = INDEXED_IN_PAIRS + (
    "\u1100-\u11ff\u1950-\u19df\u1a20-\u1aaf\u1b00-\u1b7f\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3031-\u303c"
    "\u3100-\u31bf\u31f0-\u31ff\ua000-\ua4cf\ua960-\ua97f\ua980-\ua9ff\uaa60-\uaadf\ud7b0-\ud7ff\uff66-\uffdc"
)

_UNSPACED = re.compile(f"[{UNSPACED}]")


def is_unspaced(char: str) -> bool:
    """Whether a word may begin or end beside a character, whatever its neighbour is."""
    return _UNSPACED.match(char) is not None

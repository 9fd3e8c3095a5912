"""Raised and lowered characters as plain text, by one rule for every format.

They must never extend what stands beside them: "320" with a note's 1 is not 3201, and 10 with an exponent 6 is not
106. Notes are written as Markdown writes them ("320[^1]"), exponents with a caret ("10^6", "m^2"), ordinals ("1st") and
the lowered characters of formulas ("H2O") as they are.
"""

import re

_SIGNS = str.maketrans("\u2212\u2013\u2012\ufe63\uff0d", "-----")
_EXPONENT = re.compile(r"[+-]?\d{1,3}|[a-zA-Z]|\d?[a-z]?[+-]?\d?")
_CHARGE = re.compile(r"\d?[+-]")
_NEGATIVE = re.compile(r"-\d{1,3}")
# Ten to a power: alone or behind a times sign ("3 x 10"); never the end of a figure, as in 310 or 2,010.
_TEN = re.compile(r"(?:^|[^\w.,])10$|\d\s*[x\u00d7·⋅*]\s*\d{1,2}$")
_LENGTH = re.compile(r"(?:^|[^A-Za-z])(?:[kcdmµμn]?m|ft|yd|mi|Mm)$")
_OTHER_UNIT = re.compile(
    r"(?:\d\s?|/\s?|\bper\s|\bsquare\s|\bcubic\s)(?:in|s|sec|min|h|hr|kg|mg|g|mol|[lLKCAVWJNTg]|Pa|Hz|px)$"
)
_VARIABLE = re.compile(r"(?:^|[^A-Za-z0-9])[A-Za-z\u0391-\u03c9]$")
_LETTERS = tuple("TNnkxtijmp")  # Of exponents; others mark notes.
_FORMULA = re.compile(
    r"\((?=[^()]*[-+*/\u00d7·])(?:[A-Za-z\u0391-\u03c9]{1,2}|[\d\s.,^_*/\u00d7·+-])+\)$"
)
_ORDINAL = re.compile(
    r"st|nd|rd|th|er|re|e|o|os|as|[èe]me|i[èe]me|nde?|te[nrs]?|ste[nrs]?|[ºª]", re.I
)
_COUNTED = re.compile(r"(?:^|[^\d.,])\d{1,4}$|[^A-Za-z][ijkmnNxXVI]{1,6}$|^[ijkmnN]$")
_ABBREVIATED = re.compile(r"(?:^|[^A-Za-z])[A-Z]$")
_ABBREVIATION = re.compile(r"os?|rs?|mes?|lles?|gr|ts?")
_COMPOUND = re.compile(r"(?:^|[^A-Za-z])(?:[A-Z][a-z]?\d*)+$|[)\]]$")
_NOTE = re.compile(
    r"[\[(]?(?:\d{1,3}(?:-\d{1,3})?|[A-Za-z]{1,2}|[ivx]{1,5}|[*+†‡§¶#‖\u204e\u2217]{1,4})[\])]?"
)
_BETWEEN_NOTES = re.compile(r"\s*[,;]\s*|\s+|\s*&\s*")
_NOTES_CHARS = 24
_SYMBOLS = {"TM": "™", "(TM)": "™", "SM": "℠", "®": "®", "©": "©", "(R)": "®", "™": "™", "℠": "℠"}
_DEGREES = frozenset("oO0º°")
_PRIMES = frozenset("'\u2032″\"`\u00b4\u2019\u201d")
_ISOTOPE = re.compile(
    r"(?:Am|Ar|Be|Ca|Co|Cs|He|Kr|Li|Pb|Po|Pu|Ra|Rn|Sr|Tc|Th|Xe|[CFHIKNOPSU])(?![a-z])"
)
_CONTEXT = 40


def raised(before: str, run: str, after: str = "") -> str:
    """What takes the place of a raised run, between the text before it and the text after it on its line."""
    words = " ".join(run.translate(_SIGNS).split())
    before, after = before[-_CONTEXT:], after[:_CONTEXT]
    if not words:
        return run
    attached = bool(before) and not before[-1].isspace()
    written = _raised(before if attached else "", words, after, bool(before.strip()))
    return _apart(before, written, after)


def lowered(before: str, run: str, after: str = "") -> str:
    """What takes the place of a lowered run: itself, except beside a figure that it would extend."""
    words = " ".join(run.split())
    if not words:
        return run
    if before and before[-1].isdigit() and words[0].isdigit():
        words = f"_{words}"
    return _apart("", words, after)


def level(before: str, run: str, after: str = "") -> str:
    """What takes the place of figures in smaller type beside a larger figure, on its baseline.

    They are the mark of a note; two that follow may be the cents of a price as well, and stay figures, apart.
    """
    words = " ".join(run.split())
    behind = bool(before) and before[-1].isdigit()
    if words.isdigit() and len(words) <= 3 and not (behind and len(words) == 2):
        return _apart(before, f"[^{words}]", after)
    return _apart(before, words, after) if words else run


def _raised(base: str, words: str, after: str, inside: bool) -> str:
    """`base` is what the run is attached to; `inside`: text stands before it on its line."""
    if words in _SYMBOLS:
        return _SYMBOLS[words]
    if all(char in _PRIMES for char in words):
        return words
    if words in _DEGREES and base[-1:].isdigit() and re.match(r"\s?[CFKNSEW]\b", after):
        return "°"
    if after[:1] in ("/", "\u2044") and words.isdigit():
        return words  # A fraction: kept apart from a figure before it.
    if _is_power(base, words):
        return f"^{words}"
    if _COUNTED.search(base) and _ORDINAL.fullmatch(words):
        return words
    if _ABBREVIATED.search(base) and _ABBREVIATION.fullmatch(words):
        return words  # N with a raised o, M with lle.
    if not base and inside and words.isdigit() and _ISOTOPE.match(after):
        return words
    notes = [note for note in _BETWEEN_NOTES.split(words) if note]
    if len(words) <= _NOTES_CHARS and all(_NOTE.fullmatch(note) for note in notes):
        return "".join(f"[^{note.strip('[]()')}]" for note in notes)
    return words  # Words that stand a little higher.


def _is_power(base: str, words: str) -> bool:
    if not base or not _EXPONENT.fullmatch(words):
        return False
    if _NEGATIVE.fullmatch(words):
        return base[-1].isalnum() or base[-1] == ")"
    if _CHARGE.fullmatch(words):
        return _COMPOUND.search(base) is not None
    if words.isdigit() and _TEN.search(base):
        return True
    if words in ("2", "3") and (_LENGTH.search(base) or _OTHER_UNIT.search(base)):
        return True
    if _VARIABLE.search(base):
        return words in ("2", "3", "4") or words in _LETTERS
    return bool(_FORMULA.search(base))


def _apart(before: str, written: str, after: str) -> str:
    """With a space on either side on which a figure or a word would be made longer."""
    if before and before[-1].isdigit() and written[0].isdigit():
        written = f" {written}"
    if after and (
        (after[0].isdigit() and (written[-1].isdigit() or written[-1] in "]+-"))
        or (after[0].isalpha() and written[-1] == "]")
    ):
        written += " "
    return written

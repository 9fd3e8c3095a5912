"""Hits that hold the very code that a question asks for. Pure.

A model of meaning knows PX-1033 from PX-1038 about as well as a reader across the room: of 1,500 rows of one list it
puts any first. So a hit that holds the code, letter for letter, goes before those that do not. Only codes that few hits
hold say which one is meant: a year, a form or a quarter stands everywhere, and moves nothing.
"""

import re
from collections.abc import Sequence

from services.text.codes import measure

# A code that more hits hold is a topic, not a name: one row may stand in two windows, a part in a few tables.
MOST_HOLDERS = 8
_MAX_CODES = 8

_TOKEN = re.compile(r"[^\W_]+(?:[-_/.:#][^\W_]+)*")
_PART = re.compile(r"[^\W\d_]+|\d+")
_YEAR = re.compile(r"(?:19|20)\d\d")
# Of a period or a day, not of a thing: FY2021, Q4, 1H22.
_PERIOD = re.compile(r"(?:fy|cy|q|h)[-_]?\d+|\d[hq]\d*|\d+(?:st|nd|rd|th)", re.IGNORECASE)
_LONG_WORD = 5
_LONG_NUMBER = 4


def codes(question: str) -> list[re.Pattern[str]]:
    """What finds each code of a question in a text, however its parts are joined: PX-1033, PX 1033, px1033."""
    found: dict[str, re.Pattern[str]] = {}
    for match in _TOKEN.finditer(question):
        token = match.group()
        parts = _PART.findall(token.casefold())
        if len(found) < _MAX_CODES and _is_code(token, parts):
            found.setdefault("".join(parts), _pattern(parts))
    return list(found.values())


def named(question: str, texts: Sequence[str]) -> list[bool]:
    """Which of these texts hold all the codes of the question that few of them hold; none if it has no such code."""
    marks = [
        held
        for code in codes(question)
        if 0 < sum(held := [code.search(text) is not None for text in texts]) <= MOST_HOLDERS
    ]
    if not marks:
        return [False] * len(texts)
    most = max(map(sum, zip(*marks, strict=True)))
    return [sum(held) == most for held in zip(*marks, strict=True)]


def _is_code(token: str, parts: Sequence[str]) -> bool:
    digits = "".join(part for part in parts if part.isdigit())
    if len(digits) < 2 or _PERIOD.fullmatch(token) or (measure(token) and len(digits) < 4):
        return False
    words = [part for part in parts if not part.isdigit()]
    if not words:
        # Digits alone are the number of something, if they are many. Joined ones are dates and amounts.
        return len(parts) == 1 and len(digits) >= _LONG_NUMBER and not _YEAR.fullmatch(digits)
    return all(len(word) < _LONG_WORD for word in words)


def _pattern(parts: Sequence[str]) -> re.Pattern[str]:
    joined = r"[\W_]?".join(map(re.escape, parts))
    if len(parts) == 1:
        # A number may be the end of a code (PO-99803), never a part of another number.
        return re.compile(rf"(?<!\d)(?<!\d[.,]){joined}(?!\w)(?![.,]\d)")
    return re.compile(rf"(?<!\w)(?<![^\W_][-_/.]){joined}(?!\w)(?![-_/.][^\W_])", re.IGNORECASE)

"""What is said of a whole table beside it: its caption and the unit of its figures. One rule for every format."""

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from services.retriever.documents import Table
from services.retriever.parsing.groups import titled
from services.text.tables import Place

# Lines in front of a table that may name its unit or be its caption, and how long they may be.
_LINES = 3
_LINE_CHARS = 200

_CAPTION = re.compile(
    r"(?:table|tab\.|tabelle|tableau|tabla|exhibit|schedule)\s+(?:\d[\d.]*|[IVXL]+|[A-Z]\d*)\b[.:]?\s*\S?",
    re.IGNORECASE,
)
_SCALE = (
    r"(?:hundreds|thousands|millions|billions|crores?|lakhs?|percent|per cent|dollars|euros|pounds|"
    r"francs|yen|rupees)"
)
_UNIT = re.compile(
    rf"\((?:[^()\n]{{0,40}}\b)?(?:in|{_SCALE}|000s?)\b[^()\n]{{0,100}}\)"
    r"|^(?:(?:all|amounts?|dollars?|figures|values)\b[^.\n]{0,30}\b)?"
    rf"in (?:[\w.$\u20ac\u00a3 ]{{0,20}}){_SCALE}\b[^.\n]{{0,80}}$",
    re.IGNORECASE | re.MULTILINE,
)
_SCALED = re.compile(rf"\b(?:{_SCALE}|000s?|USD|EUR|GBP|CHF)\b|[$\u20ac\u00a3%]", re.IGNORECASE)


def described(tables: Sequence[Table], text: str) -> tuple[Table, ...]:
    """The tables with what their surroundings say. A unit in a head over columns is said there, and not again.

    A unit is taken from the caption, from the head over the names, or from the lines in front of the table, and only
    where these name one unit.
    """
    starts = [0, *(table.char_end for table in tables)]
    ends = [*(table.char_start for table in tables), len(text)]
    found = []
    for at, table in enumerate(tables):
        before = _lines_before(text, starts[at], table.char_start)
        after = _line_after(text, table.char_end, ends[at + 1])
        caption = table.caption or _caption(text, [*reversed(before[-1:]), *after])
        unit = table.unit or _unit(table, text, caption, before)
        found.append(replace(titled(table, text), caption=caption, unit=unit))
    return tuple(found)


def _lines_before(text: str, start: int, end: int) -> list[Place]:
    """The lines right in front of a table, from the top down; none of another table's."""
    start = max(start, end - _LINES * (_LINE_CHARS + 2))
    return _lines(text, start, end)[-_LINES:]


def _line_after(text: str, start: int, end: int) -> list[Place]:
    return _lines(text, start, min(end, start + _LINE_CHARS + 4))[:1]


def _lines(text: str, start: int, end: int) -> list[Place]:
    breaks = [at for at in range(start, end) if text[at] == "\n"]
    found = []
    for first, last in pairwise([start - 1, *breaks, end]):
        line = text[first + 1 : last]
        if len(line) <= _LINE_CHARS and any(map(str.isalnum, line)):
            found.append((first + 1, last))
    return found


def _caption(text: str, lines: Sequence[Place]) -> Place | None:
    return next((place for place in lines if _CAPTION.match(text[slice(*place)])), None)


def _unit(table: Table, text: str, caption: Place | None, before: Sequence[Place]) -> Place | None:
    over_names = [
        (cell.char_start, cell.char_end)
        for cell in table.cells
        if cell.row < table.head_rows
        and cell.column + cell.column_span <= max(1, table.head_columns)
    ]
    over_values = [
        (cell.char_start, cell.char_end)
        for cell in table.cells
        if cell.row < table.head_rows and cell.column >= max(1, table.head_columns)
    ]
    if any(_units(text, place) for place in over_values):
        return None
    for places in (over_names, [caption] if caption else [], before):
        units = [unit for place in places for unit in _units(text, place)]
        said = {text[slice(*unit)].casefold() for unit in units}
        if len(said) == 1:
            return units[-1]
        if said:
            return None
    return None


def _units(text: str, place: Place) -> list[Place]:
    said = text[slice(*place)]
    return [
        (place[0] + match.start(), place[0] + match.end())
        for match in _UNIT.finditer(said)
        if _SCALED.search(match.group())
    ]

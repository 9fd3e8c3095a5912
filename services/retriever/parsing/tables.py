"""What is said of a whole table beside it: its caption and the unit of its figures. One rule for every format."""

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from services.retriever.documents import Table
from services.retriever.parsing.groups import titled
from services.text.tables import Cell, Place

# Lines in front of a table that may name its unit or be its caption, and how long they may be.
_LINES = 3
_LINE_CHARS = 200
_BEFORE_CHARS = _LINES * (_LINE_CHARS + 2)

_CAPTION = re.compile(
    r"(?:table|tab\.|tabelle|tableau|tabla|exhibit|schedule)\s+(?:\d[\d.]*|[IVXL]+|[A-Z]\d*)\b[.:]?\s*\S?",
    re.IGNORECASE,
)
_SCALE = (
    r"(?:hundreds|thousands?|millions?|billions?|crores?|lakhs?|percent|per cent|dollars|euros|pounds|"
    r"francs|yen|rupees)"
)
_UNIT = re.compile(
    rf"\((?:[^()\n]{{0,40}}\b)?(?:in|{_SCALE}|000s?)\b[^()\n]{{0,100}}\)"
    r"|^(?:(?:all|amounts?|dollars?|figures|values)\b[^.\n]{0,30}\b)?"
    rf"in (?:[\w.$\u20ac\u00a3 ]{{0,20}}){_SCALE}\b[^.\n]{{0,80}}$",
    re.IGNORECASE | re.MULTILINE,
)
_PARENTHESES = re.compile(r"\([^()]{1,150}\)")
_SCALED = re.compile(rf"\b(?:{_SCALE}|000s?|USD|EUR|GBP|CHF)\b|[$\u20ac\u00a3%]", re.IGNORECASE)


def described(tables: Sequence[Table], text: str) -> tuple[Table, ...]:
    """The tables with what their surroundings say.

    A unit is taken from the head over all values, from the one over the names or a title above all rows, from the
    caption, or from the lines in front of the table, and only where these name one unit. Heads over some of the columns
    say theirs themselves: then the table has none.
    """
    starts = [0, *(table.char_end for table in tables)]
    ends = [*(table.char_start for table in tables), len(text)]
    found = []
    for at, table in enumerate(tables):
        before = _lines_before(text, starts[at], table.char_start)
        after = _line_after(text, table.char_end, ends[at + 1])
        caption = table.caption or _caption(text, [*reversed(before[-1:]), *after])
        unit = table.unit or _unit(
            table, text, caption, before, max(starts[at], table.char_start - _BEFORE_CHARS)
        )
        found.append(replace(titled(table, text), caption=caption, unit=unit))
    return tuple(found)


def _lines_before(text: str, start: int, end: int) -> list[Place]:
    """The lines right in front of a table, from the top down; none of another table's."""
    start = max(start, end - _BEFORE_CHARS)
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


def _unit(
    table: Table, text: str, caption: Place | None, before: Sequence[Place], start: int
) -> Place | None:
    names = max(1, table.head_columns)
    heads = [cell for cell in table.cells if cell.row < table.head_rows]
    over_values = [cell for cell in heads if cell.column + cell.column_span > names]
    over_all = [
        cell
        for cell in over_values
        if cell.column <= names and cell.column + cell.column_span >= table.columns
    ]
    over_some = [cell for cell in over_values if cell not in over_all]
    if any(_units(text, _place(cell)) for cell in over_some):
        return None
    over_names = [cell for cell in heads if cell not in over_values]
    titles = [
        cell
        for cell in table.cells
        if cell.row == table.head_rows and cell.column_span >= table.columns
    ]
    for places in (
        map(_place, over_all),
        map(_place, [*over_names, *titles]),
        [caption] if caption else [],
        [*before, *_broken(text, start, table.char_start)],
    ):
        units = [unit for place in places for unit in _units(text, place)]
        said = {" ".join(text[slice(*unit)].casefold().split()) for unit in units}
        if len(said) == 1:
            return units[-1]
        if said:
            return None
    return None


def _place(cell: Cell) -> Place:
    return cell.char_start, cell.char_end


def _broken(text: str, start: int, end: int) -> list[Place]:
    """What stands in parentheses over the end of a line in the last paragraph in front of a table."""
    last = text[start:end].rstrip("| \n")
    start += last.rfind("\n\n") + 2 if "\n\n" in last else 0
    return [
        (start + match.start(), start + match.end())
        for match in _PARENTHESES.finditer(text[start:end])
        if "\n" in match.group()
    ]


def _units(text: str, place: Place) -> list[Place]:
    said = text[slice(*place)].replace("\n", " ")
    return [
        (place[0] + match.start(), place[0] + match.end())
        for match in _UNIT.finditer(said)
        if _SCALED.search(match.group())
    ]

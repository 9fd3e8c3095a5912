"""Which rows of a table are titles of the rows below them. A row whose values are missing is none.

A title is a cell over all columns, or the only one of its row that says anything, if its form or its words say so. What
nobody can tell titles nothing: a row named for another would be a false one.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from services.retriever.documents import Table
from services.text.tables import Cell, Grid

_TOTALS = ("total", "subtotal", "sub-total")
_YEAR = re.compile(r"(?:19|20)\d\d")
_LEAST = 2  # Rows of a group whose names another group has as well.


@dataclass(frozen=True)
class Look:
    """How a row's name is set. `alone`: its row says nothing else. `indent`: how far in it stands, in widths of a
    letter. `marks`: what sets it apart: bold, capitals, a cell that is said to be a head."""

    row: int
    alone: bool
    indent: float = 0.0
    marks: frozenset[str] = frozenset()


def set_apart(looks: Sequence[Look]) -> frozenset[int]:
    """The rows, of those in the order of the table, whose form says that they are titles: set apart as few rows with
    values are and the next one is not, or with the next one standing further in."""
    valued = [look for look in looks if not look.alone]
    often = Counter(mark for look in valued for mark in look.marks)
    found: set[int] = set()
    below: Look | None = None
    for look in reversed(looks):
        if look.alone and below is not None:
            rare = {mark for mark in look.marks - below.marks if 2 * often[mark] < len(valued)}
            if rare or below.indent > look.indent + 0.5:
                found.add(look.row)
                # A title over a title: what is below both is what they are set apart from.
                continue
        below = look
    return frozenset(found)


def titled(table: Table, text: str) -> Table:
    """The table with cells over all columns for titles that their words tell: a colon at the end, a total of the same
    name below, or rows whose names another group has as well."""
    grid = Grid(table, text)
    columns = table.columns
    alone: dict[int, Cell] = {}
    names: dict[int, str] = {}
    for row in range(table.head_rows, 1 + max((cell.row for cell in table.cells), default=0)):
        said = [cell for cell in grid.row(row) if cell.char_start < cell.char_end]
        if not said:
            continue
        names[row] = grid.say(said[0]).casefold()
        if len(said) == 1 and said[0].row == row and said[0].row_span == 1:
            cell = said[0]
            named = any(map(str.isalpha, names[row])) or _YEAR.fullmatch(names[row])
            if cell.column == 0 and columns > 1 and named and not is_total(names[row]):
                alone[row] = cell
    wide = {row for row, cell in alone.items() if cell.column_span >= columns}
    open_rows = alone.keys() - wide
    if not open_rows:
        return table
    chosen = _by_words(open_rows, names, alone.keys()) | _by_rows(open_rows, names, alone.keys())
    if not chosen:
        return table
    cells = [
        replace(cell, column_span=columns) if alone.get(cell.row) is cell else cell
        for cell in table.cells
        if cell.row not in chosen or cell is alone[cell.row]
    ]
    return replace(table, cells=tuple(cells))


def is_total(name: str) -> bool:
    return name.casefold().startswith(_TOTALS)


def _by_words(rows: Iterable[int], names: dict[int, str], alone: Iterable[int]) -> set[int]:
    """Those with a colon, where names of rows with values have none; and those whose total is below."""
    others = [name for row, name in names.items() if row not in set(alone)]
    colons = 2 * sum(name.endswith(":") for name in others) < len(others)
    totals = {row: _bare(name) for row, name in names.items() if is_total(name)}
    found = set()
    for row in rows:
        bare = _bare(names[row])
        if (names[row].endswith(":") and colons) or any(
            below > row and bare and bare in (total, total.removeprefix("of "))
            for below, total in totals.items()
        ):
            found.add(row)
    return found


def _bare(name: str) -> str:
    words = name.rstrip(":").split()
    return " ".join(words[1:] if words and words[0].rstrip(":") in _TOTALS else words)


def _by_rows(rows: Iterable[int], names: dict[int, str], alone: Iterable[int]) -> set[int]:
    """Those over rows of the same names as are under another: without their titles nobody could tell these apart."""
    groups: dict[int, list[str]] = {}
    current: list[str] | None = None
    marks = set(alone)
    for row, name in names.items():
        if row in marks:
            current = groups.setdefault(row, [])
        elif current is not None:
            current.append(name)
    often = Counter(name for group in groups.values() for name in set(group) if not is_total(name))
    found = set()
    for row in rows:
        shared = sum(often[name] > 1 for name in set(groups[row]))
        if shared >= _LEAST and 2 * shared >= len(set(groups[row])):
            found.add(row)
    return found

"""A table in a text: rows and columns whose cells are slices of it. Which heads a cell stands under. Pure."""

import re
from collections import defaultdict
from dataclasses import astuple, dataclass, replace
from functools import cached_property
from typing import Any

from services.text.notes import without_marks

# The span of something in a text: characters, end exclusive.
Place = tuple[int, int]

# Fewer lines are no table of contents.
MIN_CONTENTS = 4
# A row that begins so closes the group of rows above it.
_YEAR = re.compile(r"(?:19|20)\d\d")
_TOTAL = "total"
_PERCENT = re.compile(r"%|\bper ?cent", re.IGNORECASE)


@dataclass(frozen=True)
class Cell:
    """One cell; a merged one stands at its first row and column. `address` is its name in a sheet ("B12")."""

    row: int
    column: int
    char_start: int
    """Of its characters in the text; equal to char_end where it is empty."""
    char_end: int
    row_span: int = 1
    column_span: int = 1
    address: str = ""

    def covers(self, row: int, column: int) -> bool:
        return (
            self.row <= row < self.row + self.row_span
            and self.column <= column < self.column + self.column_span
        )


@dataclass(frozen=True)
class Table:
    """A table, or the part of one that stands in a text: rows that are left out keep their numbers.

    The first `head_rows` rows say what the columns are, the first `head_columns` columns name the rows.
    """

    char_start: int
    char_end: int
    head_rows: int
    head_columns: int
    cells: tuple[Cell, ...]
    caption: Place | None = None
    unit: Place | None = None
    """What is said of all figures: "in thousands of dollars"."""

    @property
    def columns(self) -> int:
        return max((cell.column + cell.column_span for cell in self.cells), default=0)

    def moved(self, by: int) -> "Table":
        """The same table in a text that begins elsewhere."""
        return replace(
            self,
            char_start=self.char_start + by,
            char_end=self.char_end + by,
            cells=tuple(
                replace(cell, char_start=cell.char_start + by, char_end=cell.char_end + by)
                for cell in self.cells
            ),
            caption=_moved(self.caption, by),
            unit=_moved(self.unit, by),
        )

    def as_json(self) -> dict[str, Any]:
        """For a wire or a column of jsonb."""
        return {
            "span": [self.char_start, self.char_end],
            "heads": [self.head_rows, self.head_columns],
            "caption": self.caption,
            "unit": self.unit,
            "cells": [list(astuple(cell)) for cell in self.cells],
        }

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> "Table":
        """What as_json gave."""
        (start, end), (head_rows, head_columns) = values["span"], values["heads"]
        cells = tuple(Cell(*cell) for cell in values["cells"])
        caption, unit = (tuple(values[key]) if values[key] else None for key in ("caption", "unit"))
        return cls(start, end, head_rows, head_columns, cells, caption, unit)


def _moved(place: Place | None, by: int) -> Place | None:
    return (place[0] + by, place[1] + by) if place else None


@dataclass(frozen=True)
class Grid:
    """A table with the text that it stands in."""

    table: Table
    text: str

    def say(self, cell: Cell) -> str:
        """What a cell says, on one line, without marks of notes."""
        return without_marks(" ".join(self.text[cell.char_start : cell.char_end].split()))

    @cached_property
    def _rows(self) -> dict[int, tuple[Cell, ...]]:
        found: dict[int, list[Cell]] = defaultdict(list)
        for cell in self.table.cells:
            for row in range(cell.row, cell.row + max(1, cell.row_span)):
                found[row].append(cell)
        return {
            row: tuple(sorted(cells, key=lambda cell: cell.column))
            for row, cells in sorted(found.items())
        }

    @cached_property
    def name_columns(self) -> int:
        """How many columns name the rows: where the table does not say, the first does."""
        return self.table.head_columns or 1

    @cached_property
    def groups(self) -> dict[int, tuple[Cell, ...]]:
        """Row -> the titles of the groups that it is in, from the outside in; a title's own row has no entry.

        A title is a cell over all columns. It holds until the next one, until a row that says nothing but its name, or
        until one that begins with "Total": what follows that one is in no group.
        """
        found: dict[int, tuple[Cell, ...]] = {}
        above: tuple[Cell, ...] = ()
        titled = False
        for row, cells in self._rows.items():
            if row < self.table.head_rows:
                continue
            said = [cell for cell in cells if cell.char_start < cell.char_end]
            if self._is_title(row, said):
                above = (*above, said[0]) if titled else (said[0],)
                titled = True
                continue
            titled = False
            if self._is_alone(row, said):
                # A row whose values are missing, or a title that nothing tells from one: what is below may be its.
                found[row] = above = ()
                continue
            name = self.say(said[0]).casefold().split() if said else []
            closes = name[:1] == [_TOTAL]
            found[row] = () if closes and len(name) > 1 else above
            if closes:
                above = ()
        return found

    def _is_title(self, row: int, said: list[Cell]) -> bool:
        if not self._is_alone(row, said) or self.table.columns < 2:
            return False
        return said[0].column == 0 and said[0].column_span >= self.table.columns

    def _is_alone(self, row: int, said: list[Cell]) -> bool:
        """Whether a row says nothing but its name. The last cell of a merged name, or a lonely figure, is none."""
        if len(said) != 1 or said[0].row != row or said[0].row_span > 1:
            return False
        name = self.say(said[0])
        named = any(map(str.isalpha, name)) or _YEAR.fullmatch(name) is not None
        return named and said[0].column < self.name_columns

    @property
    def rows(self) -> tuple[int, ...]:
        """The rows that are neither heads nor titles of groups."""
        return tuple(self.groups)

    def row(self, number: int) -> tuple[Cell, ...]:
        """The cells of a row, from left to right, merged ones that reach into it among them."""
        return self._rows.get(number, ())

    @cached_property
    def is_contents(self) -> bool:
        """Whether it is a table of contents: names, and numbers of pages that never fall, under no head of figures."""
        if self.table.columns != 2 or len(self.rows) < MIN_CONTENTS:
            return False
        values = [cell for row in self.rows for cell in self.values(row)]
        numbers = [self.say(cell) for cell in values]
        if len(numbers) < MIN_CONTENTS or not all(
            number.isdecimal() and len(number) < 5 for number in numbers
        ):
            return False
        heads = [head for head in self.column_heads(values[0]) if head.column_span == 1]
        paged = not heads or all("page" in self.say(head).casefold() for head in heads)
        pages = [int(number) for number in numbers]
        # Under a running title: several lines a page, as figures in order seldom have.
        shared = len(pages) >= 2 * MIN_CONTENTS and 3 * len(set(pages)) <= 2 * len(pages)
        return (paged or shared) and pages == sorted(pages)

    def places(self) -> dict[int, Place]:
        """Where each row stands: from the first to the last of the cells that begin in it and say something."""
        found: dict[int, Place] = {}
        for cell in self.table.cells:
            if cell.char_start < cell.char_end:
                start, end = found.get(cell.row, (cell.char_start, cell.char_end))
                found[cell.row] = (min(start, cell.char_start), max(end, cell.char_end))
        return dict(sorted(found.items()))

    @cached_property
    def heads(self) -> tuple[Cell, ...]:
        """The cells that say what the columns are, in the order of the text."""
        return tuple(
            cell
            for cell in self.table.cells
            if cell.row < self.table.head_rows and cell.char_start < cell.char_end
        )

    def unit_of(self, cell: Cell) -> Place | None:
        """The table's unit, where it is that of a value: what is said in percent has none of thousands."""
        unit = self.table.unit
        if unit is None or _PERCENT.search(self.text[slice(*unit)]):
            return unit
        said = (cell, *self.column_heads(cell))
        return None if any(_PERCENT.search(self.say(each)) for each in said) else unit

    def column_heads(self, cell: Cell) -> tuple[Cell, ...]:
        """What the cell's columns are, from the top down; without the table's unit."""
        last = cell.column + cell.column_span
        return tuple(
            sorted(
                (
                    head
                    for head in self.heads
                    if head.column < last
                    and cell.column < head.column + head.column_span
                    and (head.char_start, head.char_end) != self.table.unit
                ),
                key=lambda head: (head.row, head.column),
            )
        )

    def names(self, row: int) -> tuple[Cell, ...]:
        """The cells that name a row, from left to right."""
        return tuple(
            cell
            for cell in self.row(row)
            if cell.column < self.name_columns and cell.char_start < cell.char_end
        )

    def row_heads(self, row: int) -> tuple[Cell, ...]:
        """What a row is: the titles of its groups, then its names."""
        return (*self.groups.get(row, ()), *self.names(row))

    def values(self, row: int) -> tuple[Cell, ...]:
        """The cells of a row that say something and do not name it."""
        return tuple(
            cell
            for cell in self.row(row)
            if cell.column >= self.name_columns and cell.char_start < cell.char_end
        )

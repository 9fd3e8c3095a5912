"""A table while it is written: the place of each cell in the grid, and which cells are heads."""

import re
from bisect import bisect
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from services.retriever.parsing.groups import Look, set_apart

# A wider table, or one of more cells, is lines of text and nothing more: placing it would cost more than it tells.
MAX_COLUMNS = 500
MAX_CELLS = 500_000
_MAX_SPAN = 65_534  # Rows, as in HTML.
_SAID_CHARS = 80
_FIGURE = re.compile(r"\d")
_YEAR = re.compile(r"(?:FY ?)?(?:19|20)\d\d(?:[/-]\d\d)?")


@dataclass
class Span:
    """Raw characters of one page."""

    page: int
    start: int
    end: int = 0


@dataclass
class WrittenCell:
    """`part` is the writer's position where the cell begins; `said` are its first characters.
    `indent`: how far in they stand, in widths of a letter."""

    row: int
    column: int
    row_span: int
    column_span: int
    head: bool
    address: str
    span: Span
    part: int
    said: str = ""
    strong: bool = False
    indent: float = 0.0


@dataclass
class WrittenTable:
    """`busy[c]` is the first row in which column c is not held by a cell above it. `tidy`: all cells could be placed,
    none over another. `head_rows`: rows so far that are said to be heads, from the first on; `named`: one of them names
    more than one column. `later`: rows below that are of nothing but names that are said to be heads."""

    caption: Span | None
    cells: list[WrittenCell] = field(default_factory=list)
    busy: list[int] = field(default_factory=list)
    row: int = -1
    column: int = 0
    columns: int = 0
    head_rows: int = 0
    tidy: bool = True
    named: bool = False
    later: list[int] = field(default_factory=list)

    def next_column(self) -> int:
        """The column of the row's next cell: a merged cell above leaves its place empty."""
        while self.column < len(self.busy) and self.busy[self.column] > self.row:
            self.column += 1
        return self.column

    def borders(self) -> int:
        """How many borders stand in front of the row's next cell."""
        column = self.next_column()
        if not self.tidy:
            return min(column, 1)
        last = self.cells[-1].column if self.cells and self.cells[-1].row == self.row else 0
        return column - last

    def place(
        self,
        head: bool,
        row_span: int,
        column_span: int,
        address: str,
        span: Span,
        part: int,
        strong: bool = False,
        indent: float = 0.0,
    ) -> None:
        """Adds the row's next cell."""
        column = self.next_column()
        row_span = max(1, min(row_span, _MAX_SPAN))
        column_span = max(1, min(column_span, MAX_COLUMNS))
        end = column + column_span
        self.tidy = (
            self.tidy
            and end <= MAX_COLUMNS
            and len(self.cells) < MAX_CELLS
            and not any(until > self.row for until in self.busy[column:end])
        )
        if self.tidy:
            self.busy += [0] * (end - len(self.busy))
            self.busy[column:end] = [self.row + row_span] * column_span
            self.columns = max(self.columns, end)
        self.cells.append(
            WrittenCell(
                self.row,
                column,
                row_span,
                column_span,
                head,
                address,
                span,
                part,
                strong=strong,
                indent=indent,
            )
        )
        self.column = end

    def end_cell(self, at: int, said: str) -> None:
        """Ends the last cell, of which `said` is the beginning."""
        self.cells[-1].span.end = at
        cell = self.cells[-1]
        cell.said = said.strip()[:_SAID_CHARS]
        start = said.lstrip("\n\r\t ")
        cell.indent = cell.indent or float(len(start) - len(start.lstrip()))

    def end_row(self) -> None:
        """Counts the row as one of heads, if whatever stands in it is one."""
        row = self._last_row()
        said = [cell for cell in row if cell.said]
        if not any(cell.head for cell in row) or not all(cell.head for cell in said):
            return
        if self.head_rows == self.row:
            if not (self.named and _is_title(said)):
                self.head_rows += 1
                self.named = self.named or len(said) > 1
        elif len(said) > 1 and not any(_is_figure(cell.said) for cell in said):
            self.later.append(self.row)

    def _last_row(self) -> list[WrittenCell]:
        index = len(self.cells)
        while index and self.cells[index - 1].row == self.row:
            index -= 1
        return self.cells[index:]

    def parts(self) -> list["WrittenTable"]:
        """The table, cut in front of rows in its midst that name the columns anew."""
        named: dict[int, list[str]] = {row: [] for row in (0, *self.later)}
        for cell in self.cells:
            if cell.row in named:
                named[cell.row].append(cell.said)
        starts = [0, *(row for row in self.later if named[row] != named[0])]
        if len(starts) == 1 or not self.tidy:
            return [self]
        ends = [*starts[1:], self.row + 1]
        found = [
            replace(self, cells=[], row=end - start - 1, head_rows=1, later=[])
            for start, end in zip(starts, ends, strict=True)
        ]
        # Where every row begins with a head, a row of heads may be one of values: then what is below has no heads.
        rows = {cell.row for cell in self.cells if cell.head and cell.column == 0 and cell.said}
        if len(rows) > self.head_rows + len(self.later):
            for part in found:
                part.head_rows = 0
        found[0].head_rows = self.head_rows
        for part in found[1:]:
            part.caption = None
        for cell in self.cells:
            at = bisect(starts, cell.row) - 1
            found[at].cells.append(replace(cell, row=cell.row - starts[at]))
            # A part that a cell from above reaches into would lack it: it is no table.
            for below in range(at + 1, bisect(starts, cell.row + cell.row_span - 1)):
                found[below].tidy = False
        return found

    def titles(self, head_rows: int) -> frozenset[int]:
        """The rows below the heads whose only cell is set as the title of what is below it."""
        rows: dict[int, list[WrittenCell]] = {}
        for cell in self.cells:
            if cell.said and cell.row >= head_rows:
                rows.setdefault(cell.row, []).append(cell)
        looks = [
            Look(
                row,
                len(cells) == 1 and cells[0].column == 0 and cells[0].row_span == 1,
                cells[0].indent,
                frozenset(
                    mark
                    for mark, set_so in (("bold", cells[0].strong), ("head", cells[0].head))
                    if set_so
                ),
            )
            for row, cells in rows.items()
        ]
        return set_apart(looks)

    def heads(self) -> tuple[int, int]:
        """Rows and columns of heads. Where nothing is said to be one, the first row is if it names columns of
        figures."""
        cells = [cell for cell in self.cells if cell.said]
        if any(cell.head for cell in cells):
            rows = min(self.head_rows, self.row)
            body = [cell for cell in cells if cell.row >= rows]
            return rows, min((cell.column for cell in body if not cell.head), default=0)
        return (1, 0) if _names_columns(cells, self.columns) else (0, 0)


def _is_title(said: Sequence[WrittenCell]) -> bool:
    """Whether a row below names of columns is the title of the rows under it. A unit in parentheses is a head."""
    return len(said) == 1 and said[0].column == 0 and not said[0].said.startswith(("(", "["))


def _is_figure(said: str) -> bool:
    return _FIGURE.search(said) is not None and not _YEAR.fullmatch(said)


def _names_columns(cells: Sequence[WrittenCell], columns: int) -> bool:
    """Whether the first row names columns of figures: words over numbers, in three columns or more.

    Two columns may as well be names and values, from the first row on.
    """
    heads = {cell.column: cell.said for cell in cells if cell.row == 0}
    if columns < 3 or len(set(heads.values())) < max(2, columns - 1):
        return False
    if any(_FIGURE.search(said) and not _YEAR.fullmatch(said) for said in heads.values()):
        return False
    figures: dict[int, list[bool]] = {}
    for cell in cells:
        if cell.row > 0:
            figures.setdefault(cell.column, []).append(_FIGURE.search(cell.said) is not None)
    return any(
        sum(found) > 0.8 * len(found) for column, found in figures.items() if heads.get(column)
    )

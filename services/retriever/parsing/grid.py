"""A table while it is written: the place of each cell in the grid, and which cells are heads."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

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
    """`part` is the writer's position where the cell begins; `said` are its first characters."""

    row: int
    column: int
    row_span: int
    column_span: int
    head: bool
    address: str
    span: Span
    part: int
    said: str = ""


@dataclass
class WrittenTable:
    """`busy[c]` is the first row in which column c is not held by a cell above it. `tidy`: all cells could be placed,
    none over another. `head_rows`: rows so far that are said to be heads, from the first on."""

    caption: Span | None
    cells: list[WrittenCell] = field(default_factory=list)
    busy: list[int] = field(default_factory=list)
    row: int = -1
    column: int = 0
    columns: int = 0
    head_rows: int = 0
    tidy: bool = True

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
        self, head: bool, row_span: int, column_span: int, address: str, span: Span, part: int
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
            WrittenCell(self.row, column, row_span, column_span, head, address, span, part)
        )
        self.column = end

    def end_cell(self, at: int, said: str) -> None:
        """Ends the last cell, of which `said` is the beginning."""
        self.cells[-1].span.end = at
        self.cells[-1].said = said.strip()[:_SAID_CHARS]

    def end_row(self) -> None:
        """Counts the row as one of heads, if whatever stands in it is one."""
        if self.head_rows == self.row and self._is_head():
            self.head_rows += 1

    def _is_head(self) -> bool:
        index = len(self.cells)
        while index and self.cells[index - 1].row == self.row:
            index -= 1
            if self.cells[index].said and not self.cells[index].head:
                return False
        return any(cell.head for cell in self.cells[index:])

    def heads(self) -> tuple[int, int]:
        """Rows and columns of heads. Where nothing is said to be one, the first row is if it names columns of
        figures."""
        cells = [cell for cell in self.cells if cell.said]
        if any(cell.head for cell in cells):
            rows = min(self.head_rows, self.row)
            body = [cell for cell in cells if cell.row >= rows]
            return rows, min((cell.column for cell in body if not cell.head), default=0)
        return (1, 0) if _names_columns(cells, self.columns) else (0, 0)


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

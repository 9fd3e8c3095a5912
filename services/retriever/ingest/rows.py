"""Rows of tables as chunks of their own, each with the heads it stands under.

In a window over forty rows a row's name is one of forty, and its heads may be in another window. So each row is a chunk
beside the windows, found by the codes in it: its body is the row, a slice like any other; what rerankers read is its
`reading`, the row with its heads: "Balance sheet. Current assets; Inventories; Note: 11; 2022: 5,877,879".
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from services.retriever.documents import ParsedDocument, Table
from services.text.tables import Cell, Grid

# A caption or a head that is longer is a text; a reader of the row needs its beginning.
_MAX_CONTEXT_CHARS = 200
_MAX_CELL_CHARS = 600


@dataclass(frozen=True)
class RowReading:
    """A row's characters in the document's text, and how it reads with its heads."""

    char_start: int
    char_end: int
    reading: str


def rows(document: ParsedDocument, limit: int) -> tuple[list[RowReading], int]:
    """At most `limit` rows of a document's tables, in its order; and how many tables got none for it.

    A table is taken as a whole or not at all. Rows without values, and rows that read like their body, give none.
    """
    text = document.text
    found: list[RowReading] = []
    left_out = 0
    for table in document.tables:
        grid = Grid(table, text)
        if grid.is_contents:
            continue
        if len(found) + len(grid.rows) > limit:
            left_out += 1
            continue
        found += _of_table(grid, _title(document, table, text))
    return found, left_out


def borders(tables: Sequence[Table]) -> list[int]:
    """Where the rows of tables begin, and where the tables end: windows are cut there and nowhere else in a table."""
    found: set[int] = set()
    for table in tables:
        starts: dict[int, int] = {}
        for cell in table.cells:
            if cell.char_start < cell.char_end:
                starts[cell.row] = min(starts.get(cell.row, cell.char_start), cell.char_start)
        found.update(starts.values())
        found.add(table.char_end)
    return sorted(found)


def _of_table(grid: Grid, title: str) -> Iterator[RowReading]:
    shared = _shared(grid)
    context = ". ".join(part for part in (title, *map(grid.say, shared)) if part)
    for row in grid.rows:
        own = [
            cell for cell in grid.row(row) if cell.row == row and cell.char_start < cell.char_end
        ]
        values = grid.values(row)
        if not own or not values:
            continue
        parts = [_name(grid, cell) for cell in grid.row_heads(row)]
        parts += [_value(grid, cell, shared) for cell in values]
        said = "; ".join(parts)
        yield RowReading(
            min(cell.char_start for cell in own),
            max(cell.char_end for cell in own),
            f"{context}. {said}" if context else said,
        )


def _title(document: ParsedDocument, table: Table, text: str) -> str:
    """The table's caption, else the title of the section it stands in; and its unit."""
    parts = []
    if table.caption:
        parts.append(text[slice(*table.caption)])
    else:
        path = next(
            (
                section.path
                for section in document.sections
                if section.char_start <= table.char_start < section.char_end
            ),
            (),
        )
        parts += path[-1:]
    if table.unit:
        parts.append(text[slice(*table.unit)])
    return " ".join(" ".join(part.split())[:_MAX_CONTEXT_CHARS] for part in parts).rstrip(" .:")


def _shared(grid: Grid) -> tuple[Cell, ...]:
    """Heads over all columns of values: said once, not with each value."""
    columns = grid.table.columns
    return tuple(
        head
        for head in grid.heads
        if columns - grid.name_columns > 1
        and (head.char_start, head.char_end) != grid.table.unit
        and head.column <= grid.name_columns
        and head.column + head.column_span >= columns
    )


def _name(grid: Grid, cell: Cell) -> str:
    """A row's name, under the head of the names where there is one: "Part number: PX-1033"."""
    heads = [head for head in grid.column_heads(cell) if head.column_span == 1]
    said = grid.say(cell)[:_MAX_CELL_CHARS]
    if not heads or cell.column_span > 1 or grid.say(heads[-1]).startswith("("):
        return said
    return f"{grid.say(heads[-1]).rstrip(':')[:_MAX_CONTEXT_CHARS]}: {said}"


def _value(grid: Grid, cell: Cell, shared: Sequence[Cell]) -> str:
    heads = [grid.say(head) for head in grid.column_heads(cell) if head not in shared]
    said = grid.say(cell)[:_MAX_CELL_CHARS]
    head = " ".join(heads).rstrip(":")[:_MAX_CONTEXT_CHARS]
    return f"{head}: {said}" if head else said

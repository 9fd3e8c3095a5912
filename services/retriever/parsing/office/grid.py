"""A sheet's rows as text and tables: which of its cells belong together, and which of them are heads.

A sheet is no table: it holds titles, notes and several tables, set apart by empty rows and columns. What cannot be told
is written as lines, which pair nothing.
"""

import re
from bisect import bisect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from services.retriever.parsing.writer import BETWEEN_CELLS, TextWriter

_MAX_HEAD_ROWS = 4
_HEAD_CHARS = 100
_MAX_COLUMNS = 500
_MAX_PLACES = 1_000_000
_MAX_BESIDE = 50  # Blocks beside each other.
_MIN_STACKED = 4  # Rows of two tables.
_TELL_EVERY = 1_000  # Rows.
_FIGURE = re.compile(
    r"[-+(]{0,2}\s*[^\w\s]{0,3}\s*[-+]?\d[\d.,'\u2019\s/:-]*\s*(?:%|[^\w\s]{1,2}|[^\W\d_]{1,4})?\s*\)?"
)
_YEAR = re.compile(r"(?:FY\s*)?(?:1[89]|20)\d\d(?:\s*[-/]\s*\d{2,4})?|[QH][1-4](?:\s+\d{4})?", re.I)


@dataclass(frozen=True, slots=True)
class SheetCell:
    """`figure`: a number or a date, no name. `strong`: set apart by its letters, as heads are. `indent`: how far in it
    stands, in widths of a letter."""

    text: str
    figure: bool = False
    strong: bool = False
    address: str = ""
    row_span: int = 1
    column_span: int = 1
    indent: float = 0.0


_NOTHING = SheetCell("")
Row = Mapping[int, SheetCell]
"""Cells by column, without the empty ones."""


def looks_like_figure(text: str) -> bool:
    """Whether text without a type is a number, an amount or a date: "1,200 kg", "(3.5%)", "2024-03-09"."""
    return bool(_FIGURE.fullmatch(text.strip()[:40]))


def letters(column: int) -> str:
    """The name of a column: A, B, ..., Z, AA."""
    found = ""
    while column:
        column, rest = divmod(column - 1, 26)
        found = chr(65 + rest) + found
    return found


def unheard() -> None:
    """Who is told of nothing."""


def write(writer: TextWriter, rows: Sequence[Row], tell: Callable[[], None] = unheard) -> None:
    """All blocks from the top down; blocks beside each other from left to right.

    `rows`: those that are shown, empty ones among them. `tell` is called as the work goes on.
    """
    for band in _bands(rows):
        top, body, notes = _without_titles(band)
        _lines(writer, top[:-1])
        blocks = _islands(body)
        caption = _line(top[-1]) if top and len(blocks) == 1 and _is_table(blocks[0]) else ""
        if top and not caption:
            _lines(writer, top[-1:])
        for block in (part for one in blocks for part in _stacked(one)):
            if _is_table(block):
                write_table(writer, block, caption, tell=tell)
            else:
                _lines(writer, block)
        _lines(writer, notes)


def _is_table(block: Sequence[Row]) -> bool:
    """Two rows and columns at least, and not so sparse that its empty places are most of the work."""
    columns = {column for row in block for column in row}
    width = max(columns, default=0) + 1 - min(columns, default=0)
    return (
        len(block) > 1 < len(columns)
        and width <= _MAX_COLUMNS
        and len(block) * width <= _MAX_PLACES
    )


def _line(row: Row) -> str:
    return BETWEEN_CELLS.join(row[column].text for column in sorted(row))


def _lines(writer: TextWriter, rows: Sequence[Row]) -> None:
    for row in rows:
        if row:
            writer.text(_line(row))
            writer.line()
    writer.paragraph()


def _bands(rows: Sequence[Row]) -> Iterator[list[Row]]:
    """Rows between empty ones. A line of names over an empty row is the head of what follows in its columns."""
    bands: list[list[Row]] = []
    gap, covered = 2, 0
    for index, row in enumerate(rows):
        if not row and covered <= index:
            gap += 1
            continue
        if gap:
            joins = bool(bands) and gap == 1 and _is_head_of(bands[-1], row)
            if not joins:
                bands.append([])
            gap = 0
        bands[-1].append(row)
        covered = max([covered, *(index + cell.row_span for cell in row.values())])
    yield from bands


def _is_head_of(band: Sequence[Row], row: Row) -> bool:
    if len(band) != 1 or len(band[0]) < 2 or len(row) < 2:
        return False
    names = band[0]
    return (
        not any(cell.figure for cell in names.values())
        and any(cell.figure for cell in row.values())
        and set(row) <= set(names)
    )


def _without_titles(band: list[Row]) -> tuple[list[Row], list[Row], list[Row]]:
    """The titles above and the notes below: rows whose only cell stands in the first column."""
    columns = {column for row in band for column in row}
    if len(columns) < 2:
        return [], band, []
    first = min(columns)

    def alone(row: Row) -> bool:
        return len(row) == 1 and first in row and row[first].row_span == 1

    start, end = 0, len(band)
    while start < end and alone(band[start]):
        start += 1
    # A note is a few words, longer than the names in its column; a row whose values are missing is neither.
    named = (row[first].text for row in band[start:] if not alone(row) and first in row)
    longest = max(map(len, named), default=0)
    while end > start + 2 and alone(band[end - 1]) and _is_note(band[end - 1][first].text, longest):
        end -= 1
    return band[:start], band[start:end], band[end:]


def _is_note(text: str, longest: int) -> bool:
    return len(text) > longest and " " in text


def _islands(band: Sequence[Row]) -> list[list[Row]]:
    """Blocks set apart by an empty column. An empty column inside a table is one whose right side has no names of its
    own in front: a table cut there would lose the names of its rows."""
    columns: dict[int, list[SheetCell]] = {}
    for index, row in enumerate(band):
        for column, cell in row.items():
            below = columns.setdefault(column, [])
            if index:
                below.append(cell)
            for place in range(column + 1, column + min(cell.column_span, _MAX_COLUMNS)):
                columns.setdefault(place, [])
    cuts = [
        right
        for left, right in pairwise(sorted(columns))
        if right > left + 1 and _has_names(columns[right])
    ]
    if not cuts or len(cuts) > _MAX_BESIDE:
        return [list(band)]
    blocks: list[list[Row]] = [[] for _ in range(len(cuts) + 1)]
    for row in band:
        parts: list[dict[int, SheetCell]] = [{} for _ in blocks]
        for column, cell in row.items():
            parts[bisect(cuts, column)][column] = cell
        for block, part in zip(blocks, parts, strict=True):
            block.append(part)
    return [_trimmed(block) for block in blocks]


def _stacked(block: list[Row]) -> list[list[Row]]:
    """The tables of a block that stand one under the other: each begins with names of its own for the columns."""
    first = block[0] if block else {}
    if len(block) < _MIN_STACKED or len(first) < 2 or not _is_head(first):
        return [block]
    columns = sorted({column for row in block for column in row})
    typed = [column for column in columns[1:] if _is_typed(block[1:], column)]
    strong = _is_strong(first) and not _is_strong(block[1])
    names = [cell.text.casefold() for cell in first.values()]
    starts = [0]
    for index in range(2, len(block) - 1):
        row, below = block[index], block[index + 1]
        if len(row) < 2 or not _is_head(row) or not any(column in row for column in typed):
            continue
        said = [cell.text.casefold() for cell in row.values()]
        if said == names or len(set(said)) < len(said):
            continue
        over = [column for column in typed if column in row and column in below]
        figures = [column for column in over if below[column].figure]
        marked = strong and _is_strong(row) and not _is_strong(below)
        again = min(row) == min(first) and said[0] == names[0]
        if figures and (marked or again or (len(figures) > 1 and len(figures) == len(typed))):
            starts.append(index)
    return [block[start:end] for start, end in pairwise([*starts, len(block)])]


def _is_strong(row: Row) -> bool:
    return bool(row) and all(cell.strong for cell in row.values())


def _trimmed(block: list[Row]) -> list[Row]:
    start, end = 0, len(block)
    while start < end and not block[start]:
        start += 1
    while end > start and not block[end - 1]:
        end -= 1
    return block[start:end]


def _has_names(cells: Sequence[SheetCell]) -> bool:
    named = sum(1 for cell in cells if not cell.figure)
    return not cells or 2 * named > len(cells)


def write_table(
    writer: TextWriter,
    block: Sequence[Row],
    caption: str = "",
    known: int | None = None,
    tell: Callable[[], None] = unheard,
) -> None:
    """One table. `known`: how many of its rows are heads, where that is said; else it is told from the cells."""
    block = [*block]
    while block and not block[0]:
        del block[0]
    if not block:
        return
    columns = sorted({column for row in block for column in row})
    heads = heads_of(block, columns) if known is None else known
    named = 1 if heads < len(block) and _names_rows(block[heads:], columns[0]) else 0
    covered: dict[int, int] = {}
    writer.begin_table(caption)
    for index, row in enumerate(block):
        if index % _TELL_EVERY == 0:
            tell()
        writer.begin_row()
        column = columns[0]
        while column <= columns[-1]:
            cell = row.get(column, _NOTHING)
            # A place that a merged cell holds has none of its own.
            if cell is _NOTHING and covered.get(column, 0) > index:
                column += 1
                continue
            is_head = cell is not _NOTHING and (index < heads or column < columns[0] + named)
            wide = min(cell.column_span, columns[-1] + 1 - column)
            writer.begin_cell(is_head, cell.row_span, wide, cell.address, cell.strong, cell.indent)
            writer.text(cell.text)
            writer.end_cell()
            if cell.row_span > 1:
                covered |= dict.fromkeys(range(column, column + wide), index + cell.row_span)
            column += wide
        writer.end_row()
    writer.end_table()


def heads_of(block: Sequence[Row], columns: Sequence[int]) -> int:
    """How many of the first rows are heads: names over columns of figures, or set apart; 0 where that is not sure."""
    first = block[0]
    if not _is_head(first) or len(block) < 2 or _is_form(block, columns[0]):
        return 0
    count = max(1, *(cell.row_span for cell in first.values()))
    while (
        count < min(_MAX_HEAD_ROWS, len(block) - 1)
        and _is_head(block[count])
        and (
            any(cell.column_span > 1 for cell in block[count - 1].values())
            or _is_units(block, count, columns[0])
        )
    ):
        count += 1
    if count >= len(block):
        return 0
    body = block[count:]
    if any(_is_typed(body, column) for column in columns if _name_over(block[:count], column)):
        return count
    strong = all(cell.strong for cell in first.values())
    if strong and not all(cell.strong for row in body for cell in row.values()):
        return count
    # Nothing but names: the first row counts if it names every column, and nothing below says the same.
    names = [cell.text.casefold() for cell in first.values()]
    below = {cell.text.casefold() for row in body for cell in row.values()}
    full = len(first) == len(columns) and len(set(names)) == len(names)
    return count if full and len(body) > 1 and below.isdisjoint(names) else 0


def _is_form(block: Sequence[Row], first: int) -> bool:
    """Whether the first column asks and the others answer: names with a colon, the first row's too."""
    asked = [row[first].text for row in block if first in row]
    colons = [text.rstrip().endswith(":") for text in asked]
    return bool(colons) and colons[0] and first in block[0] and 2 * sum(colons) > len(colons)


def _is_units(block: Sequence[Row], at: int, first: int) -> bool:
    """Whether a row goes on with the heads: it has no name, and stands over figures."""
    row = block[at]
    below = block[at + 1 :]
    return first not in row and bool(below) and all(_is_typed(below, column) for column in row)


def _is_head(row: Row) -> bool:
    """Names, and years or quarters beside them."""
    cells = list(row.values())
    return bool(cells) and all(
        len(cell.text) <= _HEAD_CHARS and (not cell.figure or _YEAR.fullmatch(cell.text))
        for cell in cells
    )


def _name_over(heads: Sequence[Row], column: int) -> bool:
    return any(at <= column < at + cell.column_span for row in heads for at, cell in row.items())


def _is_typed(body: Sequence[Row], column: int) -> bool:
    cells = [row[column] for row in body if column in row]
    figures = sum(1 for cell in cells if cell.figure and not _YEAR.fullmatch(cell.text))
    return bool(cells) and 2 * figures > len(cells)


def _names_rows(body: Sequence[Row], column: int) -> bool:
    """Whether the first column tells the rows apart by names or by codes."""
    cells = [row[column] for row in body if column in row]
    named = [cell.text.casefold() for cell in cells if not cell.figure]
    return 2 * len(named) > len(cells) and 10 * len(set(named)) >= 9 * len(named)

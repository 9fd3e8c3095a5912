"""Tables that go on over pages: the same columns, and the same heads again or none."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from services.retriever.documents import Table
from services.retriever.parsing.pdf.page import PageText
from services.retriever.places import FULL
from services.text.tables import Grid

# What may stand below a table that goes on: its notes.
_NOTES_CHARS = 300
_NOTES = re.compile(r"\s*(?:$|[(\[*\u2020\u2021]|note|source|continued|\d{1,4}\s*$)", re.IGNORECASE)
_CONTINUED = re.compile(r"\bcont(?:inued|'d|\u2019d|\.)", re.IGNORECASE)
_TITLE_CHARS = 120
_CLOSE = FULL // 100  # Of the page's width: where the figures of one column end.


@dataclass
class _Part:
    """What one part of a table must share with the next: its heads as they read, and where its columns end."""

    columns: int
    heads: tuple[tuple[int, int, str], ...]
    ends: dict[int, int]


def tables(pages: Sequence[tuple[PageText, int]]) -> tuple[Table, ...]:
    """The tables of a document, given its pages and where each begins in its text; one for all parts of a table.

    A part without heads that belongs to no table is left out: nobody can say what its columns are. It stays text.
    """
    found: list[Table] = []
    open_part: _Part | None = None
    title = ""
    for page, start in pages:
        above, open_part = open_part, None
        title_above, title = title, ""
        for at, table in enumerate(page.tables):
            part = _part(page, table)
            first = at == 0 and _is_first(page.text[: table.char_start], title_above)
            if first and above is not None and _goes_on(above, part):
                found[-1] = _joined(found[-1], table.moved(start))
                part = replace(part, heads=above.heads, ends=above.ends | part.ends)
            elif table.head_rows or table.columns == 2:
                found.append(table.moved(start))
            else:
                continue
            below = page.text[table.char_end :]
            if at + 1 == len(page.tables) and len(below) <= _NOTES_CHARS and _NOTES.match(below):
                open_part = part
                title = page.text[: page.tables[0].char_start]
        if not page.text.strip():
            open_part, title = above, title_above  # An empty page between.
    return tuple(found)


def _is_first(before: str, title: str) -> bool:
    """Whether nothing but the page's head, or the table's title again, stands above a table."""
    words = " ".join(before.split())
    if not words or (len(words) <= _TITLE_CHARS and _CONTINUED.search(words)):
        return True
    return len(words) <= _TITLE_CHARS and words.casefold() in " ".join(title.split()).casefold()


def _part(page: PageText, table: Table) -> _Part:
    grid = Grid(table, page.text)
    heads = tuple((cell.column, cell.column_span, grid.say(cell).casefold()) for cell in grid.heads)
    ends: dict[int, int] = {}
    for cell in table.cells:
        if cell.row >= table.head_rows and cell.column and cell.column_span == 1:
            rights = page.boxes[4 * cell.char_start + 2 : 4 * cell.char_end : 4]
            ends[cell.column] = max(ends.get(cell.column, 0), *rights, 0)
    return _Part(table.columns, heads, ends)


def _goes_on(above: _Part, part: _Part) -> bool:
    if above.columns != part.columns:
        return False
    if part.heads:
        return part.heads == above.heads
    shared = above.ends.keys() & part.ends.keys()
    return len(shared) == part.columns - 1 and all(
        abs(above.ends[column] - part.ends[column]) <= _CLOSE for column in shared
    )


def _joined(table: Table, part: Table) -> Table:
    """One table of both; heads that the second says again are text on its page and nothing more."""
    rows = max(cell.row + cell.row_span for cell in table.cells) - part.head_rows
    return replace(
        table,
        char_end=part.char_end,
        cells=(
            *table.cells,
            *(
                replace(cell, row=cell.row + rows)
                for cell in part.cells
                if cell.row >= part.head_rows
            ),
        ),
    )

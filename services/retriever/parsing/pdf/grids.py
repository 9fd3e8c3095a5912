"""What a table finder finds on a page: cells in rows and columns, each a list of pdfium's characters."""

from collections.abc import Sequence
from dataclasses import dataclass

from services.retriever.parsing.pdf.words import Word, is_money, is_tail


@dataclass(frozen=True)
class GridCell:
    """One cell. `glyphs` are indices of the page's characters in reading order, -1 a space between two words."""

    row: int
    column: int
    glyphs: tuple[int, ...]
    row_span: int = 1
    column_span: int = 1


@dataclass(frozen=True)
class Grid:
    """One table, in points on the page as shown. Without heads (head_rows 0) it may go on from the page before."""

    left: float
    top: float
    right: float
    bottom: float
    rows: int
    columns: int
    head_rows: int
    head_columns: int
    cells: tuple[GridCell, ...]
    edges: tuple[float, ...] = ()
    """Where each column ends, for tables that go on over pages."""


def glyphs_of(words: Sequence[Word]) -> tuple[int, ...]:
    """The characters of words, a space between two of them; none beside a currency or a percent sign."""
    found: list[int] = []
    for at, word in enumerate(words):
        before = words[at - 1].text if at else ""
        if at and not (is_money(before) or is_tail(word.text) or before.endswith("-")):
            found.append(-1)
        found += word.glyphs
    return tuple(found)

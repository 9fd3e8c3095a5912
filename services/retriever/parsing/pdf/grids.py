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
    raised: frozenset[int] = frozenset()
    """Those of its characters that stand above the line: marks of footnotes, exponents."""


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


def cell_of(
    row: int, column: int, words: Sequence[Word], row_span: int = 1, column_span: int = 1
) -> GridCell:
    """A cell of words in reading order: a space between two of them, none beside a currency or a percent sign."""
    glyphs: list[int] = []
    raised: list[int] = []
    for at, word in enumerate(words):
        before = words[at - 1] if at else None
        if before is not None and not _is_attached(before, word):
            glyphs.append(-1)
        if before is not None and _is_raised(before, word):
            raised += word.glyphs
        glyphs += word.glyphs
    return GridCell(row, column, tuple(glyphs), row_span, column_span, frozenset(raised))


def _is_attached(before: Word, word: Word) -> bool:
    if is_money(before.text) or is_tail(word.text) or before.text.endswith("-"):
        return True
    touches = abs(word.left - before.right) < 0.12 * before.size
    return touches and min(before.bottom, word.bottom) > max(before.top, word.top)


def _is_raised(before: Word, word: Word) -> bool:
    """A footnote mark or an exponent: smaller than what it follows, and above its line."""
    return (
        word.size < 0.85 * before.size
        and word.bottom < before.bottom - 0.1 * before.size
        and word.left - before.right < 0.5 * before.size
        and word.bottom > before.top
    )

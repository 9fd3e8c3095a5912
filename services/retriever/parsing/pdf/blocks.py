"""Rows of a page that may be one table: from figures to figures, as far as one can see."""

import re
from collections.abc import Sequence
from itertools import pairwise

from services.retriever.parsing.pdf.words import YEAR, Piece, Row

# Between rows of a table, of the size of the letters; the wider one where as many columns go on as before.
_ROW_GAP, _WIDE_GAP = 3.2, 6.0
_SURE_COLUMNS = 3


def _figures(row: Row) -> list[Piece]:
    return [piece for piece in row.pieces if piece.is_value]


def _is_years(row: Row) -> bool:
    """A row of years and nothing else, or beside the name of a unit: heads, not figures."""
    figures = [piece for piece in _figures(row) if any(char.isdigit() for char in piece.text)]
    others = [piece for piece in row.pieces if not piece.is_value]
    if not figures or not all(YEAR.fullmatch(piece.text) for piece in figures):
        return False
    if any(piece.before for piece in figures) or len(figures) < len(_figures(row)):
        return False
    if not others:
        return True
    years = [int(re.sub(r"\D", "", piece.text)[-4:]) for piece in figures]
    if _count_on(years):
        return True
    return any(piece.left > figures[0].left for piece in others)


def _count_on(years: Sequence[int]) -> bool:
    """Whether years follow one another, up or down, once or again from the first on: 2023 2022 2023 2022."""
    again = next((at for at in range(2, len(years)) if years[at] == years[0]), len(years))
    steps = {one - other for one, other in pairwise(years[:again])}
    repeats = all(year == years[at % again] for at, year in enumerate(years))
    return repeats and len(steps) == 1 and steps <= {1, -1}


def is_data(row: Row) -> bool:
    figures = [piece for piece in row.pieces[1:] if piece.is_value]
    return bool(figures) and not _is_years(row)


def blocks(rows: Sequence[Row]) -> list[tuple[int, int]]:
    """Ranges of rows from a first row of figures to behind a last one, in one table as far as one can see."""
    found: list[tuple[int, int]] = []
    at = 0
    while at < len(rows):
        if not is_data(rows[at]):
            at += 1
            continue
        first, last = at, at
        left = min(piece.left for piece in _figures(rows[at]) if piece is not rows[at].pieces[0])
        at += 1
        while at < len(rows):
            row = rows[at]
            gap = row.top - rows[at - 1].bottom
            if gap > _ROW_GAP * row.size and not (
                gap <= _WIDE_GAP * row.size and _stands_as(rows[last], rows[at:])
            ):
                break
            if is_data(row):
                last = at
                own = [piece.left for piece in row.pieces[1:] if piece.is_value]
                left = min(left, *own)
            elif _names_group(row, left):
                pass
            elif _is_years(row) or _crosses(row, left) or at - last > 5:
                break
            at += 1
        found.append((first, last + 1))
        at = last + 1
    return found


def _stands_as(above: Row, rows: Sequence[Row]) -> bool:
    """Whether the next figures below a gap, with nothing but a name before them, end where those above it do."""
    below = next((row for row in rows[:2] if is_data(row)), None)
    if below is None or any(len(row.pieces) > 1 for row in rows[: rows.index(below)]):
        return False
    ends, others = (
        [piece.right for piece in _figures(row) if piece is not row.pieces[0]]
        for row in (above, below)
    )
    return (
        len(ends) == len(others) >= _SURE_COLUMNS
        and above.pieces[0].left - below.pieces[0].left < 3 * below.size
        and all(abs(a - b) < below.size for a, b in zip(ends, others, strict=True))
    )


def _names_group(row: Row, left: float) -> bool:
    """A year that stands alone among the names: the title of the rows below it."""
    return len(row.pieces) == 1 and _is_years(row) and row.pieces[0].right < left - row.size


def _crosses(row: Row, left: float) -> bool:
    """Words that run from the names into the figures: prose, or the heads of another table."""
    return any(piece.right > left + piece.size for piece in row.pieces)

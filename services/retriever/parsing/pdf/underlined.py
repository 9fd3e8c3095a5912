"""Tables whose rows have lines between them that are drawn cell by cell: where all of them end, columns do.

Nothing is drawn down, above the heads or below the last row. Every column has a head, and no word stands over a border.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from services.retriever.parsing.pdf import ruled
from services.retriever.parsing.pdf.grids import Grid
from services.retriever.parsing.pdf.rules import Rules
from services.retriever.parsing.pdf.words import Row, Word, is_money, is_value, rows_of

MAX_LINES = 1_500
_NEAR = 1.5  # Points between ends that meet.
_SPACE = 0.45  # Of the letters' size: the most between two words of one text.
_CLOSE = 0.5  # Of the letters' size: the most between two lines of one cell.


@dataclass
class _Stack:
    """Lines across with the same ends: `xs` from the left of the table to its right."""

    xs: list[float]
    ys: list[float]


def find(words: Sequence[Word], rules: Rules) -> list[Grid]:
    """The tables of a page that is drawn like this."""
    if len(rules.across) > MAX_LINES:
        return []
    return [grid for stack in _stacks(rules, words) if (grid := _grid(stack, words)) is not None]


def _stacks(rules: Rules, words: Sequence[Word]) -> list[_Stack]:
    lines = _lines(rules)
    pieces = [piece for row in rows_of(words, Rules()) for piece in row.pieces] if lines else []
    found: list[_Stack] = []
    for y, xs in lines:
        beside = [stack for stack in found if stack.xs[0] < xs[-1] and stack.xs[-1] > xs[0]]
        above = beside[-1] if beside else None
        if (
            above is not None
            and _same(above.xs, xs)
            and not any(
                above.ys[-1] < (piece.top + piece.bottom) / 2 < y and _crosses(piece.words, xs)
                for piece in pieces
            )
        ):
            above.ys.append(y)
        else:
            found.append(_Stack(xs, [y]))
    return [stack for stack in found if len(stack.ys) > 1]


def _lines(rules: Rules) -> list[tuple[float, list[float]]]:
    """Lines across made of pieces that meet: their height and the ends of the pieces."""
    found: list[tuple[float, list[float]]] = []
    rows: list[list[tuple[float, float, float]]] = []
    for line in sorted(rules.across):
        if rows and line[0] - rows[-1][0][0] <= 1.0:
            rows[-1].append(line)
        else:
            rows.append([line])
    for row in rows:
        pieces = sorted({(round(left, 1), round(right, 1)) for _, left, right in row})
        xs: list[float] = []
        for left, right in pieces:
            if xs and abs(left - xs[-1]) <= _NEAR:
                xs.append(right)
            elif not xs or left > xs[-1]:
                if len(xs) > 2:
                    found.append((row[0][0], xs))
                xs = [left, right]
            elif abs(right - xs[-1]) > _NEAR or abs(left - xs[-2]) > _NEAR:
                xs = []
                break
        if len(xs) > 2:
            found.append((row[0][0], xs))
    return found


def _same(one: Sequence[float], other: Sequence[float]) -> bool:
    return len(one) == len(other) and all(
        abs(a - b) <= _NEAR for a, b in zip(one, other, strict=True)
    )


def _crosses(words: Sequence[Word], xs: Sequence[float]) -> bool:
    """Whether words of a row run over the end of a column: one of them, or two with no more than a space between."""
    if any(word.left < x - 2 and word.right > x + 2 for word in words for x in xs):
        return True
    return any(
        before.right <= x + 2
        and word.left >= x - 2
        and word.left - before.right < _SPACE * word.size
        for before, word in pairwise(words)
        for x in xs
    )


def _grid(stack: _Stack, words: Sequence[Word]) -> Grid | None:
    xs, ys = stack.xs, stack.ys
    mine = [word for word in words if word.right > xs[0] and word.left < xs[-1]]
    inside = [word for word in mine if ys[0] < word.middle < ys[-1]]
    if not inside:
        return None
    # What a row has above its words, at the most, the rows at the ends have as well.
    pads = [
        min(word.top for word in band) - y
        for y, below in pairwise(ys)
        if (band := [word for word in inside if y < word.middle < below])
    ]
    pad = max(pads) + 2.0
    heads = _run([row for row in _rows(mine) if row.middle < ys[0]][::-1], ys[0], xs, pad)
    last = _run([row for row in _rows(mine) if row.middle > ys[-1]], ys[-1], xs, pad)
    if not heads or not _is_full(heads, xs):
        return None
    top = min(row.top for row in heads) - 1.0
    bottom = max((row.bottom for row in last), default=ys[-1] - 1.0) + 1.0
    levels = [top, *ys] if not last else [top, *ys, bottom]
    across = [(y, xs[0], xs[-1]) for y in levels]
    down = [(x, top, bottom) for x in xs]
    grid = ruled.grid(across, down, mine, parted=True)
    return grid if grid is not None and grid.head_rows == 1 else None


def _rows(words: Sequence[Word]) -> list[Row]:
    return rows_of(words, Rules())


def _run(rows: Sequence[Row], edge: float, xs: Sequence[float], pad: float) -> list[Row]:
    """The rows next to a line, from it away, up to a gap or to words that stand over a border."""
    found: list[Row] = []
    for row in rows:
        gap = max(row.top - edge, edge - row.bottom)
        most = pad if not found else _CLOSE * row.size
        if gap > most or _crosses(row.words, xs):
            break
        found.append(row)
        edge = row.bottom if row.middle > edge else row.top
    return found


def _is_full(heads: Sequence[Row], xs: Sequence[float]) -> bool:
    """Whether every column has a head, in words."""
    words = [word for row in heads for word in row.words]
    if any(is_money(word.text) or is_value(word.text) for word in words):
        return False
    return all(
        any(left - 2 <= word.left and word.right <= right + 2 for word in words)
        for left, right in pairwise(xs)
    )

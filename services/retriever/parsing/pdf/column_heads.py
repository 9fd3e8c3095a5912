"""What stands over the columns of a table: which heads belong to which of its columns."""

from collections.abc import Sequence
from itertools import pairwise

from services.retriever.parsing.pdf import head_levels
from services.retriever.parsing.pdf.heads import UNIT, Column, Head, Unsure, is_unit
from services.retriever.parsing.pdf.rules import Rules
from services.retriever.parsing.pdf.words import YEAR, Piece, Row, Word, is_figure

_HOLE = 2.0  # Points between the ends of two lines that do not meet.


def find(
    above: Sequence[Row],
    columns: Sequence[Column],
    left: float,
    edge: float,
    rules: Rules,
    bottom: float,
) -> tuple[list[Head], list[Word], int]:
    """What stands over each column, and over the names; and how many of the rows are a title above them."""
    heads: list[Head] = []
    stub: list[Word] = []
    skipped = 0
    # From the figures up: a head stands over what is below it, heads included.
    wide = [Column(c.left, c.right, c.outer_left, c.outer_right, c.pieces) for c in columns]
    for index, row in reversed(list(enumerate(above))):
        below = above[index + 1].top if index + 1 < len(above) else bottom
        if _is_caption(row, columns, left):
            skipped = index + 1
            break
        names = [p for p in row.pieces if p.right <= edge and not columns_under(p, wide)]
        stub = [word for piece in names for word in piece.all] + stub
        over = [piece for piece in row.pieces if not any(piece is name for name in names)]
        placed = _placed(over, index, wide, rules, below) if over else []
        for head in placed:
            if head.first == head.last:
                column = wide[head.first]
                column.outer_left = min(column.outer_left, *(word.left for word in head.words))
                column.outer_right = max(column.outer_right, *(word.right for word in head.words))
        heads += placed
    return head_levels.levelled(head_levels.merged(heads, wide, rules)), stub, skipped


def tell_apart(heads: Sequence[Head], percents: Sequence[bool]) -> bool:
    """Whether every column has a head, the one column any, and no two have the same ones, unless one of the two is of
    percentages. Two heads of the same words tell columns of percentages apart, for they follow what they are of, but no
    others."""
    if len(percents) == 1:
        return bool(heads)
    over = [
        tuple(
            at
            for at, head in enumerate(heads)
            if head.first <= column <= head.last and not is_unit(head)
        )
        for column in range(len(percents))
    ]
    said = [
        tuple(tuple(word.text for word in heads[at].words) for at in column)
        for column, percent in zip(over, percents, strict=True)
        if not percent
    ]
    return (
        all(over)
        and len(set(zip(over, percents, strict=True))) == len(percents)
        and len(set(said)) == len(said)
    )


def _is_caption(row: Row, columns: Sequence[Column], left: float) -> bool:
    """A line in the middle of the table, names included, and not in the middle of its columns: its title."""
    if len(row.pieces) != 1:
        return False
    piece = row.pieces[0]
    middle, right = (piece.left + piece.right) / 2, columns[-1].outer_right
    off = abs(middle - (columns[0].outer_left + right) / 2)
    return abs(middle - (left + right) / 2) < 0.03 * (right - left) < off and off > 2 * piece.size


def columns_under(piece: Piece, columns: Sequence[Column]) -> list[int]:
    return [i for i, c in enumerate(columns) if c.overlap(piece.outer_left, piece.outer_right) > 0]


def _placed(
    over: Sequence[Piece],
    row: int,
    columns: Sequence[Column],
    rules: Rules,
    below: float,
) -> list[Head]:
    """The pieces of one line of heads, each over its columns. Raises Unsure where that is not plain."""
    found: list[Head] = []
    if any(
        piece.is_value and is_figure(piece.text) and not YEAR.fullmatch(piece.text)
        for piece in over
    ):
        raise Unsure  # A figure is no head.
    ranges = _nearest(over, columns, _breaks(over, rules, below))
    for at, piece in enumerate(over):
        hit = columns_under(piece, columns)
        span = _ruled_span(piece, over, columns, rules, below)
        if span is None:
            if len(over) == 1 and UNIT.fullmatch(piece.text) and _is_central(piece, hit, columns):
                span = (0, len(columns) - 1)
            elif (
                len(hit) == 1
                and _fits(piece, columns, hit[0])
                and _is_own(piece, over, columns, hit[0])
            ):
                span = (hit[0], hit[0])
            else:
                span = _centred(piece, ranges[at], hit, columns)
        if span is None:
            raise Unsure
        found.append(Head(*span, row, row, piece.all))
    for one, other in pairwise(sorted(found, key=lambda head: head.first)):
        if other.first <= one.last:
            raise Unsure
    return found


def _is_central(piece: Piece, hit: Sequence[int], columns: Sequence[Column]) -> bool:
    middle = (piece.left + piece.right) / 2
    left, right = columns[0].outer_left, columns[-1].outer_right
    return len(hit) != 1 or abs(middle - (left + right) / 2) < 0.1 * (right - left)


def _slot(columns: Sequence[Column], at: int) -> tuple[float, float]:
    """From the middle of the gap before a column to the middle of the one behind it."""
    left = (
        (columns[at - 1].outer_right + columns[at].outer_left) / 2
        if at
        else columns[at].outer_left - 60
    )
    right = (
        (columns[at].outer_right + columns[at + 1].outer_left) / 2
        if at + 1 < len(columns)
        else columns[at].outer_right + 60
    )
    return left, right


def _fits(piece: Piece, columns: Sequence[Column], at: int) -> bool:
    left, right = _slot(columns, at)
    return left <= (piece.left + piece.right) / 2 <= right


def _is_own(piece: Piece, over: Sequence[Piece], columns: Sequence[Column], at: int) -> bool:
    """No other piece of the line is over that column, and it is no title of several columns."""
    return sum(columns[at].overlap(other.outer_left, other.outer_right) > 0 for other in over) == 1


def _breaks(over: Sequence[Piece], rules: Rules, below: float) -> list[float]:
    """Where all lines that are drawn next to a line of heads end, with a hole before the next: no head goes over it but
    one that stands there."""
    top, size = min(piece.top for piece in over), over[0].size
    near = sorted(
        (left, right)
        for y, left, right in rules.across
        if top - size <= y <= max(below, *(piece.bottom for piece in over)) + 0.35 * size
    )
    found: list[float] = []
    end = near[0][1] if near else 0.0
    for left, right in near:
        if left > end + _HOLE:
            found.append((end + left) / 2)
        end = max(end, right)
    return [x for x in found if not any(piece.left < x < piece.right for piece in over)]


def _nearest(
    over: Sequence[Piece], columns: Sequence[Column], breaks: Sequence[float]
) -> list[list[int]]:
    """Each column goes to the piece nearest to it, of those on its side of the breaks where there are any."""
    ranges: list[list[int]] = [[] for _ in over]
    for at, column in enumerate(columns):
        distances = [
            (
                sum((column.centre < x) != ((piece.left + piece.right) / 2 < x) for x in breaks),
                max(0.0, column.outer_left - piece.right, piece.left - column.outer_right),
                abs(column.centre - (piece.left + piece.right) / 2),
                i,
            )
            for i, piece in enumerate(over)
        ]
        apart, *_, nearest = min(distances)
        if not apart:
            ranges[nearest].append(at)
    return ranges


def _centred(
    piece: Piece, near: Sequence[int], hit: Sequence[int], columns: Sequence[Column]
) -> tuple[int, int] | None:
    """The run of columns that the piece stands over the middle of; None if there is none, or two as good."""
    if not near or (hit and not set(hit) <= set(near)):
        return None
    middle = (piece.left + piece.right) / 2
    choices = []
    for first in near:
        for last in near:
            if first > last or (hit and not (first <= hit[0] and last >= hit[-1])):
                continue
            left, right = columns[first].outer_left, columns[last].outer_right
            off = abs(middle - (left + right) / 2)
            choices.append((off, first, last))
    choices.sort()
    if not choices:
        return None
    off, first, last = choices[0]
    width = columns[last].outer_right - columns[first].outer_left
    if off > max(1.2 * piece.size, 0.08 * width):
        return None
    if len(choices) > 1 and choices[1][0] < off + 1.0 * piece.size:
        whole = (near[0], near[-1])
        rival = next((c for c in choices[:3] if (c[1], c[2]) == whole), None)
        if rival is None or rival[0] > max(1.2 * piece.size, 0.08 * width):
            return None
        return whole
    return first, last


def _ruled_span(
    piece: Piece,
    over: Sequence[Piece],
    columns: Sequence[Column],
    rules: Rules,
    below: float,
) -> tuple[int, int] | None:
    """The columns over the line that is drawn under a head."""
    spans = []
    for y, left, right in rules.across:
        if not piece.bottom - 0.4 * piece.size <= y <= max(below, piece.bottom) + 0.35 * piece.size:
            continue
        if not (left - 2 <= piece.left and piece.right <= right + 2):
            continue
        if any(
            other is not piece and left <= (other.left + other.right) / 2 <= right for other in over
        ):
            continue
        under = [i for i, c in enumerate(columns) if left - 2 <= c.centre <= right + 2]
        middle = (piece.left + piece.right) / 2
        if (
            under
            and all(columns[i].left >= left - 4 and columns[i].right <= right + 4 for i in under)
            and abs(middle - (left + right) / 2) <= max(1.2 * piece.size, 0.08 * (right - left))
        ):
            spans.append((right - left, under[0], under[-1]))
    return max(spans)[1:] if spans else None

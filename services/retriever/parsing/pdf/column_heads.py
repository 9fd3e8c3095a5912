"""What stands over the columns of a table: which heads belong to which of its columns."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from services.retriever.parsing.pdf.rules import Rules
from services.retriever.parsing.pdf.words import YEAR, Piece, Row, Word, is_figure

UNIT = re.compile(
    r"\(?\s*(?:all |amounts? |dollars? |figures |expressed |stated |u\.?s\.? |[$\u20ac\u00a3] ?|millions|thousands|"
    r"in |except |% of )[^.]{0,80}\)?:?|\(?(?:un)?audited\)?",
    re.IGNORECASE,
)


class Unsure(Exception):
    """Something stands where no reader could say what it belongs to."""


@dataclass
class Column:
    """A column of figures or of words. `left` and `right` are its figures'; the outer ones take in their signs."""

    left: float
    right: float
    outer_left: float
    outer_right: float
    pieces: int = 0

    @property
    def centre(self) -> float:
        return (self.outer_left + self.outer_right) / 2

    def take(self, piece: Piece) -> None:
        self.left, self.right = min(self.left, piece.left), max(self.right, piece.right)
        self.outer_left = min(self.outer_left, piece.outer_left)
        self.outer_right = max(self.outer_right, piece.outer_right)
        self.pieces += 1

    def overlap(self, left: float, right: float) -> float:
        return min(self.outer_right, right) - max(self.outer_left, left)


@dataclass
class Head:
    """A head over columns first..last; `row` is the line it begins on, `end` the last."""

    first: int
    last: int
    row: int
    end: int
    words: list[Word]
    level: int = 0


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
    return _levelled(_merged(heads, wide, rules)), stub, skipped


def tell_apart(heads: Sequence[Head], percents: Sequence[bool]) -> bool:
    """Whether every column has a head, and no two have the same ones, unless one of the two is of percentages. Two
    heads of the same words tell columns of percentages apart, for they follow what they are of, but no others."""
    over = [
        tuple(
            at
            for at, head in enumerate(heads)
            if head.first <= column <= head.last and not _is_unit(head)
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
    ranges = _nearest(over, columns)
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


def _nearest(over: Sequence[Piece], columns: Sequence[Column]) -> list[list[int]]:
    """Each column goes to the piece nearest to it."""
    ranges: list[list[int]] = [[] for _ in over]
    for at, column in enumerate(columns):
        distances = [
            (
                max(0.0, column.outer_left - piece.right, piece.left - column.outer_right),
                abs(column.centre - (piece.left + piece.right) / 2),
                i,
            )
            for i, piece in enumerate(over)
        ]
        ranges[min(distances)[2]].append(at)
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


def _merged(heads: list[Head], columns: Sequence[Column], rules: Rules) -> list[Head]:
    """Lines of one head put together: the same columns, one under the other, no line between.

    Raises Unsure for a head of one column over another of the same column: the upper one may be the title of several.
    """
    found: list[Head] = []
    for head in sorted(heads, key=lambda head: (head.row, head.first)):
        before = next(
            (
                one
                for one in reversed(found)
                if (one.first, one.last) == (head.first, head.last)
                and not any(
                    other.first <= head.last
                    and other.last >= head.first
                    and one.end < other.row < head.row
                    for other in heads
                )
            ),
            None,
        )
        if (
            before is not None
            and min(word.top for word in head.words) - max(word.bottom for word in before.words)
            < 0.4 * head.words[0].size
            and not _is_unit(head)
            and not _is_unit(before)
            and not _is_ruled_off(before, head, columns, rules)
        ):
            before.words += head.words
            before.end = head.row
        else:
            single = before is not None and head.first == head.last
            if before is not None and single and not _is_unit(before) and not _is_unit(head):
                _widen(before, heads, columns)
            found.append(head)
    return found


def _widen(head: Head, heads: Sequence[Head], columns: Sequence[Column]) -> None:
    """A head of one column with a head of that column below it may be the title of several: those that have nothing
    else on its line and in whose middle it stands. Raises Unsure where there are two ways."""
    covered = {
        at
        for other in heads
        if other is not head and other.row <= head.end and other.end >= head.row
        for at in range(other.first, other.last + 1)
    }
    low = high = head.first
    while low - 1 >= 0 and low - 1 not in covered:
        low -= 1
    while high + 1 < len(columns) and high + 1 not in covered:
        high += 1
    middle = (min(word.left for word in head.words) + max(word.right for word in head.words)) / 2
    size = head.words[0].size
    ways = []
    for first in range(low, head.first + 1):
        for last in range(head.first, high + 1):
            others = [other for other in heads if other is not head]
            if first < last and all(_nests(first, last, other) for other in others):
                left, right = columns[first].outer_left, columns[last].outer_right
                off = abs(middle - (left + right) / 2) / max(0.8 * size, 0.05 * (right - left))
                ways.append((off, first, last))
    ways.sort()
    if ways and ways[0][0] <= 1 and not (len(ways) > 1 and ways[1][0] <= 1):
        _, head.first, head.last = ways[0]
    elif ways and ways[0][0] < 2:
        raise Unsure


def _is_unit(head: Head) -> bool:
    return UNIT.fullmatch(" ".join(word.text for word in head.words)) is not None


def _is_ruled_off(above: Head, head: Head, columns: Sequence[Column], rules: Rules) -> bool:
    """Whether a line is drawn between two heads of the same columns."""
    top = max(word.middle for word in above.words)
    bottom = min(word.middle for word in head.words)
    centre = (columns[head.first].outer_left + columns[head.last].outer_right) / 2
    return any(top < y < bottom and left <= centre <= right for y, left, right in rules.across)


def _nests(first: int, last: int, head: Head) -> bool:
    """Whether two runs of columns lie apart, or one in the other."""
    apart = last < head.first or head.last < first
    inside = first <= head.first and head.last <= last
    return apart or inside or (head.first <= first and last <= head.last)


def _levelled(heads: list[Head]) -> list[Head]:
    """Levels from the top: below every head over the same columns."""
    if not all(_nests(head.first, head.last, other) for head in heads for other in heads):
        raise Unsure
    for head in sorted(heads, key=lambda head: head.row):
        head.level = 1 + max(
            (
                other.level
                for other in heads
                if other is not head
                and other.end < head.row
                and other.first <= head.last
                and other.last >= head.first
            ),
            default=-1,
        )
    return heads

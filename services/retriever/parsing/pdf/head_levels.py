"""Heads of several lines put together, and the level of each: below every head over the same columns."""

from collections.abc import Sequence

from services.retriever.parsing.pdf.heads import Column, Head, Unsure, is_unit
from services.retriever.parsing.pdf.rules import Rules


def merged(heads: list[Head], columns: Sequence[Column], rules: Rules) -> list[Head]:
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
            and not is_unit(head)
            and not is_unit(before)
            and not _is_ruled_off(before, head, columns, rules)
        ):
            before.words += head.words
            before.end = head.row
        else:
            single = before is not None and head.first == head.last
            if before is not None and single and not is_unit(before) and not is_unit(head):
                _widen(before, heads, columns)
            found.append(head)
    for head in found:
        if head.first == head.last and _is_within(head, found):
            _widen(head, found, columns)
            if _is_within(head, found):
                raise Unsure
    return found


def _is_within(head: Head, heads: Sequence[Head]) -> bool:
    """Whether a head below goes over more columns than it, and not all of these have a head beside it: then it stands
    over all of them, or it is no head."""
    beside = {
        column
        for other in heads
        if other.row <= head.end and other.end >= head.row
        for column in range(other.first, other.last + 1)
    }
    return not is_unit(head) and any(
        other.row > head.end
        and other.first <= head.first
        and head.last <= other.last
        and other.last - other.first > head.last - head.first
        and not beside.issuperset(range(other.first, other.last + 1))
        and not is_unit(other)
        for other in heads
    )


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


def levelled(heads: list[Head]) -> list[Head]:
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

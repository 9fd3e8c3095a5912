"""Where paragraphs begin among the lines of a page."""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from statistics import median
from typing import Protocol

from services.retriever.parsing.pdf.columns import SENTENCE_ENDS
from services.retriever.parsing.pdf.rows import Row
from services.retriever.parsing.pdf.segments import Segment

_BULLETS = frozenset("•◦▪▸‣●○■□\u2013\u2014*·\uf0b7\uf0a7")
_OWN_STEPS = 5  # Lines from which a block's own distance of lines counts.
_WIDEST = 3.0  # Times the size: lines further apart are never of one paragraph.
_FULL = 0.8  # Of its column's width: a line that was broken where the column ends.


class Lined(Protocol):
    """What is to be known of a line. `area` is not negative for a part of the page that is no text."""

    @property
    def row(self) -> Row: ...
    @property
    def size(self) -> float: ...
    @property
    def bold(self) -> bool: ...
    @property
    def area(self) -> int: ...


def begin(blocks: Sequence[Sequence[Lined]], continues: Sequence[bool]) -> list[bool]:
    """For each line of the blocks, whether a paragraph begins with it.

    `continues[i]`: block i is the next column of what block i - 1 belongs to.
    """
    found: list[bool] = []
    steps = [_steps(block) for block in blocks]
    usual = median(step for block in steps for step in block) if any(steps) else 0.0
    above: Lined | None = None
    full = False  # The last line of the block before.
    for block, own, goes_on in zip(blocks, steps, continues, strict=True):
        step = median(own) if len(own) >= _OWN_STEPS else usual
        for index, line in enumerate(block):
            if above is None or above.area >= 0 or line.area >= 0:
                found.append(True)
            elif index:
                found.append(_breaks(above, line, step))
            else:
                found.append(not (goes_on and _goes_on(above, line, full)))
            above = line
        rows = [line.row for line in block if line.row]
        if rows:
            right = max(segment.x1 for row in rows for segment in row)
            left = min(segment.x0 for row in rows for segment in row)
            end = max(segment.x1 for segment in rows[-1])
            full = end - left > _FULL * (right - left)
    return found


def _steps(lines: Sequence[Lined]) -> list[float]:
    mains = [_main(line.row) for line in lines if line.area < 0]
    return [
        below.baseline - above.baseline
        for above, below in pairwise(mains)
        if _same_size(above.size, below.size) and below.baseline > above.baseline
    ]


def _main(row: Row) -> Segment:
    return row[0] if len(row) == 1 else max(row, key=lambda segment: len(segment.text))


def _breaks(above: Lined, line: Lined, usual: float) -> bool:
    """Whether a paragraph begins with a line of the same block."""
    first, last = _edge(line.row[0].text), _edge(reversed(above.row[-1].text))
    if not _same_size(above.size, line.size) or above.bold != line.bold or first in _BULLETS:
        return True
    step = _main(line.row).baseline - _main(above.row).baseline
    if step <= 0:
        # Up again, in lines that stay as they were drawn. A sentence may go on there.
        return not first.islower()
    if step > min(usual + 0.45 * line.size, _WIDEST * line.size):
        return True
    indent = line.row[0].x0 - above.row[0].x0
    return last in SENTENCE_ENDS and 0.9 * line.size < indent < 6 * line.size


def _goes_on(above: Lined, line: Lined, full: bool) -> bool:
    """Whether a sentence goes on from the end of one column to the top of the next."""
    first, last = _edge(line.row[0].text), _edge(reversed(above.row[-1].text))
    if not _same_size(above.size, line.size) or above.bold != line.bold or first in _BULLETS:
        return False
    return last not in SENTENCE_ENDS and (first.islower() or (full and first.isalnum()))


def _edge(chars: Iterable[str]) -> str:
    return next((char for char in chars if char > " "), " ")


def _same_size(size: float, other: float) -> bool:
    return abs(size - other) <= 0.1 * max(size, other)

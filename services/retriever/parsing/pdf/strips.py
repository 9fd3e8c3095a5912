"""A page from top to bottom: what stands side by side on it, and the size of its type."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from services.retriever.parsing.pdf.page import PageText
from services.retriever.places import FULL
from services.text.tables import Table


@dataclass(frozen=True)
class Strip:
    """What stands side by side; a table has no lines."""

    lines: tuple[int, ...]
    top: float
    bottom: float


def body_size(pages: Sequence[PageText]) -> float:
    """The size of most characters, in points."""
    sizes: Counter[float] = Counter()
    for page in pages:
        for line in page.lines:
            sizes[line.size] += line.end - line.start
    return max(sizes, key=sizes.__getitem__, default=0.0)


def strips(page: PageText) -> list[Strip]:
    """The page from top to bottom: lines that stand side by side, and tables; without sideways text and stamps."""
    upright = [at for at, line in enumerate(page.lines) if not line.aside]
    upright.sort(key=lambda at: (page.lines[at].top + page.lines[at].bottom, page.lines[at].left))
    found = [_table_strip(page, table) for table in page.tables]
    row: list[int] = []
    middle = 0.0
    for at in upright:
        line = page.lines[at]
        centre = (line.top + line.bottom) / 2
        if row and centre - middle >= 0.5 * (line.bottom - line.top):
            found.append(_line_strip(page, row))
            row = []
        if not row:
            middle = centre
        row.append(at)
    if row:
        found.append(_line_strip(page, row))
    return sorted(found, key=lambda strip: strip.top)


def _line_strip(page: PageText, row: Sequence[int]) -> Strip:
    lines = [page.lines[at] for at in row]
    return Strip(tuple(row), min(line.top for line in lines), max(line.bottom for line in lines))


def _table_strip(page: PageText, table: Table) -> Strip:
    boxes = page.boxes[4 * table.char_start : 4 * table.char_end]
    tops = [top for top, bottom in zip(boxes[1::4], boxes[3::4], strict=True) if bottom]
    height = page.size[1] / FULL
    return Strip((), min(tops, default=0) * height, max(boxes[3::4], default=0) * height)

"""A page's text put together anew from parts of itself, with everything that points into it: boxes, lines, tables."""

from array import array
from collections.abc import Sequence
from dataclasses import replace

from services.retriever.documents import Table
from services.retriever.parsing.pdf.page import PageText

Part = tuple[int, int] | str
"""A slice of the page's text, or characters that stand nowhere on the page."""


def compose(page: PageText, parts: Sequence[Part]) -> PageText:
    """The page with the text that the parts give one after the other. Lines that no part has are gone.

    A table's cells must all be in one part, or in parts that keep their order.
    """
    text: list[str] = []
    boxes = array("H")
    moved = array("i", [-1]) * (len(page.text) + 1)
    length = 0
    for part in parts:
        if isinstance(part, str):
            text.append(part)
            boxes.extend([0] * (4 * len(part)))
            length += len(part)
            continue
        start, end = part
        text.append(page.text[start:end])
        boxes.extend(page.boxes[4 * start : 4 * end])
        for at in range(start, end):
            moved[at] = length + at - start
        length += end - start
    # An end is behind its last character.
    lines = [
        replace(line, start=moved[line.start], end=moved[_last(line.start, line.end, moved)] + 1)
        for line in page.lines
        if moved[line.start] >= 0
    ]
    return replace(
        page,
        text="".join(text),
        boxes=boxes,
        lines=tuple(sorted(lines, key=lambda line: line.start)),
        tables=tuple(_moved(table, moved) for table in page.tables),
        uncertain=_kept(page.uncertain, moved),
        addresses=_kept(page.addresses, moved),
    )


def _kept(spans: Sequence[tuple[int, int]], moved: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """What is left of spans, where it stands now."""
    return tuple(
        (moved[first], moved[_last(first, end, moved)] + 1)
        for start, end in spans
        for first in [at for at in range(start, end) if moved[at] >= 0][:1]
    )


def _last(start: int, end: int, moved: Sequence[int]) -> int:
    """The last character of start..end that is still there."""
    last = max(start, end - 1)
    while last > start and moved[last] < 0:
        last -= 1
    return last


def _moved(table: Table, moved: Sequence[int]) -> Table:
    def place(span: tuple[int, int]) -> tuple[int, int]:
        start, end = span
        if start == end:
            # Of an empty cell: beside the character before it that is still there.
            before = start - 1
            while before >= 0 and moved[before] < 0:
                before -= 1
            at = moved[before] + 1 if before >= 0 else 0
            return at, at
        return moved[start], moved[_last(start, end, moved)] + 1

    cells = []
    for cell in table.cells:
        start, end = place((cell.char_start, cell.char_end))
        cells.append(replace(cell, char_start=start, char_end=end))
    start, end = place((table.char_start, table.char_end))
    return replace(
        table,
        char_start=start,
        char_end=end,
        cells=tuple(cells),
        caption=place(table.caption) if table.caption and moved[table.caption[0]] >= 0 else None,
        unit=place(table.unit) if table.unit and moved[table.unit[0]] >= 0 else None,
    )

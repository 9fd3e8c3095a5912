"""Tables of Word documents: their cells by row and column, and which of them are no data."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from services.retriever.parsing.office import grid
from services.retriever.parsing.office.package import Element, attribute, child, name_of, whole

INSIDE = frozenset(("sdt", "sdtContent", "customXml", "ins", "moveTo", "smartTag"))
"""Elements around blocks that are read: content controls, and what was inserted under tracked changes."""
_LONG_CELL = 600  # Characters, on average: a table that only arranges the page.
_MAX_SPAN = 1_000
_OFF = ("0", "false", "off")


def rows_of(table: Element) -> Iterator[Element]:
    """Without those that were deleted under tracked changes."""
    return (row for row in inside(table, "tr") if child(row, "trPr", "del") is None)


def cells_of(row: Element) -> Iterator[Element]:
    return inside(row, "tc")


def inside(parent: Element, name: str) -> Iterator[Element]:
    """The children of that name, also those in content controls and in what was inserted."""
    for one in parent:
        found = name_of(one)
        if found == name:
            yield one
        elif found in INSIDE:
            yield from inside(one, name)


def arranges(rows: Sequence[Element], is_heading: Callable[[Element], bool]) -> bool:
    """Whether a table is no data but a way to set a page: one row or column, or headings, tables or long text in it."""
    cells = [cell for row in rows for cell in cells_of(row)]
    if len(rows) < 2 or len(cells) <= len(rows):
        return True
    blocks = [block for cell in cells for block in cell]
    if any(
        name_of(block) == "tbl" or (name_of(block) == "p" and is_heading(block)) for block in blocks
    ):
        return True
    length = sum(len(text) for cell in cells for text in cell.itertext())
    return length > _LONG_CELL * len(cells)


def cells_by_place(
    rows: Sequence[Element], read: Callable[[Element], tuple[str, bool]]
) -> tuple[list[dict[int, grid.SheetCell]], int]:
    """The cells of each row by column, and how many rows are marked as heads. `read` gives a cell's text, and whether
    all of it is bold; it is called for each cell once, in order."""
    found: list[dict[int, grid.SheetCell]] = []
    above: dict[
        int, tuple[int, int]
    ] = {}  # By column, the cell that is merged downwards through it.
    heads = 0
    for index, row in enumerate(rows):
        properties = child(row, "trPr")
        heads += heads == index and _is_on(child(properties, "tblHeader"))
        cells: dict[int, grid.SheetCell] = {}
        column = _count(child(properties, "gridBefore"), 0)
        for cell in cells_of(row):
            own = child(cell, "tcPr")
            span = max(1, _count(child(own, "gridSpan"), 1))
            merged = child(own, "vMerge")
            if merged is not None and attribute(merged, "val") != "restart" and column in above:
                _lengthen(found, above[column], index)
            else:
                text, strong = read(cell)
                if text:
                    figure = grid.looks_like_figure(text)
                    cells[column] = grid.SheetCell(text, figure, strong, "", 1, span)
                above.pop(column, None)
                if merged is not None:
                    above[column] = (index, column)
            column += span
        found.append(cells)
    return found, heads


def _lengthen(found: list[dict[int, grid.SheetCell]], place: tuple[int, int], row: int) -> None:
    """Merges a cell down to a row."""
    at, column = place
    top = found[at].get(column)
    if top is not None:
        found[at][column] = replace(top, row_span=row + 1 - at)


def _is_on(element: Element | None) -> bool:
    return element is not None and attribute(element, "val", "1") not in _OFF


def _count(element: Element | None, default: int) -> int:
    return max(0, whole(attribute(element, "val"), default, _MAX_SPAN))

"""A table of a page as text: a line for each row, its cells with strokes between them."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from services.retriever.parsing import marks
from services.retriever.parsing.pdf.grids import Grid, GridCell
from services.retriever.parsing.pdf.segments import HYPHEN
from services.retriever.parsing.text import LINE_HYPHEN

BETWEEN_CELLS = " | "


@dataclass
class TableText:
    """Raw characters and the glyph that each of them is (-1: none); where each cell of the grid stands among them."""

    chars: list[str] = field(default_factory=list)
    sources: list[int] = field(default_factory=list)
    cells: list[tuple[GridCell, int, int]] = field(default_factory=list)

    def add(self, text: str, source: int = -1) -> None:
        self.chars += text
        self.sources += [source] * len(text)


def write(grid: Grid, chars: Sequence[str]) -> TableText:
    """The text of a grid. A cell without words leaves its place, a merged one stands at its first."""
    found = TableText()
    by_row: dict[int, list[GridCell]] = {}
    for cell in grid.cells:
        by_row.setdefault(cell.row, []).append(cell)
    for row, cells in sorted(by_row.items()):
        if row != min(by_row):
            found.add("\n")
        column = 0
        for at, cell in enumerate(sorted(cells, key=lambda cell: cell.column)):
            empty = cell.column - column
            if at or empty:
                found.add(BETWEEN_CELLS.lstrip() if not at else BETWEEN_CELLS)
            for _ in range(empty - (1 if at == 0 else 0)):
                found.add("| ")
            start = len(found.chars)
            _cell(cell, chars, found)
            found.cells.append((cell, start, len(found.chars)))
            column = cell.column + cell.column_span
    return found


def _cell(cell: GridCell, chars: Sequence[str], found: TableText) -> None:
    start, at = len(found.chars), 0
    while at < len(cell.glyphs):
        glyph = cell.glyphs[at]
        if glyph in cell.raised:
            run = at
            while run < len(cell.glyphs) and cell.glyphs[run] in cell.raised:
                run += 1
            glyphs = cell.glyphs[at:run]
            before = "".join(found.chars[start:])
            after = "".join(_char(other, chars) for other in cell.glyphs[run : run + 40])
            written = marks.raised(before, "".join(chars[other] for other in glyphs), after)
            for index, char in enumerate(written):
                found.add(char, glyphs[min(index, len(glyphs) - 1)])
            at = run
            continue
        found.add(_char(glyph, chars), glyph)
        at += 1


def _char(glyph: int, chars: Sequence[str]) -> str:
    if glyph < 0:
        return " "
    return LINE_HYPHEN if chars[glyph] == HYPHEN else chars[glyph]

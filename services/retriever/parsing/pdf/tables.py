"""Tables of a PDF page as grids of cells, each cell a list of pdfium's characters.

Three finders: `ruled` reads the cells that lines draw; `underlined` rows with lines between them that end where columns
do; `aligned` figures that stand in columns under heads. All give nothing where they are not sure: a table read as plain
lines costs an answer, a wrong pairing makes a false one.
"""

from collections.abc import Sequence

from services.retriever.parsing.pdf import aligned, ruled, underlined
from services.retriever.parsing.pdf.glyphs import Glyphs
from services.retriever.parsing.pdf.grids import Grid
from services.retriever.parsing.pdf.rules import Rules
from services.retriever.parsing.pdf.words import Word, rows_of, words_of

# A page with more is a sheet of small print or a drawing; looking for tables is bounded by it.
MAX_WORDS = 20_000
_MOST_ABOVE = 40  # Words of a page's head.
_PROSE_WORDS = 4
_PROSE_LINES = 6


def find(glyphs: Glyphs, unseen: Sequence[int], rules: Rules) -> list[Grid]:
    """The tables of a page, from top to bottom. `unseen[i]` says that nobody sees character i."""
    words = words_of(glyphs, unseen)
    if len(words) > MAX_WORDS:
        return []
    found = ruled.find(words, rules)
    found += underlined.find(_outside(words, found), rules)
    free = _outside(words, found)
    for part in _columns_of_text(free, rules):
        found += aligned.find(rows_of(part, rules), rules)
    found.sort(key=lambda grid: (grid.top, grid.left))
    return [grid for grid in found if grid.head_rows or grid.columns == 2 or _is_first(grid, words)]


def _is_first(grid: Grid, words: Sequence[Word]) -> bool:
    """Little stands above a table without heads: it may go on from the page before."""
    return sum(word.bottom <= grid.top for word in words) <= _MOST_ABOVE


def without(grids: Sequence[Grid], glyphs: Glyphs, unseen: Sequence[int]) -> bytearray:
    """`unseen`, and the characters that tables have; leader dots and strokes between their cells as well."""
    flags = bytearray(unseen)
    for grid in grids:
        for cell in grid.cells:
            for glyph in cell.glyphs:
                if glyph >= 0:
                    flags[glyph] = 1
    if not grids:
        return flags
    width, height = glyphs.frame.size
    for glyph, char in enumerate(glyphs.chars):
        if flags[glyph] or char.isalnum() or char <= " ":
            continue
        box = glyphs.frame.shown(glyphs.box(glyph))
        x, y = (box.left + box.right) / 2 * width, (box.top + box.bottom) / 2 * height
        if any(grid.left <= x <= grid.right and grid.top <= y <= grid.bottom for grid in grids):
            flags[glyph] = 1
    return flags


def _outside(words: Sequence[Word], grids: Sequence[Grid]) -> list[Word]:
    return [word for word in words if not any(_inside(word, grid) for grid in grids)]


def _inside(word: Word, grid: Grid) -> bool:
    x = (word.left + word.right) / 2
    return grid.left < x < grid.right and grid.top < word.middle < grid.bottom


def _columns_of_text(words: Sequence[Word], rules: Rules) -> list[list[Word]]:
    """The words of each column of text, where a page is set in two; a table is looked for in each alone."""
    lines = [piece for row in rows_of(words, rules) for piece in row.pieces]
    prose = [piece for piece in lines if len(piece.words) >= _PROSE_WORDS]
    if not prose:
        return [list(words)]
    left, right = min(p.left for p in lines), max(p.right for p in lines)
    best, gutter = 0, 0.0
    for edge in {round(piece.left) for piece in prose if piece.left > left + 0.25 * (right - left)}:
        x = edge - 2.0
        before = sum(piece.right <= x for piece in prose)
        behind = sum(piece.left >= x for piece in prose)
        crossing = sum(piece.left < x < piece.right for piece in prose)
        least = min(before, behind)
        if least >= max(best + 1, _PROSE_LINES) and crossing <= 0.34 * (before + behind):
            best, gutter = least, x
    if not best:
        return [list(words)]
    over = _merged(
        [(p.top, p.bottom) for p in lines if p.left < gutter < p.right] + _between(rules, gutter)
    )
    parts: list[list[Word]] = []
    current: dict[str, list[Word]] = {}
    at = 0
    for word in sorted(words, key=lambda word: word.middle):
        while at < len(over) and over[at][1] < word.middle:
            at += 1
        if at < len(over) and over[at][0] <= word.middle <= over[at][1]:
            side = "over"
        else:
            side = "left" if (word.left + word.right) / 2 < gutter else "right"
        if current and (side == "over") != ("over" in current):
            parts += current.values()
            current = {}
        current.setdefault(side, []).append(word)
    return [*parts, *current.values()]


def _between(rules: Rules, gutter: float) -> list[tuple[float, float]]:
    """From the first to the last of the lines that cross the gutter with the same ends: a table as wide as the page."""
    groups: dict[tuple[int, int], list[float]] = {}
    for y, left, right in rules.across:
        if left < gutter - 20 and right > gutter + 20:
            groups.setdefault((round(left / 4), round(right / 4)), []).append(y)
    return [(min(ys), max(ys)) for ys in groups.values() if len(ys) > 1]


def _merged(ranges: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    found: list[tuple[float, float]] = []
    for top, bottom in sorted(ranges):
        if found and top <= found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], bottom)
        else:
            found.append((top, bottom))
    return found

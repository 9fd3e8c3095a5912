"""Tables without cells drawn around: figures that stand under one another, names to their left, heads above them."""

from collections.abc import Sequence
from contextlib import suppress
from itertools import pairwise
from statistics import median

from services.retriever.parsing.groups import Look, set_apart
from services.retriever.parsing.pdf import blocks, body, column_heads
from services.retriever.parsing.pdf.body import Line
from services.retriever.parsing.pdf.grids import Grid, GridCell, cell_of
from services.retriever.parsing.pdf.heads import UNIT, Column, Head, Unsure
from services.retriever.parsing.pdf.rules import Rules
from services.retriever.parsing.pdf.words import (
    YEAR,
    Piece,
    Row,
    Word,
    is_figure,
    is_leader,
    is_money,
)

MAX_COLUMNS = 40
_MAX_HEAD_ROWS = 9
_MANY_PAGES = 8
# Of the size of the figures: a wider gap, or larger letters, and what is above is no head of the table.
_HEAD_GAP, _HEADING = 1.2, 1.2


def find(rows: Sequence[Row], rules: Rules) -> list[Grid]:
    """The tables among the rows of a page, or of one of its columns of text."""
    found: list[Grid] = []
    start = 0
    for first, last in blocks.blocks(rows):
        try:
            grid = _table(rows, start, first, last, rules)
        except Unsure:
            grid = None
        if grid is not None:
            found.append(grid)
        start = last
    return found


def _table(rows: Sequence[Row], start: int, first: int, last: int, rules: Rules) -> Grid | None:
    inner = rows[first:last]
    data = [row for row in inner if blocks.is_data(row)]
    if len(data) < 2:
        return None
    every, columns = _columns(data)
    if len(every) > len(columns):
        # A column of one figure is one if it has a head of its own, as all others do.
        with suppress(Unsure):
            grid = _under_heads(rows, start, first, last, rules, data, every)
            if grid is not None and grid.head_rows:
                return grid
    return _under_heads(rows, start, first, last, rules, data, columns) if columns else None


def _under_heads(
    rows: Sequence[Row],
    start: int,
    first: int,
    last: int,
    rules: Rules,
    data: Sequence[Row],
    columns: Sequence[Column],
) -> Grid | None:
    inner = rows[first:last]
    edge = min(column.outer_left for column in columns)
    lines = body.lines(inner, columns, edge)
    figures = [line for line in lines if line.cells]
    named = [line for line in figures if line.label]
    if len(figures) < 2 or len(named) < 0.6 * len(figures):
        return None
    # More names without figures than with: blocks of lines, such as addresses, whose rows nobody can tell.
    if sum(line.title for line in lines) > 0.6 * len(figures) + 2:
        raise Unsure
    _plausible(figures, columns)
    left = min(line.left for line in named)
    size = median(row.size for row in data)
    usual = median(max(0.0, below.top - above.bottom) for above, below in pairwise(inner))
    head_from, head_to = _above(rows, start, first, columns, left, edge, size, usual)
    heads, stub, skipped = column_heads.find(
        rows[head_from:head_to], columns, left, edge, rules, rows[first].top
    )
    lines = body.lines(rows[head_to:last], columns, edge)
    if heads and not column_heads.tell_apart(heads, _percents(figures, len(columns))):
        raise Unsure
    if not heads and len(columns) == 1 and not _stands_alone(figures):
        return None
    return _grid(rows[head_from + skipped : last], heads, stub, lines, columns)


def _columns(data: Sequence[Row]) -> tuple[list[Column], list[Column]]:
    """Columns by what overlaps: figures of one column stand over one another, those of two never do. All of them, and
    those that more than one row has a figure in, if there are more than two rows."""
    figures = [piece for row in data for piece in row.pieces[1:] if piece.is_value]
    columns = _overlapping(figures)
    for row in data:
        taken: set[int] = set()
        for piece in row.pieces[1:]:
            if piece.is_value:
                at = next(i for i, c in enumerate(columns) if c.left <= piece.left <= c.right + 0.1)
                if at in taken:
                    raise Unsure
                taken.add(at)
    if len(columns) > MAX_COLUMNS:
        raise Unsure
    # A figure that stands alone in its column may be a figure in the text, or a mark.
    shared = [column for column in columns if column.pieces >= 2 or len(data) <= 2]
    return _with_words(data, columns), _with_words(data, shared)


def _with_words(data: Sequence[Row], columns: Sequence[Column]) -> list[Column]:
    """The columns, and those of words beside them."""
    if not columns:
        return []
    words = [
        piece
        for row in data
        for piece in row.pieces
        if not piece.is_value and piece is not row.pieces[0]
    ]
    texts = [
        column
        for column in _overlapping(
            [p for p in words if not any(c.overlap(p.left, p.right) > 0 for c in columns)]
        )
        if column.pieces >= 2
    ]
    return sorted([*columns, *texts], key=lambda column: column.left)


def _overlapping(pieces: Sequence[Piece]) -> list[Column]:
    columns: list[Column] = []
    for piece in sorted(pieces, key=lambda piece: piece.left):
        if columns and piece.left <= columns[-1].right:
            columns[-1].take(piece)
        else:
            columns.append(Column(piece.left, piece.right, piece.outer_left, piece.outer_right, 1))
    return columns


def _plausible(figures: Sequence[Line], columns: Sequence[Column]) -> None:
    """Raises where the figures are thin or the rows are prose."""
    filled = sum(len(line.cells) for line in figures)
    if filled < 0.4 * len(figures) * len(columns):
        raise Unsure
    pieces = [piece for line in figures for piece in line.cells.values()]
    if sum(any(char.isalnum() for char in piece.text) for piece in pieces) < 0.5 * len(pieces):
        raise Unsure
    if _are_contents(figures):
        raise Unsure
    # Names apart from one another beside the figures: columns of words whose lines nobody tells apart.
    if sum(line.parts > 1 for line in figures) > 0.3 * len(figures):
        raise Unsure
    names = [line.label for line in figures if line.label]
    if median(len(name) for name in names) > 18:
        raise Unsure
    # Figures for names: half of a table, cut where its other half begins.
    plain = [_is_value(name) for name in names]
    if sum(plain) > 0.5 * len(plain):
        raise Unsure
    # Lines of a text beside figures go on in lower case, or are set in another size.
    if sum(name[0].text[0].islower() for name in names) > 0.3 * len(names) + 1:
        raise Unsure
    size = median(name[0].size for name in names)
    other = median(piece.size for piece in pieces)
    if not 0.85 < size / other < 1.18:
        raise Unsure


def _is_value(name: Sequence[Word]) -> bool:
    words = [word.text for word in name if not is_money(word.text)]
    return len(words) == 1 and is_figure(words[0]) and not YEAR.fullmatch(words[0])


def _are_contents(figures: Sequence[Line]) -> bool:
    """Names and the pages they are on: whole numbers that never fall, or that dots lead to."""
    cells = [[piece for piece in line.cells.values() if piece.is_value] for line in figures]
    if any(len(pieces) != 1 for pieces in cells):
        return False
    pieces = [piece for (piece,) in cells]
    if not all(piece.text.isdigit() and len(piece.all) == 1 for piece in pieces):
        return False
    led = sum(
        any(is_leader(word.text) for row in line.rows for word in row.words) for line in figures
    )
    if led > 0.5 * len(figures):
        return True
    numbers = [int(piece.text) for piece in pieces]
    various = len(set(numbers)) > 0.6 * len(numbers) or len(numbers) >= _MANY_PAGES
    return numbers == sorted(numbers) and various


def _percents(figures: Sequence[Line], columns: int) -> list[bool]:
    """Which columns hold percentages: beside its change, a figure's change in percent may share its head."""
    found = []
    for column in range(columns):
        pieces = [line.cells[column] for line in figures if column in line.cells]
        signs = [any("%" in word.text for word in piece.all) for piece in pieces]
        found.append(sum(signs) > 0.8 * len(signs))
    return found


def _stands_alone(figures: Sequence[Line]) -> bool:
    """One column of sums without a head: names and amounts. Not a table of contents, whose numbers are pages."""
    if len(figures) < 3:
        return False
    pieces = [piece for line in figures for piece in line.cells.values()]
    return (
        sum(
            bool(piece.before) or "," in piece.text or "%" in piece.text or bool(piece.after)
            for piece in pieces
        )
        >= 2
    )


def _above(
    rows: Sequence[Row],
    start: int,
    first: int,
    columns: Sequence[Column],
    left: float,
    edge: float,
    size: float,
    usual: float,
) -> tuple[int, int]:
    """The rows of the heads: from the last prose, heading or wide gap (`usual` is that of the body), down to the last
    that stands over a column. Names between the heads and the figures are titles of rows."""

    def is_over(index: int) -> bool:
        return any(
            piece.right > edge or column_heads.columns_under(piece, columns)
            for piece in rows[index].pieces
        )

    at = first
    headed = False
    while at > start and first - at < _MAX_HEAD_ROWS:
        row = rows[at - 1]
        gap = rows[at].top - row.bottom
        if gap > 2.6 * size or row.size > _HEADING * size:
            break
        headed = headed or (at < first and is_over(at) and not _says_units(rows[at], edge))
        if headed and gap > max(_HEAD_GAP * size, 1.6 * usual):
            break
        if blocks.is_data(row) or _is_prose(row, left, edge, size):
            break
        at -= 1
    over = [index for index in range(at, first) if is_over(index)]
    if not over:
        titled = (
            first - 1
            if at < first and rows[first].top - rows[first - 1].bottom < 0.8 * size
            else first
        )
        return titled, titled
    return over[0], over[-1] + 1


def _says_units(row: Row, edge: float) -> bool:
    """Whether a row says in what the figures are and nothing else: what stands over it belongs to it."""
    return all(UNIT.fullmatch(piece.text) for piece in row.pieces if piece.right > edge)


def _is_prose(row: Row, left: float, edge: float, size: float) -> bool:
    """A line of a text, or a caption: it runs from the names over the figures."""
    for piece in row.pieces:
        if piece.left < (left + edge) / 2 and piece.right > edge + 3 * size:
            return True
        if len(piece.words) > 14:
            return True
    return False


def _look(line: Line) -> tuple[float, frozenset[str]]:
    """How far in a name stands, and what sets it apart."""
    size = max(word.size for word in line.label)
    marks = {f"size {size:.0f}"}
    if all(word.bold for word in line.label):
        marks.add("bold")
    if "".join(word.text for word in line.label).isupper():
        marks.add("capitals")
    return 2 * line.left / size, frozenset(marks)


def _grid(
    rows: Sequence[Row],
    heads: Sequence[Head],
    stub: Sequence[Word],
    lines: Sequence[Line],
    columns: Sequence[Column],
) -> Grid:
    levels = 1 + max((head.level for head in heads), default=-1)
    cells: list[GridCell] = []
    if stub and levels:
        cells.append(cell_of(0, 0, stub, row_span=levels))
    for head in heads:
        under = [
            other.level
            for other in heads
            if other.level > head.level and other.first <= head.last and other.last >= head.first
        ]
        cells.append(
            cell_of(
                head.level,
                head.first + 1,
                head.words,
                row_span=(min(under) if under else levels) - head.level,
                column_span=head.last - head.first + 1,
            )
        )
    titles = set_apart(
        [Look(at, line.title, *_look(line)) for at, line in enumerate(lines) if line.label]
    )
    for at, line in enumerate(lines, levels):
        if line.label:
            span = len(columns) + 1 if at - levels in titles else 1
            cells.append(cell_of(at, 0, line.label, column_span=span))
        for column, piece in sorted(line.cells.items()):
            cells.append(cell_of(at, column + 1, piece.all))
    used = [word for row in rows for word in row.words]
    return Grid(
        left=min(word.left for word in used),
        top=min(word.top for word in used),
        right=max(word.right for word in used),
        bottom=max(word.bottom for word in used),
        rows=levels + len(lines),
        columns=len(columns) + 1,
        head_rows=levels,
        head_columns=1,
        cells=tuple(sorted(cells, key=lambda cell: (cell.row, cell.column))),
        edges=tuple(column.right for column in columns),
    )

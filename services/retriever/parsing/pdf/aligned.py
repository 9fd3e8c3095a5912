"""Tables without cells drawn around: figures that stand under one another, names to their left, heads above them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median

from services.retriever.parsing.pdf import column_heads
from services.retriever.parsing.pdf.column_heads import Column, Head, Unsure
from services.retriever.parsing.pdf.grids import Grid, GridCell, cell_of
from services.retriever.parsing.pdf.rules import Rules
from services.retriever.parsing.pdf.words import YEAR, Piece, Row, Word, is_figure

MAX_COLUMNS = 40
_MAX_HEAD_ROWS = 9


@dataclass
class _Line:
    """A row of the body: its name, and a piece for some of the columns."""

    label: list[Word]
    cells: dict[int, Piece]
    rows: list[Row]
    left: float
    title: bool = False
    extra: dict[int, list[Word]] = field(default_factory=dict)


def find(rows: Sequence[Row], rules: Rules) -> list[Grid]:
    """The tables among the rows of a page, or of one of its columns of text."""
    found: list[Grid] = []
    start = 0
    for first, last in _blocks(rows):
        try:
            grid = _table(rows, start, first, last, rules)
        except Unsure:
            grid = None
        if grid is not None:
            found.append(grid)
        start = last
    return found


def _figures(row: Row) -> list[Piece]:
    return [piece for piece in row.pieces if piece.is_value]


def _is_years(row: Row) -> bool:
    """A row of years and nothing else, or beside the name of a unit: heads, not figures."""
    figures = [piece for piece in _figures(row) if any(char.isdigit() for char in piece.text)]
    others = [piece for piece in row.pieces if not piece.is_value]
    if not figures or not all(YEAR.fullmatch(piece.text) for piece in figures):
        return False
    if any(piece.before for piece in figures) or len(figures) < len(_figures(row)):
        return False
    if not others:
        return True
    years = [int(re.sub(r"\D", "", piece.text)[-4:]) for piece in figures]
    steps = {one - other for one, other in pairwise(years)}
    if len(steps) == 1 and steps <= {1, -1}:
        return True
    return any(piece.left > figures[0].left for piece in others)


def _is_data(row: Row) -> bool:
    figures = [piece for piece in row.pieces[1:] if piece.is_value]
    return bool(figures) and not _is_years(row)


def _blocks(rows: Sequence[Row]) -> list[tuple[int, int]]:
    """Ranges of rows from a first row of figures to behind a last one, in one table as far as one can see."""
    found: list[tuple[int, int]] = []
    at = 0
    while at < len(rows):
        if not _is_data(rows[at]):
            at += 1
            continue
        first, last = at, at
        left = min(piece.left for piece in _figures(rows[at]) if piece is not rows[at].pieces[0])
        at += 1
        while at < len(rows):
            row = rows[at]
            gap = row.top - rows[at - 1].bottom
            if gap > 3.2 * row.size:
                break
            if _is_data(row):
                last = at
                own = [piece.left for piece in row.pieces[1:] if piece.is_value]
                left = min(left, *own)
            elif _is_years(row) or _crosses(row, left) or at - last > 5:
                break
            at += 1
        found.append((first, last + 1))
        at = last + 1
    return found


def _crosses(row: Row, left: float) -> bool:
    """Words that run from the names into the figures: prose, or the heads of another table."""
    return any(piece.right > left + piece.size for piece in row.pieces)


def _table(rows: Sequence[Row], start: int, first: int, last: int, rules: Rules) -> Grid | None:
    body = rows[first:last]
    data = [row for row in body if _is_data(row)]
    if len(data) < 2:
        return None
    columns = _columns(data)
    if not columns:
        return None
    edge = min(column.outer_left for column in columns)
    lines = _lines(body, columns, edge)
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
    head_from, head_to = _above(rows, start, first, columns, left, edge, size)
    heads, stub, skipped = column_heads.find(
        rows[head_from:head_to], columns, left, edge, rules, rows[first].top
    )
    lines = _lines(rows[head_to:last], columns, edge)
    if heads and not column_heads.tell_apart(heads, _percents(figures, len(columns))):
        raise Unsure
    if not heads and len(columns) == 1 and not _stands_alone(figures):
        return None
    return _grid(rows[head_from + skipped : last], heads, stub, lines, columns)


def _columns(data: Sequence[Row]) -> list[Column]:
    """Columns by what overlaps: figures of one column stand over one another, those of two never do."""
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
    # A figure that stands alone in its column is a figure in the text, or a mark.
    if not columns or (any(column.pieces < 2 for column in columns) and len(data) > 2):
        columns = [column for column in columns if column.pieces >= 2]
    if not columns:
        return []
    if len(columns) > MAX_COLUMNS:
        raise Unsure
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


def _lines(body: Sequence[Row], columns: Sequence[Column], edge: float) -> list[_Line]:
    """The body's rows, names over several lines put together."""
    lines: list[_Line] = []
    for row in body:
        label: list[Word] = []
        cells: dict[int, Piece] = {}
        for piece in row.pieces:
            hit = [
                i
                for i, c in enumerate(columns)
                if c.overlap(piece.outer_left, piece.outer_right) > 0
            ]
            if not hit and piece.right <= edge + 1:
                label += piece.all
            elif (
                piece is row.pieces[0] and piece.left < edge - 2 * piece.size and not piece.is_value
            ):
                # A name may run into the columns where its row has nothing else: a title.
                if len(row.pieces) > 1 and any(columns[i].left < piece.right for i in hit):
                    raise Unsure
                label += piece.all
            elif len(hit) == 1 and hit[0] not in cells:
                cells[hit[0]] = piece
            elif not hit and not is_figure(piece.text) and not any(c.isalnum() for c in piece.text):
                continue  # A mark beside the columns.
            else:
                raise Unsure
        if cells and not any(piece.is_value for piece in cells.values()):
            raise Unsure
        left = label[0].left if label else 0.0
        lines.append(_Line(label, cells, [row], left, title=bool(label) and not cells))
    limit = max((line.label[-1].right for line in lines if line.label), default=0.0)
    return _joined(lines, limit)


def _joined(lines: list[_Line], limit: float) -> list[_Line]:
    """Names that go on over lines: "Shares issued and" / "outstanding  441"."""
    found: list[_Line] = []
    for line in _around(lines):
        above = found[-1] if found else None
        if above is not None and line.label and above.label and _goes_on(above, line, limit):
            if above.title:
                found[-1] = _Line(
                    [*above.label, *line.label],
                    line.cells,
                    [*above.rows, *line.rows],
                    above.left,
                    title=line.title,
                )
                continue
            if line.title:
                above.label += line.label
                above.rows += line.rows
                continue
        found.append(line)
    return found


def _around(lines: list[_Line]) -> list[_Line]:
    """A name on two lines with its figures between them: the figures stand in the middle of its height."""
    found: list[_Line] = []
    at = 0
    while at < len(lines):
        line = lines[at]
        if (
            0 < at < len(lines) - 1
            and found
            and not line.label
            and found[-1].title
            and lines[at + 1].title
            and line.rows[0].middle < found[-1].rows[-1].bottom + 0.3 * line.rows[0].size
            and line.rows[0].middle > lines[at + 1].rows[0].top - 0.3 * line.rows[0].size
        ):
            above, below = found.pop(), lines[at + 1]
            found.append(
                _Line(
                    [*above.label, *below.label],
                    line.cells,
                    [*above.rows, *line.rows, *below.rows],
                    above.left,
                )
            )
            at += 1
        else:
            found.append(line)
        at += 1
    return found


def _goes_on(above: _Line, line: _Line, limit: float) -> bool:
    """Whether a name goes on in the next line; the one or the other has no figures."""
    last, first = above.label[-1], line.label[0]
    gap = line.rows[0].top - above.rows[-1].bottom
    if gap > 0.6 * first.size or abs(first.size - last.size) > 0.15 * first.size:
        return False
    if not (above.title or line.title) or above.label[-1].text.endswith(":"):
        return False
    if first.text[0].islower():
        return True
    open_end = last.text.endswith((",", "-", "\u2014", "("))
    if above.title and open_end and not YEAR.fullmatch(first.text):
        return True
    # It had no room for the next word, and stands like the line it follows.
    full = last.right + 0.25 * first.size + (first.right - first.left) > limit + 0.5 * first.size
    return (
        full and above.title and last.bold == first.bold and not above.label[-1].text.endswith(".")
    )


def _plausible(figures: Sequence[_Line], columns: Sequence[Column]) -> None:
    """Raises where the figures are thin or the rows are prose."""
    filled = sum(len(line.cells) for line in figures)
    if filled < 0.4 * len(figures) * len(columns):
        raise Unsure
    pieces = [piece for line in figures for piece in line.cells.values()]
    if sum(any(char.isalnum() for char in piece.text) for piece in pieces) < 0.5 * len(pieces):
        raise Unsure
    if len(columns) == 1 and _are_pages(pieces):
        raise Unsure
    names = [line.label for line in figures if line.label]
    if median(len(name) for name in names) > 18:
        raise Unsure
    # Figures for names: half of a table, cut where its other half begins.
    plain = [len(n) == 1 and is_figure(n[0].text) and not YEAR.fullmatch(n[0].text) for n in names]
    if sum(plain) > 0.5 * len(plain):
        raise Unsure
    # Lines of a text beside figures go on in lower case, or are set in another size.
    if sum(name[0].text[0].islower() for name in names) > 0.3 * len(names) + 1:
        raise Unsure
    size = median(name[0].size for name in names)
    other = median(piece.size for piece in pieces)
    if not 0.85 < size / other < 1.18:
        raise Unsure


def _are_pages(pieces: Sequence[Piece]) -> bool:
    """Whole numbers that never fall: the pages of a table of contents."""
    texts = [piece.text for piece in pieces]
    if not all(text.isdigit() for text in texts):
        return False
    numbers = [int(text) for text in texts]
    return numbers == sorted(numbers) and len(set(numbers)) > 0.6 * len(numbers)


def _percents(figures: Sequence[_Line], columns: int) -> list[bool]:
    """Which columns hold percentages: beside its change, a figure's change in percent may share its head."""
    found = []
    for column in range(columns):
        pieces = [line.cells[column] for line in figures if column in line.cells]
        signs = [any("%" in word.text for word in piece.all) for piece in pieces]
        found.append(sum(signs) > 0.8 * len(signs))
    return found


def _stands_alone(figures: Sequence[_Line]) -> bool:
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
) -> tuple[int, int]:
    """The rows of the heads: from the last prose or a wide gap, down to the last that stands over a column. Names
    between the heads and the figures are titles of rows."""
    at = first
    while at > start and first - at < _MAX_HEAD_ROWS:
        row = rows[at - 1]
        gap = rows[at].top - row.bottom
        if gap > 2.6 * size:
            break
        if _is_data(row) or _is_prose(row, left, edge, size):
            break
        at -= 1
    over = [
        index
        for index in range(at, first)
        if any(
            piece.right > edge or column_heads.columns_under(piece, columns)
            for piece in rows[index].pieces
        )
    ]
    if not over:
        titled = (
            first - 1
            if at < first and rows[first].top - rows[first - 1].bottom < 0.8 * size
            else first
        )
        return titled, titled
    return over[0], over[-1] + 1


def _is_prose(row: Row, left: float, edge: float, size: float) -> bool:
    """A line of a text, or a caption: it runs from the names over the figures."""
    for piece in row.pieces:
        if piece.left < (left + edge) / 2 and piece.right > edge + 3 * size:
            return True
        if len(piece.words) > 14:
            return True
    return False


def _grid(
    rows: Sequence[Row],
    heads: Sequence[Head],
    stub: Sequence[Word],
    lines: Sequence[_Line],
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
    for at, line in enumerate(lines, levels):
        if line.label:
            span = len(columns) + 1 if line.title else 1
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

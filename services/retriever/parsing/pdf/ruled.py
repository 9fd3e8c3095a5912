"""Tables whose cells are drawn: lines across and down, and the words between them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median

from services.retriever.parsing.groups import Look, set_apart
from services.retriever.parsing.pdf.grids import Grid, cell_of
from services.retriever.parsing.pdf.rules import Rules
from services.retriever.parsing.pdf.words import YEAR, Row, Word, is_figure, is_value, rows_of

MAX_LINES = 1_500
MAX_ROWS, MAX_COLUMNS = 300, 40
_SNAP = 3.0
# A cell with more words holds a text: the lines are a layout, or a frame.
_MAX_CELL_WORDS = 80

Line = tuple[float, float, float]


@dataclass
class _Cell:
    row: int
    column: int
    row_span: int
    column_span: int
    words: list[Word] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)


def find(words: Sequence[Word], rules: Rules) -> list[Grid]:
    """The tables in the frames that the page draws."""
    across, down = _joined(rules.across), _joined(rules.down)
    if not (2 <= len(across) <= MAX_LINES and 2 <= len(down) <= MAX_LINES):
        return []
    found = []
    for lines_across, lines_down in _frames(across, down):
        table = grid(lines_across, lines_down, words)
        if table is not None:
            found.append(table)
    return found


def _joined(lines: Sequence[Line]) -> list[Line]:
    """Pieces of one line put together; (place, from, to)."""
    found: list[list[float]] = []
    for place, start, end in sorted(lines):
        near = [line for line in found[-40:] if place - line[0] <= 1.5]
        touching = [line for line in near if start <= line[2] + _SNAP and end >= line[1] - _SNAP]
        if touching:
            line = touching[-1]
            line[1], line[2] = min(line[1], start), max(line[2], end)
        else:
            found.append([place, start, end])
    return [(place, start, end) for place, start, end in found]


def _frames(across: Sequence[Line], down: Sequence[Line]) -> list[tuple[list[Line], list[Line]]]:
    """Lines that meet, frame by frame."""
    parent = list(range(len(across) + len(down)))

    def root(at: int) -> int:
        while parent[at] != at:
            parent[at] = parent[parent[at]]
            at = parent[at]
        return at

    for i, (y, left, right) in enumerate(across):
        for j, (x, top, bottom) in enumerate(down, len(across)):
            if left - _SNAP <= x <= right + _SNAP and top - _SNAP <= y <= bottom + _SNAP:
                parent[root(i)] = root(j)
    frames: dict[int, tuple[list[Line], list[Line]]] = {}
    for i, line in enumerate(across):
        frames.setdefault(root(i), ([], []))[0].append(line)
    for j, line in enumerate(down, len(across)):
        frames.setdefault(root(j), ([], []))[1].append(line)
    return [frame for frame in frames.values() if len(frame[0]) > 1 and len(frame[1]) > 1]


def _places(lines: Sequence[Line]) -> list[float]:
    found: list[float] = []
    for place, _, _ in sorted(lines):
        if not found or place - found[-1] > _SNAP:
            found.append(place)
    return found


def grid(
    across: Sequence[Line], down: Sequence[Line], words: Sequence[Word], parted: bool = False
) -> Grid | None:
    """The table that these lines make. `parted`: there is a line between any two rows."""
    ys, xs = _places(across), _places(down)
    if not (3 <= len(xs) <= MAX_COLUMNS + 1 and 2 <= len(ys) <= MAX_ROWS + 1):
        return None
    if any(left < xs[0] - 2 * _SNAP or right > xs[-1] + 2 * _SNAP for _, left, right in across):
        return None  # Open at a side: its outer columns are not drawn.
    inside = [
        word
        for word in words
        if xs[0] < (word.left + word.right) / 2 < xs[-1] and ys[0] < word.middle < ys[-1]
    ]
    cells = _cells(xs, ys, across, down)
    if cells is None or not _filled(cells, xs, ys, inside):
        return None
    if not parted:
        cells = _split(cells)
        if cells is None:
            return None
    cells = _without_empty_lines(cells)
    rows = max((cell.row + cell.row_span for cell in cells), default=0)
    columns = max((cell.column + cell.column_span for cell in cells), default=0)
    full = [cell for cell in cells if cell.words]
    if rows < 2 or columns < 2 or len(full) < 0.4 * len(cells):
        return None
    heads = _head_rows(cells, rows, columns)
    hidden = _hidden_rows(cells, heads)
    if rows - heads < 1 or all(hidden):
        return None
    if parted and (any(hidden) or _run_along(cells, heads)):
        return None
    for cell in _titles(cells, heads):
        cell.column_span = columns
    return Grid(
        left=xs[0],
        top=ys[0],
        right=xs[-1],
        bottom=ys[-1],
        rows=rows,
        columns=columns,
        head_rows=heads,
        head_columns=1,
        cells=tuple(
            cell_of(
                cell.row,
                cell.column,
                [word for row in cell.rows for word in row.words],
                cell.row_span,
                cell.column_span,
            )
            for cell in sorted(full, key=lambda cell: (cell.row, cell.column))
        ),
        edges=tuple(xs[1:]),
    )


def _titles(cells: Sequence[_Cell], heads: int) -> list[_Cell]:
    """The names that are set as titles of the rows below them: empty cells beside them are none."""
    rows: dict[int, list[_Cell]] = {}
    for cell in cells:
        if cell.words and cell.row >= heads:
            rows.setdefault(cell.row, []).append(cell)
    looks = [
        Look(
            row,
            len(band) == 1 and band[0].column == 0 and band[0].row_span == 1,
            2 * band[0].words[0].left / band[0].words[0].size,
            frozenset({"bold"} if all(word.bold for word in band[0].words) else ()),
        )
        for row, band in sorted(rows.items())
    ]
    return [rows[row][0] for row in set_apart(looks)]


def _cells(
    xs: Sequence[float], ys: Sequence[float], across: Sequence[Line], down: Sequence[Line]
) -> list[_Cell] | None:
    """The cells: parts of the grid with no line between them. None where one is no rectangle."""
    columns, rows = len(xs) - 1, len(ys) - 1
    walls, floors = _borders(xs, ys, across, down)
    owner = [[-1] * columns for _ in range(rows)]
    cells: list[_Cell] = []
    for row in range(rows):
        for column in range(columns):
            if owner[row][column] >= 0:
                continue
            wide = high = 1
            while column + wide < columns and not walls[row][column + wide - 1]:
                wide += 1
            while row + high < rows and not any(floors[row + high - 1][column : column + wide]):
                high += 1
            for r in range(row, row + high):
                if any(walls[r][column : column + wide - 1]):
                    return None
                for c in range(column, column + wide):
                    if owner[r][c] >= 0:
                        return None
                    owner[r][c] = len(cells)
            cells.append(_Cell(row, column, high, wide))
    return cells


def _borders(
    xs: Sequence[float], ys: Sequence[float], across: Sequence[Line], down: Sequence[Line]
) -> tuple[list[list[bool]], list[list[bool]]]:
    """For each part of the grid whether a line is drawn on its right, and below it."""
    columns, rows = len(xs) - 1, len(ys) - 1
    walls = [[False] * columns for _ in range(rows)]
    floors = [[False] * columns for _ in range(rows)]
    for x, top, bottom in down:
        at = _nearest(xs, x) - 1
        for row in range(rows) if 0 <= at < columns else ():
            walls[row][at] = walls[row][at] or top <= (ys[row] + ys[row + 1]) / 2 <= bottom
    for y, left, right in across:
        at = _nearest(ys, y) - 1
        for column in range(columns) if 0 <= at < rows else ():
            middle = (xs[column] + xs[column + 1]) / 2
            floors[at][column] = floors[at][column] or left <= middle <= right
    return walls, floors


def _nearest(places: Sequence[float], place: float) -> int:
    return min(range(len(places)), key=lambda at: abs(places[at] - place))


def _filled(
    cells: Sequence[_Cell], xs: Sequence[float], ys: Sequence[float], inside: Sequence[Word]
) -> bool:
    """Puts every word into its cell; False where one lies over a border, or a cell holds a text."""
    over = 0
    for word in inside:
        x = (word.left + word.right) / 2
        for cell in cells:
            left, right = xs[cell.column], xs[cell.column + cell.column_span]
            if left <= x <= right and ys[cell.row] <= word.middle <= ys[cell.row + cell.row_span]:
                over += word.left < left - 2 or word.right > right + 2
                cell.words.append(word)
                break
        if over:
            return False
    for cell in cells:
        if len(cell.words) > _MAX_CELL_WORDS:
            return False
        cell.rows = rows_of(cell.words, Rules())
    return True


def _split(cells: list[_Cell]) -> list[_Cell] | None:
    """Rows that no line parts: several figures under one another in the cells of one drawn row.

    None where figures stand under one another and the rows cannot be told.
    """
    found: list[_Cell] = []
    added = 0
    for at in sorted({cell.row for cell in cells}):
        band = [cell for cell in cells if cell.row == at]
        columns = [c for c in band if c.words and c.row_span == 1]
        figures = [c for c in columns if len(c.rows) > 1 and _is_figures(c)]
        if not figures or len(columns) < 2:
            found += [
                _Cell(c.row + added, c.column, c.row_span, c.column_span, c.words, c.rows)
                for c in band
            ]
            continue
        lines = max(figures, key=lambda c: len(c.rows)).rows
        if any(c.row_span > 1 or c.column_span > 1 for c in band):
            return None
        for cell in band:
            parts: list[list[Row]] = [[] for _ in lines]
            current = -1
            for row in cell.rows:
                hit = next(
                    (
                        i
                        for i, line in enumerate(lines)
                        if abs(line.middle - row.middle) < 0.4 * row.size
                    ),
                    None,
                )
                if hit is None and (cell in figures or current < 0):
                    return None
                current = current if hit is None else hit
                parts[current].append(row)
            for line, rows in enumerate(parts):
                words = [word for row in rows for word in row.words]
                found.append(_Cell(at + added + line, cell.column, 1, 1, words, rows))
        added += len(lines) - 1
    return found


def _is_figures(cell: _Cell) -> bool:
    return all(
        any(is_value(word.text) for word in row.words) and len(row.words) <= 3 for row in cell.rows
    )


def _without_empty_lines(cells: list[_Cell]) -> list[_Cell]:
    """Rows and columns in which no cell begins with words are no rows and columns: they are gaps between lines."""
    rows = sorted({cell.row for cell in cells if cell.words})
    columns = sorted({cell.column for cell in cells if cell.words})
    row_at = {row: at for at, row in enumerate(rows)}
    column_at = {column: at for at, column in enumerate(columns)}
    found = []
    for cell in cells:
        if cell.row not in row_at or cell.column not in column_at:
            continue
        high = sum(cell.row <= row < cell.row + cell.row_span for row in rows)
        wide = sum(cell.column <= column < cell.column + cell.column_span for column in columns)
        found.append(
            _Cell(row_at[cell.row], column_at[cell.column], high, wide, cell.words, cell.rows)
        )
    return found


def _head_rows(cells: Sequence[_Cell], rows: int, columns: int) -> int:
    """How many rows are heads; 0 where nothing tells them from the body."""
    start = 0
    while start < rows - 1:
        row = [cell for cell in cells if cell.row == start and cell.words]
        if len(row) == 1 and row[0].column_span == columns:
            start += 1
        else:
            break
    first = [cell for cell in cells if cell.row == start and cell.words]
    end = max((cell.row + cell.row_span for cell in first), default=start + 1)
    if any(cell.column_span > 1 for cell in first):
        end = max(end, start + 2)
    if end < rows and _are_heads(cells, start, end):
        return end
    # Of names and values without heads the first column says it all.
    return start if columns == 2 else 0


def _hidden_rows(cells: Sequence[_Cell], heads: int) -> list[bool]:
    """For each row whether all of its cells hold as many lines: rows that no line parts, and that no figures tell
    apart."""
    bands: dict[int, list[int]] = {}
    for cell in cells:
        if cell.row >= heads and cell.words:
            bands.setdefault(cell.row, []).append(len(cell.rows))
    return [len(band) > 1 and min(band) == max(band) > 1 for band in bands.values()]


def _run_along(cells: Sequence[_Cell], heads: int) -> bool:
    """Whether two cells of a row have three lines or more: lines that may be rows."""
    long = [cell.row for cell in cells if cell.row >= heads and len(cell.rows) > 2]
    return len(set(long)) < len(long)


def _are_heads(cells: Sequence[_Cell], start: int, end: int) -> bool:
    heads = [cell for cell in cells if start <= cell.row < end and cell.words]
    body = [cell for cell in cells if cell.row >= end and cell.words]
    if not body or any(_is_number(cell) for cell in heads):
        return False
    bold = sum(all(word.bold for word in cell.words) for cell in body)
    if all(word.bold for cell in heads for word in cell.words) and bold < 0.5 * len(body):
        return True
    size = median(word.size for cell in heads for word in cell.words)
    usual = median(word.size for cell in body for word in cell.words)
    if not 0.92 < size / usual < 1.08:
        return True
    for column in {cell.column for cell in body if cell.column > 0}:
        below = [cell for cell in body if cell.column == column]
        over = [cell for cell in heads if cell.column <= column < cell.column + cell.column_span]
        if over and len(below) >= 2 and all(_is_number(cell) for cell in below):
            return True
    return False


def _is_number(cell: _Cell) -> bool:
    """A figure, and no year."""
    return any(
        is_figure(word.text) and not YEAR.fullmatch(word.text) for word in cell.words[:2]
    ) and (len(cell.words) <= 3)

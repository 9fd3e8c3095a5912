"""The rows of a table's body: a name, and the pieces that stand in its columns."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from services.retriever.parsing.pdf.heads import Column, Unsure
from services.retriever.parsing.pdf.words import YEAR, Piece, Row, Word, is_figure

# A name of fewer words is not taken for the first line of one that had no room.
_LONG_WORDS = 3
_HANGING = 0.4  # Of the letters' size: how far in a second line stands.


@dataclass
class Line:
    """A row of the body: its name, and a piece for some of the columns."""

    label: list[Word]
    cells: dict[int, Piece]
    rows: list[Row]
    left: float
    title: bool = False
    parts: int = 1
    """Pieces that its name is in."""


def lines(body: Sequence[Row], columns: Sequence[Column], edge: float) -> list[Line]:
    """The body's rows, names over several lines put together."""
    found: list[Line] = []
    for row in body:
        label: list[Word] = []
        cells: dict[int, Piece] = {}
        parts = 0
        for piece in row.pieces:
            hit = [
                i
                for i, c in enumerate(columns)
                if c.overlap(piece.outer_left, piece.outer_right) > 0
            ]
            if not hit and piece.right <= edge + 1:
                label += piece.all
                parts += 1
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
        found.append(Line(label, cells, [row], left, bool(label) and not cells, parts))
    limit = max((line.label[-1].right for line in found if line.label), default=0.0)
    return _joined(found, limit, edge, _hangs(found))


def _hangs(lines: Sequence[Line]) -> bool:
    """Whether the second lines of names stand further in than the first: those that begin in lower case tell."""
    steps = [
        line.left - above.left
        for above, line in pairwise(lines)
        if above.title and line.label and line.label[0].text[0].islower()
    ]
    return bool(steps) and min(steps) >= _HANGING * lines[0].rows[0].size


def _joined(lines: list[Line], limit: float, edge: float, hangs: bool) -> list[Line]:
    """Names that go on over lines: "Shares issued and" / "outstanding  441"."""
    found: list[Line] = []
    for line in _around(lines):
        above = found[-1] if found else None
        if (
            above is not None
            and line.label
            and above.label
            and _goes_on(above, line, limit, edge, hangs)
        ):
            if above.title:
                found[-1] = Line(
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


def _around(lines: list[Line]) -> list[Line]:
    """A name on two lines with its figures between them: the figures stand in the middle of its height."""
    found: list[Line] = []
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
                Line(
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


def _goes_on(above: Line, line: Line, limit: float, edge: float, hangs: bool) -> bool:
    """Whether a name goes on in the next line; the one or the other has no figures."""
    last, first = above.label[-1], line.label[0]
    gap = line.rows[0].top - above.rows[-1].bottom
    if gap > 0.6 * first.size or abs(first.size - last.size) > 0.15 * first.size:
        return False
    if not (above.title or line.title) or above.label[-1].text.endswith(":"):
        return False
    if first.text[0].islower():
        return True
    if hangs and line.left < above.rows[-1].pieces[0].left + _HANGING * first.size:
        return False
    open_end = last.text.endswith((",", "-", "\u2014", "("))
    if above.title and open_end and not YEAR.fullmatch(first.text):
        return True
    # It had no room for the next word, and stands like the line it follows.
    full = last.right + 0.25 * first.size + (first.right - first.left) > limit + 0.5 * first.size
    # A few words may be the longest name, and still have had room.
    own = above.rows[-1].pieces[0]
    long = len(own.words) >= _LONG_WORDS and own.right - own.left > 0.5 * (edge - own.left)
    return (
        full
        and long
        and above.title
        and last.bold == first.bold
        and not above.label[-1].text.endswith(".")
    )

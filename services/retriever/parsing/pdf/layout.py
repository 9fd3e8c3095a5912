"""The lines of a PDF page in reading order and its paragraphs, from where its characters stand."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import median

from services.retriever.documents import Box
from services.retriever.parsing.pdf import columns, segments
from services.retriever.parsing.pdf.columns import SENTENCE_ENDS, Block, Row
from services.retriever.parsing.pdf.glyphs import SLANTED, Glyphs
from services.retriever.parsing.pdf.segments import Piece, Segment

_BULLETS = frozenset("•◦▪▸‣●○■□\u2013\u2014*·\uf0b7\uf0a7")
_OVERLAY_SIZE = 1.8  # Times the usual size: text that lies over other text is a watermark.
_OWN_STEPS = 5  # Lines from which a block's own distance of lines counts.
_FULL = 0.8  # Of its column's width: a line that was broken where the column ends.


@dataclass(frozen=True, slots=True)
class Line:
    """A line of text; `box` in points on the page as shown.

    `size` and `bold` are those of most of its characters. `begins`: a paragraph starts here. `block`: lines of one
    block stand below each other. `aside`: sideways, slanted or laid over the text, as stamps and watermarks are.
    """

    row: Row
    size: float
    bold: bool
    box: Box
    begins: bool
    block: int
    aside: bool


def lines(glyphs: Glyphs, unseen: Sequence[int]) -> list[Line]:
    """The visible lines of a page in reading order."""
    found = segments.of(glyphs, unseen)
    if not found:
        return []
    written = Counter[int]()
    for segment in found:
        written[segment.turn] += len(segment.text)
    main = max(
        (turn for turn in written if turn != SLANTED), key=written.__getitem__, default=SLANTED
    )
    laid: list[Line] = []
    for turn in sorted(written, key=lambda turn: (turn != main, turn)):
        drawn = [segment for segment in found if segment.turn == turn]
        laid += _laid(
            glyphs, drawn, turn, aside=turn != main, first=laid[-1].block + 1 if laid else 0
        )
    return laid


def _laid(glyphs: Glyphs, drawn: list[Segment], turn: int, aside: bool, first: int) -> list[Line]:
    if turn == SLANTED:
        flow: list[Block] = []
        over = drawn
    else:
        drawn = _with_initials(drawn)
        over = _overlays(drawn)
        flow = columns.blocks([s for s in drawn if s not in over], *_edges(glyphs, turn))
    flow_lines = _paragraphs(flow, glyphs, first, aside)
    first += len(flow)
    over_lines = [
        _line(glyphs, [segment], begins=True, block=first + at, aside=True)
        for at, segment in enumerate(over)
    ]
    return flow_lines + over_lines


def _with_initials(drawn: list[Segment]) -> list[Segment]:
    """A large first letter that reaches down over lines, joined to the word that it begins."""
    usual = median(segment.size for segment in drawn)
    initials = [
        s
        for s in drawn
        if s.size >= _OVERLAY_SIZE * usual and s.text.isalpha() and len(s.text) == 1
    ]
    for initial in initials:
        beside = [
            s
            for s in drawn
            if 0.4 * s.size < 0.25 * initial.size
            and -0.1 * initial.size < s.x0 - initial.x1 < 0.4 * initial.size
            and initial.y0 - 0.3 * s.size < s.y0
            and s.baseline < initial.baseline - 0.5 * s.size
        ]
        if beside:
            word = min(beside, key=lambda s: s.baseline)
            first = word.pieces[0]
            glyphs = initial.pieces[0].glyphs
            word.pieces.insert(0, Piece(first.style, first.baseline, glyphs, initial.x0, first.x0))
            word.x0, word.text = initial.x0, initial.text + word.text
            drawn = [s for s in drawn if s is not initial]
    return drawn


def _overlays(drawn: list[Segment]) -> list[Segment]:
    """Large text that lies over two other lines or more: a watermark, a stamp."""
    usual = median(segment.size for segment in drawn)
    return [
        large
        for large in drawn
        if large.size >= _OVERLAY_SIZE * usual
        and sum(
            other is not large
            and other.size < 0.7 * large.size
            and other.x0 < large.x1
            and other.x1 > large.x0
            and other.y0 > large.y0 - 0.1 * large.size
            and other.baseline < large.baseline + 0.1 * large.size
            for other in drawn
        )
        >= 2
        and len(large.text) > 2
    ]


def _edges(glyphs: Glyphs, turn: int) -> tuple[float, float]:
    """The page's upper and lower edge for text of this turn."""
    frame = glyphs.frame
    return (
        (-frame.top, -frame.bottom),
        (frame.left, frame.right),
        (frame.bottom, frame.top),
        (-frame.right, -frame.left),
    )[turn]


def _paragraphs(flow: Sequence[Block], glyphs: Glyphs, first: int, aside: bool) -> list[Line]:
    found: list[Line] = []
    steps = [_steps(block.rows) for block in flow]
    usual = median(step for block in steps for step in block) if any(steps) else 0.0
    above: Line | None = None
    full = False  # The last line of the block before.
    for at, (block, own) in enumerate(zip(flow, steps, strict=True)):
        step = median(own) if len(own) >= _OWN_STEPS else usual
        right = max((segment.x1 for row in block.rows for segment in row), default=0.0)
        left = min((segment.x0 for row in block.rows for segment in row), default=0.0)
        for index, row in enumerate(block.rows):
            line = _line(glyphs, row, begins=False, block=first + at, aside=aside)
            if above is None:
                begins = True
            elif index:
                begins = _breaks(above, line, step)
            else:
                begins = not (block.continues and _goes_on(above, line, full))
            found.append(replace(line, begins=begins))
            above = found[-1]
        if above is not None:
            end = max(segment.x1 for segment in above.row)
            full = end - left > _FULL * (right - left)
    return found


def _steps(rows: Sequence[Row]) -> list[float]:
    return [
        _main(below).baseline - _main(above).baseline
        for above, below in pairwise(rows)
        if _same_size(_main(above).size, _main(below).size)
        and _main(below).baseline > _main(above).baseline
    ]


def _main(row: Row) -> Segment:
    return row[0] if len(row) == 1 else max(row, key=lambda segment: len(segment.text))


def _breaks(above: Line, line: Line, usual: float) -> bool:
    """Whether a paragraph begins with a line of the same block."""
    first, last = _edge(line.row[0].text), _edge(reversed(above.row[-1].text))
    if not _same_size(above.size, line.size) or above.bold != line.bold or first in _BULLETS:
        return True
    step = _main(line.row).baseline - _main(above.row).baseline
    if step <= 0:
        # Up again, in lines that stay as they were drawn. A sentence may go on there.
        return not first.islower()
    if step > usual + 0.45 * line.size:
        return True
    indent = line.row[0].x0 - above.row[0].x0
    return last in SENTENCE_ENDS and 0.9 * line.size < indent < 6 * line.size


def _goes_on(above: Line, line: Line, full: bool) -> bool:
    """Whether a sentence goes on from the end of one column to the top of the next."""
    first, last = _edge(line.row[0].text), _edge(reversed(above.row[-1].text))
    if not _same_size(above.size, line.size) or above.bold != line.bold or first in _BULLETS:
        return False
    return last not in SENTENCE_ENDS and (first.islower() or (full and first.isalnum()))


def _edge(chars: Iterator[str] | str) -> str:
    return next((char for char in chars if char > " "), " ")


def _same_size(size: float, other: float) -> bool:
    return abs(size - other) <= 0.1 * max(size, other)


def _line(glyphs: Glyphs, row: Row, begins: bool, block: int, aside: bool) -> Line:
    weights = Counter[tuple[float, bool]]()
    for segment in row:
        weights[segment.size, segment.bold] += len(segment.text)
    size, bold = max(weights, key=weights.__getitem__)
    return Line(row, size, bold, _box(glyphs, row), begins, block, aside)


def _box(glyphs: Glyphs, row: Row) -> Box:
    boxes = []
    for segment in row:
        for piece in segment.pieces:
            last = next(
                glyph
                for glyph in reversed(piece.glyphs)
                if glyph >= 0 and glyphs.chars[glyph] != " "
            )
            boxes += [glyphs.box(piece.glyphs[0]), glyphs.box(last)]
    left, bottom, right, top = zip(*boxes, strict=True)
    box = glyphs.frame.shown((min(left), min(bottom), max(right), max(top)))
    width, height = glyphs.frame.size
    return Box(box.left * width, box.top * height, box.right * width, box.bottom * height)

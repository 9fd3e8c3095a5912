"""The lines of a PDF page in reading order and its paragraphs, from where its characters stand."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median

from services.retriever.documents import Box
from services.retriever.parsing.pdf import columns, paragraphs, segments
from services.retriever.parsing.pdf.columns import Block
from services.retriever.parsing.pdf.glyphs import SLANTED, Glyphs
from services.retriever.parsing.pdf.rows import Row
from services.retriever.parsing.pdf.segments import Piece, Segment

_OVERLAY_SIZE = 1.8  # Times the usual size: text that lies over other text is a watermark.


@dataclass(frozen=True, slots=True)
class Line:
    """A line of text; `box` in points on the page as shown.

    `area`: this is no line but a part of the page that somebody else reads, of this index. `size` and `bold` are those
    of most of its characters. `begins`: a paragraph starts here. `block`: lines of one
    block stand below each other. `aside`: sideways, slanted or laid over the text, as stamps and watermarks are.
    """

    row: Row
    size: float
    bold: bool
    box: Box
    begins: bool
    block: int
    aside: bool
    area: int = -1


def lines(
    glyphs: Glyphs, unseen: Sequence[int], areas: Sequence[Box] = (), added: int | None = None
) -> list[Line]:
    """The visible lines of a page in reading order.

    `areas`, in points as shown, are read by somebody else: their characters are marked in `unseen`, and each has one
    line without text in its place. Glyphs from `added` on were not drawn with the rest.
    """
    found = segments.of(glyphs, unseen, added)
    if not found:
        return [_area_line(at, areas, at, []) for at in range(len(areas))]
    written = Counter[int]()
    for segment in found:
        written[segment.turn] += len(segment.text)
    main = max(
        (turn for turn in written if turn != SLANTED), key=written.__getitem__, default=SLANTED
    )
    laid: list[Line] = []
    for turn in sorted(written, key=lambda turn: (turn != main, turn)):
        drawn = [segment for segment in found if segment.turn == turn]
        if turn == main:
            drawn += _placeholders(glyphs, drawn, turn, areas)
        laid += _laid(
            glyphs,
            drawn,
            turn,
            aside=turn != main,
            first=laid[-1].block + 1 if laid else 0,
            areas=areas,
        )
    return laid


def _placeholders(
    glyphs: Glyphs, drawn: Sequence[Segment], turn: int, areas: Sequence[Box]
) -> list[Segment]:
    size = median(segment.size for segment in drawn)
    found = []
    for at, area in enumerate(areas):
        x0, y0, x1, y1 = segments.along(glyphs.frame, area, turn)
        # Drawn, as far as one can tell, before what begins behind it.
        number = sum(segment.y0 < y0 for segment in drawn)
        baseline = y0 + segments.ASCENT * size
        found.append(
            Segment(number, turn, [], x0, x1, size=size, baseline=baseline, y0=y0, y1=y1, area=at)
        )
    return found


def _laid(
    glyphs: Glyphs, drawn: list[Segment], turn: int, aside: bool, first: int, areas: Sequence[Box]
) -> list[Line]:
    if turn == SLANTED:
        flow: list[Block] = []
        over = drawn
    else:
        drawn = _with_initials(drawn)
        over = _overlays(drawn)
        flow = columns.blocks([s for s in drawn if s not in over], *_edges(glyphs, turn))
    flow_lines = [
        [_line(glyphs, row, first + at, aside, areas) for row in block.rows]
        for at, block in enumerate(flow)
    ]
    begin = paragraphs.begin(flow_lines, [block.continues for block in flow])
    first += len(flow)
    over_lines = [
        replace(_line(glyphs, [segment], first + at, True), begins=True)
        for at, segment in enumerate(over)
    ]
    flowing = [line for block in flow_lines for line in block]
    return [
        replace(line, begins=True) if starts else line
        for line, starts in zip(flowing, begin, strict=True)
    ] + over_lines


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


def _line(glyphs: Glyphs, row: Row, block: int, aside: bool, areas: Sequence[Box] = ()) -> Line:
    if row[0].area >= 0:
        return _area_line(row[0].area, areas, block, row)
    weights = Counter[tuple[float, bool]]()
    for segment in row:
        weights[segment.size, segment.bold] += len(segment.text)
    size, bold = max(weights, key=weights.__getitem__)
    return Line(row, size, bold, _box(glyphs, row), False, block, aside)


def _area_line(at: int, areas: Sequence[Box], block: int, row: Row) -> Line:
    return Line(row, 0.0, False, areas[at], True, block, False, at)


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

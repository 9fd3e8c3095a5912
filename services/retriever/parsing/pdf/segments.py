"""Segments: characters of a PDF page that follow each other on one line without a wide gap.

Coordinates are those of the direction that the text is written in: x along the line, y down from line to line.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from services.retriever.documents import Box
from services.retriever.parsing.pdf.geometry import Frame
from services.retriever.parsing.pdf.glyphs import SLANTED, Glyphs, Style

HYPHEN = "\x02"  # What pdfium puts for a hyphen at a line's end and the line break behind it.
_WIDE = 0.75  # Of the size: a gap that ends a segment. Word spaces are about a quarter, gutters one and more.
_BACK = 0.6  # Of the size: how far a letter may reach back over the one before it.
_APART = 0.14  # Of the size: a gap with which words are apart, where pdfium does not tell.
_SHIFT = 0.5  # Of the size: how far a raised or lowered character may stand from its line.
_INITIAL = 2.2  # Times the size: no mark is so small beside its text; a large initial is.
_SAME_BASELINE = 0.06
ASCENT, DESCENT = 0.75, 0.2  # Of the size: what letters take above and below their baseline.
_RTL = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")


@dataclass(slots=True)
class Piece:
    """Glyphs of one style on one baseline."""

    style: Style
    baseline: float
    glyphs: list[int]
    x0: float
    x1: float


@dataclass(slots=True)
class Segment:
    """One or more pieces. `size`, `baseline` and `bold` are those of most of its characters.

    `area` is the index of a part of the page that somebody else reads, a table, and stands here without pieces for its
    place in the order; -1: text.
    """

    number: int
    turn: int
    pieces: list[Piece]
    x0: float
    x1: float
    text: str = ""
    size: float = 0.0
    baseline: float = 0.0
    bold: bool = False
    rtl: bool = False
    y0: float = 0.0
    y1: float = 0.0
    area: int = -1

    def close(self, chars: Sequence[str]) -> None:
        """Fills in what follows from the pieces."""
        pieces = self.pieces
        main = pieces[0]
        if len(pieces) > 1:
            main = max(pieces, key=lambda piece: len(piece.glyphs) * piece.style.size)
            bold = sum(len(piece.glyphs) for piece in pieces if piece.style.bold)
            self.bold = 2 * bold > sum(len(piece.glyphs) for piece in pieces)
        else:
            self.bold = main.style.bold
        self.size, self.baseline = main.style.size, main.baseline
        self.y0 = self.baseline - ASCENT * self.size
        self.y1 = self.baseline + DESCENT * self.size
        self.text = "".join(["".join([chars[glyph] for glyph in piece.glyphs]) for piece in pieces])
        self.rtl = 2 * len(_RTL.findall(self.text)) > len(self.text)


def of(glyphs: Glyphs, unseen: Sequence[int], added: int | None = None) -> list[Segment]:
    """The visible segments of a page in pdfium's order. Glyphs from `added` on have no place in it: they are put behind
    what stands before them."""
    found = _Reader(glyphs, unseen).read()
    if added is None or added >= len(glyphs.chars):
        return found
    drawn = [segment for segment in found if segment.pieces[0].glyphs[0] < added]
    for segment in found[len(drawn) :]:
        drawn.insert(_place(segment, drawn), segment)
    for number, segment in enumerate(drawn):
        segment.number = number
    return drawn


def _place(segment: Segment, drawn: Sequence[Segment]) -> int:
    """Behind what stands on its left, else behind the last line above it."""
    place, nearest = 0, (2, float("inf"))
    for at, other in enumerate(drawn):
        if other.turn != segment.turn:
            continue
        if abs(other.baseline - segment.baseline) <= _SHIFT * max(other.size, segment.size):
            distance = (0, segment.x0 - other.x1) if other.x0 < segment.x0 else (2, 0.0)
        else:
            distance = (
                (1, segment.baseline - other.baseline)
                if other.baseline < segment.baseline
                else (2, 0.0)
            )
        if distance <= nearest and distance[0] < 2:
            place, nearest = at + 1, distance
    return place


def axes(glyphs: Glyphs, turn: int) -> tuple[Sequence[float], Sequence[float]]:
    """The start and the end of every glyph along lines of this turn."""
    boxes = glyphs.boxes
    match turn:
        case 1:
            return boxes[1::4], boxes[3::4]
        case 2:
            return [-x for x in boxes[2::4]], [-x for x in boxes[0::4]]
        case 3:
            return [-y for y in boxes[3::4]], [-y for y in boxes[1::4]]
        case _:
            return boxes[0::4], boxes[2::4]


def along(frame: Frame, box: Box, turn: int) -> tuple[float, float, float, float]:
    """A box on the page as shown, in points, in the coordinates of text of this turn: left, top, right, bottom."""
    width, height = frame.size
    left, right = box.left / width, box.right / width
    top, bottom = box.top / height, box.bottom / height
    across, up = frame.right - frame.left, frame.top - frame.bottom
    x0, y0, x1, y1 = {
        90: (top, left, bottom, right),
        180: (1 - right, top, 1 - left, bottom),
        270: (1 - bottom, 1 - right, 1 - top, 1 - left),
    }.get(frame.rotation, (left, 1 - bottom, right, 1 - top))
    x0, x1 = frame.left + x0 * across, frame.left + x1 * across
    y0, y1 = frame.bottom + y0 * up, frame.bottom + y1 * up
    if turn == SLANTED:
        turn = 0
    return ((x0, -y1, x1, -y0), (y0, x0, y1, x1), (-x1, y0, -x0, y1), (-y1, -x1, -y0, -x0))[turn]


class _Reader:
    """Goes through the characters once. Pages have thousands, so it calls little for each."""

    def __init__(self, glyphs: Glyphs, unseen: Sequence[int]) -> None:
        self._glyphs = glyphs
        self._unseen = unseen
        self._segments: list[Segment] = []
        self._segment: Segment | None = None
        self._last = 0.0  # Where the last character ends.
        self._space = -1  # The space behind it.
        self._broken = True  # Whether pdfium began a line behind it.
        self._mixed = False  # Whether that line has text from right to left.

    def read(self) -> list[Segment]:
        chars, turns, baselines = self._glyphs.chars, self._glyphs.turns, self._glyphs.baselines
        by_turn = {turn: axes(self._glyphs, turn) for turn in set(turns)}
        unseen = self._unseen
        turn = -1
        starts: Sequence[float] = ()
        ends: Sequence[float] = ()
        for first, end, style in self._glyphs.runs:
            for index in range(first, end):
                char = chars[index]
                if (char <= " " and char != HYPHEN) or char == "\xa0":
                    if char in "\r\n":
                        self._broken, self._mixed = True, False
                    else:
                        self._space = index
                    continue
                if unseen[index]:
                    continue
                if turns[index] != turn:
                    turn = turns[index]
                    starts, ends = by_turn[turn]
                    self._segment = None
                if char >= "\u0590" and _RTL.match(char):
                    self._mixed = True
                self._add(index, style, turn, starts[index], ends[index], baselines[index])
                if char == HYPHEN:
                    self._broken, self._mixed = True, False
        texts = [*chars, " "]  # The last one for -1.
        for segment in self._segments:
            segment.close(texts)
        return self._segments

    def _add(
        self, index: int, style: Style, turn: int, x0: float, x1: float, baseline: float
    ) -> None:
        segment = self._segment
        if segment is None or not self._follows(segment, style, x0, x1, baseline):
            piece = Piece(style, baseline, [index], x0, x1)
            segment = self._segment = Segment(len(self._segments), turn, [piece], x0, x1)
            self._segments.append(segment)
        else:
            piece = segment.pieces[-1]
            size = style.size
            if self._space >= 0:
                piece.glyphs.append(self._space)
            elif self._broken and x0 - self._last > _APART * size:
                piece.glyphs.append(-1)
            off = baseline - piece.baseline
            if style is piece.style and -_SAME_BASELINE * size <= off <= _SAME_BASELINE * size:
                piece.glyphs.append(index)
                if x1 > piece.x1:
                    piece.x1 = x1
            else:
                segment.pieces.append(Piece(style, baseline, [index], x0, x1))
            if x1 > segment.x1:
                segment.x1 = x1
            if x0 < segment.x0:
                segment.x0 = x0
        self._last, self._space, self._broken = x1, -1, False

    def _follows(
        self, segment: Segment, style: Style, x0: float, x1: float, baseline: float
    ) -> bool:
        """Whether a character goes on from the segment."""
        size = segment.pieces[-1].style.size
        if style.size > size:
            size = style.size
        gap = x0 - self._last
        if self._mixed:
            gap = max(x0 - segment.x1, segment.x0 - x1, 0.0)
        if not -_BACK * size <= gap <= _WIDE * size:
            return False
        off = abs(baseline - segment.pieces[-1].baseline)
        if off <= _SAME_BASELINE * size:
            return True
        first = segment.pieces[0]
        small, large = sorted((first.style.size, style.size))
        if large > _INITIAL * small:
            return False
        return abs(baseline - first.baseline) <= _SHIFT * large

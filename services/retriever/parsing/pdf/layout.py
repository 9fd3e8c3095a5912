"""Lines and paragraphs of a PDF page, from where its characters stand. pdfium knows lines only."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from services.retriever.documents import Box
from services.retriever.parsing.pdf.glyphs import Glyphs

PDFIUM_HYPHEN = (
    "\x02"  # What pdfium puts for a hyphen at a line's end and the line break behind it.
)

_BULLETS = frozenset("•◦▪▸‣●○■□\u2013\u2014*·\uf0b7\uf0a7")
_SENTENCE_ENDS = frozenset(".:!?;。\uff01\uff1f\u06d4\u061f")


@dataclass(frozen=True)
class Line:
    """Characters start..end of a page's glyphs; `box` in points on the page as shown, None for an unseen line.

    `size` and `bold` are those of most of its visible characters.
    """

    start: int
    end: int
    size: float
    bold: bool
    box: Box | None


def lines(glyphs: Glyphs, unseen: Sequence[int]) -> list[Line]:
    """The lines of a page in pdfium's order, hidden ones included."""
    found: list[Line] = []
    run = 0
    for start, end in _spans(glyphs.chars):
        sizes: dict[tuple[float, bool], int] = {}
        while run > 0 and glyphs.runs[run][0] > start:
            run -= 1
        while run < len(glyphs.runs) and glyphs.runs[run][0] < end:
            run_start, run_end, style = glyphs.runs[run]
            visible = sum(
                glyphs.chars[index] > " " and not unseen[index]
                for index in range(max(start, run_start), min(end, run_end))
            )
            key = (style.size, style.bold)
            sizes[key] = sizes.get(key, 0) + visible
            run += 1
        run = max(0, run - 1)
        seen = [key for key, count in sizes.items() if count]
        size, bold = max(seen, key=sizes.__getitem__, default=(0.0, False))
        box = _box(glyphs, unseen, start, end) if seen else None
        found.append(Line(start, end, size, bold, box))
    return found


def paragraph_starts(glyphs: Glyphs, found: Sequence[Line]) -> set[int]:
    """The `start` of every visible line that begins a paragraph."""
    seen = [(line, line.box) for line in found if line.box is not None]
    pairs = list(pairwise(seen))
    gaps = [
        below.top - above.bottom
        for (line, above), (following, below) in pairs
        if below.top > above.top and _same_size(line, following)
    ]
    usual_gap = max(0.0, median(gaps)) if gaps else 0.0
    starts = {seen[0][0].start} if seen else set()
    for (line, above), (following, below) in pairs:
        if _breaks(glyphs, line, above, following, below, usual_gap):
            starts.add(following.start)
    return starts


def _breaks(
    glyphs: Glyphs, line: Line, above: Box, following: Line, below: Box, usual_gap: float
) -> bool:
    height = above.bottom - above.top
    first = _edge(glyphs.chars[following.start : following.end])
    last = _edge(reversed(glyphs.chars[line.start : line.end]))
    if not _same_size(line, following) or line.bold != following.bold or first in _BULLETS:
        return True
    if below.bottom < above.top:
        # Up again: the next column, or a box beside the text. A sentence may go on there.
        return not first.islower()
    if below.top - above.bottom > usual_gap + 0.4 * height:
        return True
    indent = below.left - above.left
    return last in _SENTENCE_ENDS and 0.8 * height < indent < 5 * height


def _edge(chars: Iterator[str] | list[str]) -> str:
    return next((char for char in chars if char > " "), " ")


def _same_size(line: Line, other: Line) -> bool:
    return abs(line.size - other.size) <= 0.1 * max(line.size, other.size)


def _spans(chars: Sequence[str]) -> Iterator[tuple[int, int]]:
    start = 0
    for index, char in enumerate(chars):
        if char in ("\n", PDFIUM_HYPHEN):
            end = index if char == "\n" else index + 1
            if end > start and chars[end - 1] == "\r":
                end -= 1
            if end > start:
                yield start, end
            start = index + 1
    if start < len(chars):
        yield start, len(chars)


def _box(glyphs: Glyphs, unseen: Sequence[int], start: int, end: int) -> Box:
    visible = [
        index for index in range(start, end) if glyphs.chars[index] > " " and not unseen[index]
    ]
    boxes = [glyphs.frame.shown(glyphs.box(index)) for index in (visible[0], visible[-1])]
    width, height = glyphs.frame.size
    return Box(
        min(box.left for box in boxes) * width,
        min(box.top for box in boxes) * height,
        max(box.right for box in boxes) * width,
        max(box.bottom for box in boxes) * height,
    )

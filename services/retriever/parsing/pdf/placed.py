"""Words from annotations as glyphs of the page, in their rectangles, so that they are read like the rest of it."""

from array import array
from collections.abc import Iterator, Sequence

from services.retriever.parsing.pdf.geometry import Rectangle
from services.retriever.parsing.pdf.glyphs import Glyphs, Style

_SIZE, _LEAST = 11.0, 4.0  # Points.
_HIGH = 0.8  # Of the rectangle: the size of text on one line, if that is less.
_TWO_LINES = 20.0  # Points: the least height in which words go on in a second line.
_LEADING = 1.25
_WIDE = 0.5  # Of the size: what a letter takes.
_INSIDE = 2.0  # Points to the rectangle's edge.


def add(glyphs: Glyphs, texts: Sequence[tuple[Rectangle, str]]) -> list[tuple[int, int]]:
    """Appends the words to the page's glyphs. Returns which glyphs each text became: none where it has no room."""
    spans: list[tuple[int, int]] = []
    turn = glyphs.frame.rotation // 90 % 4
    for rectangle, words in texts:
        spans.append((len(glyphs.chars), len(glyphs.chars)))
        x0, y0, x1, y1 = _along(rectangle, turn)
        width, height = x1 - x0 - 2 * _INSIDE, y1 - y0
        lines = [line for line in words.replace("\r", "\n").split("\n") if line.strip()]
        if width <= 0 or height <= 0 or not lines:
            continue
        size = max(_LEAST, min(_SIZE, _HIGH * height / len(lines)))
        if height >= _TWO_LINES and len(words) * _WIDE * size > 1.3 * width:
            lines = list(_wrapped(lines, max(1, int(width / (_WIDE * size)))))
        size = max(1.6, min(size, height / (_LEADING * len(lines)))) if len(lines) > 1 else size
        top = y0 + (height - _LEADING * size * len(lines)) / 2
        for at, line in enumerate(lines):
            baseline = top + _LEADING * size * at + 0.98 * size
            _line(glyphs, line.strip(), turn, size, (x0 + _INSIDE, baseline), width)
        spans[-1] = spans[-1][0], len(glyphs.chars)
    return spans


def _line(
    glyphs: Glyphs, words: str, turn: int, size: float, start: tuple[float, float], width: float
) -> None:
    advance = min(_WIDE * size, width / len(words))
    x, baseline = start
    first = len(glyphs.chars)
    for at, char in enumerate(words):
        along = (
            x + at * advance,
            baseline - 0.75 * size,
            x + (at + 1) * advance,
            baseline + 0.2 * size,
        )
        glyphs.chars.append(char if char > " " else " ")
        glyphs.boxes.extend(_back(along, turn))
    glyphs.chars.append("\n")
    glyphs.boxes.extend((0.0, 0.0, 0.0, 0.0))
    count = len(words) + 1
    glyphs.turns.extend(bytes((turn,)) * count)
    glyphs.baselines.extend(array("f", (baseline,)) * count)
    if glyphs.objects:
        glyphs.objects.extend([0] * count)
    style = Style(round(size * 2) / 2, bold=False, invisible=False, light=False)
    glyphs.runs.append((first, len(glyphs.chars), style))


def _wrapped(lines: Sequence[str], chars: int) -> Iterator[str]:
    for line in lines:
        current = ""
        for word in line.split():
            if current and len(current) + 1 + len(word) > chars:
                yield current
                current = word
            else:
                current = f"{current} {word}" if current else word
        yield current


def _along(rectangle: Rectangle, turn: int) -> Rectangle:
    """In coordinates along and down the lines of text of this turn: left, top, right, bottom."""
    left, bottom, right, top = rectangle
    return (
        (left, -top, right, -bottom),
        (bottom, left, top, right),
        (-right, bottom, -left, top),
        (-top, -right, -bottom, -left),
    )[turn]


def _back(along: Rectangle, turn: int) -> Rectangle:
    x0, y0, x1, y1 = along
    return ((x0, -y1, x1, -y0), (y0, x0, y1, x1), (-x1, y0, -x0, y1), (-y1, -x1, -y0, -x0))[turn]

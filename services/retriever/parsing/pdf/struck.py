"""Struck-out text: a line through the middle of letters, as long as they are. Underlines and borders are none."""

from collections.abc import Iterator, Sequence

from services.retriever.documents import Box
from services.retriever.parsing.pdf.geometry import Rectangle
from services.retriever.parsing.pdf.glyphs import SLANTED, Glyphs
from services.retriever.parsing.pdf.rules import Rules
from services.retriever.parsing.pdf.segments import along, axes

_LOW, _HIGH = 0.14, 0.5  # Of the size: where above the baseline a line strikes letters out.
_OVER = 0.8  # Of the size: how far it may reach beyond them on either side.
_COVERED = 0.5  # Of its length: letters under it.
_BUCKET = 4.0  # Points.
_MOST = 5_000  # Lines. A page with more is a drawing.


def find(glyphs: Glyphs, rules: Rules) -> set[int]:
    """The characters that a drawn line strikes out."""
    found: set[int] = set()
    for turn in set(glyphs.turns) - {SLANTED}:
        lines = list(_lines(glyphs, rules, turn))
        if not 0 < len(lines) <= _MOST:
            continue
        letters = _Letters(glyphs, turn, {int(y // _BUCKET) for y, _, _ in lines})
        for y, left, right in lines:
            found.update(_struck(letters, y, left, right))
    return found


def _lines(glyphs: Glyphs, rules: Rules, turn: int) -> Iterator[tuple[float, float, float]]:
    """The drawn lines that go along lines of text of this turn, in its coordinates."""
    level = (turn - glyphs.frame.rotation // 90) % 2 == 0
    for at, start, end in rules.across if level else rules.down:
        box = Box(start, at, end, at) if level else Box(at, start, at, end)
        left, y, right, _ = along(glyphs.frame, box, turn)
        yield y, left, right


def _struck(letters: "_Letters", y: float, left: float, right: float) -> list[int]:
    under = list(letters.under(y, left, right))
    if not under:
        return []
    size = max(letters.sizes[index] for index in under)
    first = min(letters.starts[index] for index in under)
    last = max(letters.ends[index] for index in under)
    covered = sum(letters.ends[index] - letters.starts[index] for index in under)
    fits = first - left < _OVER * size and right - last < _OVER * size
    return under if fits and covered >= _COVERED * (right - left) else []


def inside(glyphs: Glyphs, strikes: Sequence[Rectangle]) -> set[int]:
    """The characters that an annotation strikes out: those whose middle is inside one of its rectangles."""
    boxes = glyphs.boxes
    found: set[int] = set()
    for left, bottom, right, top in strikes:
        for index, char in enumerate(glyphs.chars):
            x = (boxes[4 * index] + boxes[4 * index + 2]) / 2
            y = (boxes[4 * index + 1] + boxes[4 * index + 3]) / 2
            if char > " " and left < x < right and bottom < y < top:
                found.add(index)
    return found


class _Letters:
    """The letters of a page that have one turn, by how far down they stand; those at the heights in `rows`."""

    def __init__(self, glyphs: Glyphs, turn: int, rows: set[int]) -> None:
        self.starts, self.ends = axes(glyphs, turn)
        self.sizes: dict[int, float] = {}
        self._baselines = glyphs.baselines
        self._rows: dict[int, list[int]] = {}
        known: dict[tuple[float, float], list[int]] = {}
        for start, end, style in glyphs.runs:
            size = style.size
            for index in range(start, end):
                key = glyphs.baselines[index], size
                near = known.get(key)
                if near is None:
                    near = known[key] = _near(*key, rows)
                if near and glyphs.chars[index] > " " and glyphs.turns[index] == turn:
                    self.sizes[index] = size
                    for row in near:
                        self._rows.setdefault(row, []).append(index)

    def under(self, y: float, left: float, right: float) -> Iterator[int]:
        """Letters that a line from left to right goes through."""
        for index in self._rows.get(int(y // _BUCKET), ()):
            above = self._baselines[index] - y
            middle = (self.starts[index] + self.ends[index]) / 2
            if _LOW <= above / self.sizes[index] <= _HIGH and left <= middle <= right:
                yield index


def _near(baseline: float, size: float, rows: set[int]) -> list[int]:
    """The rows in which a line would strike out letters of this size on this baseline."""
    if not size:
        return []
    low, high = baseline - _HIGH * size, baseline - _LOW * size
    return [row for row in range(int(low // _BUCKET), int(high // _BUCKET) + 1) if row in rows]

"""Blocks of a page in reading order: cut at gutters, by geometry (a recursive XY-cut over whole lines).

A strip without text is a gutter between columns only if what stands on its sides runs on downwards. Rows of a table, a
label and its value, a bullet and its text are read across.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from services.retriever.parsing.pdf import gutters
from services.retriever.parsing.pdf.gutters import Interval
from services.retriever.parsing.pdf.rows import ON_ROW, Row, in_order, is_rtl, letters, rows
from services.retriever.parsing.pdf.segments import Segment

SENTENCE_ENDS = frozenset(".:!?;\u3002\uff01\uff1f\u06d4\u061f\u0964")
_GUTTER, _NARROWED = (
    0.8,
    0.4,
)  # Of the size of the text: the least width at the start, and after more lines.
_DEEPEST = 12
_APART = 1.35  # Times the usual distance of lines: another group of lines.
_ACROSS = 0.4  # Of neighbours across a gutter: the least share drawn one after the other where rows were drawn.
_LETTERS = 0.6  # Of the characters: with fewer it is figures.
_RIVER_ROWS = 3
_RIVER_LEADING = (
    0.6  # Of the size: the most between two lines of a paragraph, without what letters take.
)
_MARGIN = 0.1  # Of the page's height: where running heads and feet are.


@dataclass(slots=True)
class Block:
    """Lines below each other. `continues`: it is the next column of what the block before it belongs to."""

    rows: list[Row]
    continues: bool = False


def blocks(segments: Sequence[Segment], top: float, bottom: float) -> list[Block]:
    """Segments of one direction in reading order. `top` and `bottom` are the page's edges."""
    if not segments:
        return []
    height = bottom - top
    return _Cutter(top + _MARGIN * height, bottom - _MARGIN * height).cut(list(segments), 0)


@dataclass(slots=True)
class _Zone:
    """Successive bands with common free strips."""

    segments: list[Segment]
    free: list[Interval]
    x0: float
    x1: float

    def gutters(
        self, free: Sequence[Interval] = (), x0: float = 0.0, x1: float = 0.0
    ) -> list[Interval]:
        if not free:
            free, x0, x1 = self.free, self.x0, self.x1
        return [strip for strip in free if strip[0] > x0 and strip[1] < x1]


_Cut = tuple[list[Segment], list[list[Segment]], list[Segment]]
"""What is read across above the columns, the columns in reading order (none: all is read across), what is below."""


class _Cutter:
    def __init__(self, head: float, foot: float) -> None:
        self._head, self._foot = head, foot

    def cut(self, segments: list[Segment], depth: int) -> list[Block]:
        """Blocks of these segments in reading order."""
        if len(segments) < 3 or depth > _DEEPEST:
            return [_leaf(segments)]
        size = median(segment.size for segment in segments) or 1.0
        found: list[Block] = []
        running: list[Segment] = []
        zones = self._zones(gutters.bands(segments), size)
        for at, zone in enumerate(zones):
            above, groups, below = self._columns(zone)
            if len(groups) > 1 and _is_river(zone, zones[max(0, at - 1) : at + 2]):
                above, groups, below = zone.segments, [], []
            running += above
            if len(groups) > 1:
                if running:
                    found.append(_leaf(running))
                for place, group in enumerate(groups):
                    inner = self.cut(group, depth + 1)
                    inner[0].continues = place > 0
                    found += inner
                running = below
        if running:
            found.append(_leaf(running))
        return found

    def _zones(self, bands: Sequence[list[Segment]], size: float) -> list[_Zone]:
        zones: list[_Zone] = []
        zone: _Zone | None = None
        for band in bands:
            free = gutters.free(band, _GUTTER * size)
            x0, x1 = free[0][1], free[-1][0]
            if zone is None:
                zone = _Zone(band, free, x0, x1)
                continue
            common = gutters.common(zone.free, free, _NARROWED * size)
            left, right = min(zone.x0, x0), max(zone.x1, x1)
            before, after = zone.gutters(), zone.gutters(common, left, right)
            ends = bool(before) and not after
            begins = not before and not after and len(free) > 2
            if ends or begins or self._in_margin(zone, band):
                zones.append(zone)
                zone = _Zone(band, free, x0, x1)
                continue
            zone.segments = zone.segments + band
            zone.free, zone.x0, zone.x1 = common, left, right
        if zone is not None:
            zones.append(zone)
        return zones

    def _in_margin(self, zone: _Zone, band: Sequence[Segment]) -> bool:
        """Whether a running head or foot ends here: with a line's height between it and the text."""
        above = max(segment.y1 for segment in zone.segments)
        below = min(segment.y0 for segment in band)
        if below - above < max(segment.size for segment in band):
            return False
        return above < self._head or below > self._foot

    def _columns(self, zone: _Zone) -> _Cut:
        strips = zone.gutters()
        if not strips:
            return zone.segments, [], []
        columns = [
            _Column(part) for part in gutters.split(zone.segments, [(a + b) / 2 for a, b in strips])
        ]
        if len(columns) == 2:
            paired = _paired(*columns)
            if paired:
                return [], paired, []
        groups = [columns[:1]]
        for column in columns[1:]:
            if _apart(groups[-1], column):
                groups.append([column])
            else:
                groups[-1].append(column)
        if len(groups) < 2:
            return zone.segments, [], []
        merged = [_merged(group) for group in groups]
        above, below = _drawn_across(merged)
        outside = {segment.number for segment in above + below}
        found = [
            [segment for segment in column.segments if segment.number not in outside]
            for column in merged
        ]
        found = [column for column in found if column]
        if is_rtl(zone.segments):
            found.reverse()
        return above, found, below


class _Column:
    """What stands between two gutters."""

    def __init__(self, segments: list[Segment]) -> None:
        self.segments = segments
        self.rows = rows(segments)
        self.texts = [" ".join(segment.text for segment in row) for row in self.rows]
        self.numbers = [segment.number for segment in segments]
        self.x0 = min(segment.x0 for segment in segments)
        self.x1 = max(segment.x1 for segment in segments)
        self.size = median(segment.size for segment in segments)

    def letters(self) -> float:
        return letters(self.segments)

    def runs_on(self) -> int:
        """How many of its lines go on in the next one."""
        return sum(
            self._goes_on(above, self.texts[at], self.texts[at + 1])
            for at, (above, _) in enumerate(pairwise(self.rows))
        )

    def is_prose(self) -> bool:
        """Whether this is running text and not a column of names or figures."""
        lines = len(self.rows)
        if lines < 2 or self.letters() < 0.65:
            return False
        if not self._has_phrases():
            return False
        return self.runs_on() >= max(1, 0.25 * (lines - 1))

    def is_notes(self) -> bool:
        """Whether it may be words that stand beside a text: phrases of which some go on."""
        return self.letters() > 0.7 and self._has_phrases() and self.runs_on() > 0

    def _has_phrases(self) -> bool:
        """Whether its lines have words and not one name or abbreviation each."""
        lines = len(self.rows)
        whole = "".join(self.texts)
        if 2 * sum(char > "\u0e00" for char in whole) > len(whole):  # Scripts without spaces.
            return len(whole) >= 5 * lines
        return sum(len(text.split()) for text in self.texts) >= 2 * lines

    def runs_past(self, other: "_Column") -> bool:
        """Whether each line of the other column stands beside one that goes on from the line above it: no name does
        that stands beside its meaning."""
        if len(other.rows) < 2 or other.letters() < _LETTERS:
            return False
        beside = [a for a, _ in _neighbours(self, other)]
        on = {
            id(segment)
            for at, (above, below) in enumerate(pairwise(self.rows))
            if self._goes_on(above, self.texts[at], self.texts[at + 1])
            for segment in below
        }
        return len(beside) == len(other.rows) and all(id(segment) in on for segment in beside)

    def groups(self) -> list[list[Row]]:
        """Rows with the usual distance between them."""
        steps = [below[0].baseline - above[0].baseline for above, below in pairwise(self.rows)]
        usual = min(steps, default=0.0)
        found = [[self.rows[0]]]
        for step, row in zip(steps, self.rows[1:], strict=True):
            if step > _APART * max(usual, self.size):
                found.append([row])
            else:
                found[-1].append(row)
        return found

    def _goes_on(self, row: Row, text: str, following: str) -> bool:
        if not text or not following or text[-1] in SENTENCE_ENDS:
            return False
        if following[0].islower() or text[-1] in ",-\u2010\x02":
            return True
        # Scripts without capitals: a full line.
        full = max(segment.x1 for segment in row) - row[0].x0 > 0.8 * (self.x1 - self.x0)
        return full and following[0].isalpha() and not following[0].isupper()


def _is_river(zone: _Zone, around: Sequence[_Zone]) -> bool:
    """Whether a strip between columns is wide gaps between words, below each other in a few lines of a justified
    paragraph: the lines beside these are as wide, follow as closely and have no strip."""
    found = rows(zone.segments)
    if len(found) > _RIVER_ROWS:
        return False
    size = max(segment.size for segment in zone.segments)
    if any(b.number - a.number != 1 for row in found for a, b in pairwise(row)):
        return False
    top, bottom = min(s.y0 for s in zone.segments), max(s.y1 for s in zone.segments)
    for other in around:
        distance = max(
            top - max(s.y1 for s in other.segments), min(s.y0 for s in other.segments) - bottom
        )
        if other is zone or other.gutters() or distance > _RIVER_LEADING * size:
            continue
        if abs(other.x0 - zone.x0) < 0.2 * size and abs(other.x1 - zone.x1) < 0.2 * size:
            return True
    return False


def _merged(group: Sequence[_Column]) -> _Column:
    if len(group) == 1:
        return group[0]
    return _Column([segment for column in group for segment in column.segments])


def _drawn_across(columns: Sequence[_Column]) -> tuple[list[Segment], list[Segment]]:
    """Rows at the top and at the bottom of columns that were drawn across them, if the rest was not."""
    left, right = columns[0], columns[1]
    pairs = _neighbours(left, right)
    across = {a.number: b.number - a.number == 1 for a, b in pairs}
    if sum(across.values()) > _ACROSS * len(pairs):
        return [], []
    found: tuple[list[Segment], list[Segment]] = ([], [])
    for side, order in zip(found, (1, -1), strict=True):
        ordered = [column.rows[::order] for column in columns]
        for rows_here in zip(*ordered, strict=False):
            last = max(rows_here[0], key=lambda segment: segment.x1)
            if not across.get(last.number):
                break
            side += [segment for row in rows_here for segment in row]
    return found


def _apart(group: Sequence[_Column], column: _Column) -> bool:
    """Whether the column is read after the group, not line by line with it."""
    left = _merged(group)
    pairs = _neighbours(left, column)
    if pairs:
        across = sum(b.number - a.number == 1 for a, b in pairs) / len(pairs)
    if not pairs or across < _ACROSS:
        # Not drawn row by row: as it was drawn, except figures with what they belong to.
        level = 2 * len(pairs) >= min(len(left.rows), len(column.rows))
        if level and min(left.letters(), column.letters()) < _LETTERS:
            return False
        return len(left.rows) > 1 or len(column.rows) > 1
    if left.is_prose() and column.is_prose():
        return True
    text, other = (left, column) if left.is_prose() else (column, left)
    # Notes beside a text.
    return text.is_prose() and (other.is_notes() or text.runs_past(other))


def _paired(left: _Column, right: _Column) -> list[list[Segment]]:
    """The cells of a table of text row by row, if its rows are apart on both sides of the gutter; [] if not."""
    pairs = _neighbours(left, right)
    if not pairs or sum(b.number - a.number == 1 for a, b in pairs) < _ACROSS * len(pairs):
        return []
    one, other = left.groups(), right.groups()
    if min(len(one), len(other)) < 2 or abs(len(one) - len(other)) > 0:
        return []
    size = max(left.size, right.size)
    found: list[list[Segment]] = []
    for a, b in zip(one, other, strict=True):
        if abs(a[0][0].baseline - b[0][0].baseline) > 0.3 * size:
            return []
        found.append([segment for row in a for segment in row])
        found.append([segment for row in b for segment in row])
    wraps = any(len(group) > 1 for group in one) and any(len(group) > 1 for group in other)
    return found if len(one) > 2 and wraps else []


def _neighbours(left: _Column, right: _Column) -> list[tuple[Segment, Segment]]:
    """Segments on either side of the gutter on one baseline."""
    found = []
    at = 0
    for row in left.rows:
        last = max(row, key=lambda segment: segment.x1)
        while (
            at < len(right.rows) and right.rows[at][0].baseline < last.baseline - 0.25 * last.size
        ):
            at += 1
        if at < len(right.rows):
            first = min(right.rows[at], key=lambda segment: segment.x0)
            if abs(first.baseline - last.baseline) <= 0.25 * last.size:
                found.append((last, first))
    return found


def _leaf(segments: list[Segment]) -> Block:
    """Rows from top to bottom, or lines as they were drawn where that was clearly not across the rows."""
    found = rows(segments)
    pairs = [pair for row in found for pair in pairwise(sorted(row, key=lambda s: s.x0))]
    drawn = sum(abs(b.number - a.number) == 1 for a, b in pairs)
    if len(pairs) >= 4 and drawn < 0.3 * len(pairs) and letters(segments) >= _LETTERS:
        return Block(_as_drawn(segments))
    return Block(found)


def _as_drawn(segments: list[Segment]) -> list[Row]:
    found: list[Row] = []
    for segment in sorted(segments, key=lambda segment: segment.number):
        last = found[-1][-1] if found else None
        if last and abs(last.baseline - segment.baseline) <= ON_ROW * min(last.size, segment.size):
            found[-1].append(segment)
        else:
            found.append([segment])
    return [in_order(row) for row in found]

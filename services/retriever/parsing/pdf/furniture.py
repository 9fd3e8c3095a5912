"""Running heads, feet and page numbers of a PDF: lines that return at the edge of its pages.

They are told by their place and by what returns: the same words, or the same words with a number that counts the
pages. Lines further in are body text, whatever they say, and so is a table. What a line says and no other place of the
document does is said once: on its first page it stays in the text.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from services.retriever.parsing.pdf import attached
from services.retriever.parsing.pdf.bands import SAME_HEIGHT, Bands, Row
from services.retriever.parsing.pdf.numbers import Key, Number, keys_of, only_counts
from services.retriever.parsing.pdf.page import Line, PageText
from services.retriever.parsing.pdf.strips import body_size, strips

_EDGE = 0.2  # Of the page's height, at either end: furniture lies within.
_NARROW_EDGE = 0.12  # The same where a line returns only twice.
_MAX_ROWS = 6
_SHORT = (
    6  # Pages: up to so many, a line that returns once is furniture; beyond, it must return twice.
)
# Page numbers that follow the text, at whatever height: under keys of their own, and on so large a share of the pages.
_END = {"head": "top", "foot": "bottom"}
_END_SHARE = 0.3
_LARGE, _LARGE_SHARE = (
    1.25,
    0.6,
)  # Type larger than the body's is a heading, unless most pages have it.
_SMALL = 0.95  # No heading is set smaller than the body.
_MAX_CHARS = 160
_DIGITS = re.compile(r"\d+")
_YEARS = re.compile(r"(?:19|20)\d\d\W+(?:19|20)\d\d\W*$")


@dataclass
class Furniture:
    """Of one page, indices of its lines. `kept` are those among `lines` whose words stay in the text, once."""

    lines: set[int] = field(default_factory=set)
    kept: set[int] = field(default_factory=set)
    number: Number | None = None


@dataclass
class _Page:
    text: PageText
    rows: dict[str, list[Row]]
    keys: dict[int, list[tuple[Key, str, int]]]
    """By line: each key with its number as printed and its value."""
    doubtful: tuple[set[int], set[int]]
    """Lines that may be text, for they stand close to it and are set like it; the same with those that may be headings,
    in large or bold type, or further in."""


def find(pages: Sequence[PageText], title: str = "") -> list[Furniture]:
    """One for each page."""
    found = [Furniture() for _ in pages]
    if len(pages) < 2:
        return found
    body = body_size(pages)
    near = [_near_edges(page, index, body) for index, page in enumerate(pages)]
    marked, numbers = _marked(near, body)
    lines = _lines(near, marked)
    if not attached.count_pages(pages, lines):
        attached.leave([page.keys for page in near], title)
        marked, numbers = _marked(near, body)
        lines = _lines(near, marked)
    for of, its in zip(found, lines, strict=True):
        of.lines.update(its)
    _spare_pages(pages, found)
    _add_stamps(pages, found)
    _count(near, found, numbers)
    _keep_once(pages, found, title)
    return found


def _marked(near: Sequence[_Page], body: float) -> tuple[list[set[int]], list[dict[int, Number]]]:
    """Of each page, the lines that return, and the numbers in them that count the pages."""
    returning = _returning(near, body)
    marked: list[set[int]] = [set() for _ in near]
    numbers: list[dict[int, Number]] = [{} for _ in near]
    for index, page in enumerate(near):
        above = _above_returning(page, index, returning, body)
        for line, keys in page.keys.items():
            hits = [
                entry
                for entry in keys
                if (index, line) in returning.get(entry[0], ())
                and (
                    entry[0].only_counts
                    or line not in page.doubtful[bool(entry[0].step)]
                    or line in above
                )
            ]
            if hits:
                marked[index].add(line)
            counted = [entry for entry in hits if entry[0].step]
            if counted:
                key, printed, value = max(counted, key=lambda entry: len(returning[entry[0]]))
                numbers[index][line] = Number(printed, value, key.roman)
    _count_on(near, marked, numbers)
    return marked, numbers


def _above_returning(
    page: _Page, index: int, returning: Mapping[Key, set[tuple[int, int]]], body: float
) -> set[int]:
    """Lines in smaller type than the body's whose next row returns word for word: they head that, not the text."""
    again = {
        line
        for line, keys in page.keys.items()
        for key, _, _ in keys
        if not key.step and (index, line) in returning.get(key, ()) and line not in page.doubtful[0]
    }
    return {
        line
        for rows in page.rows.values()
        for row, further in pairwise(rows)
        if row.size <= _SMALL * body and again.issuperset(further.lines)
        for line in row.lines
    }


def _lines(near: Sequence[_Page], marked: Sequence[set[int]]) -> list[set[int]]:
    """Of each page, the lines that are furniture."""
    bands = {
        edge: Bands.of([page.rows[edge] for page in near], marked) for edge in ("head", "foot")
    }
    return [
        {
            line
            for edge, rows in page.rows.items()
            for line in _outermost(rows, marked[index], bands[edge])
        }
        for index, page in enumerate(near)
    ]


def _count_on(
    near: Sequence[_Page], marked: Sequence[set[int]], numbers: Sequence[dict[int, Number]]
) -> None:
    """Marks lines whose words do not return, but whose number goes on with those of other pages at the same height."""
    series: dict[tuple[str, int, bool], list[float]] = defaultdict(list)
    for index, page in enumerate(near):
        for (edge, line), height in _heights(page).items():
            number = numbers[index].get(line)
            if number is not None and line in marked[index]:
                series[edge, number.value - index, number.roman].append(height)
    for index, page in enumerate(near):
        heights = _heights(page)
        for line, keys in page.keys.items():
            for key, printed, value in keys:
                at = heights.get((key.edge, line))
                others = series.get((key.edge, value - index, key.roman), ())
                near_by = at is not None and all(abs(at - other) <= SAME_HEIGHT for other in others)
                free = line not in marked[index] and line not in page.doubtful[1]
                if key.step == 1 and free and len(others) > 1 and near_by:
                    marked[index].add(line)
                    numbers[index][line] = Number(printed, value, key.roman)


def _add_stamps(pages: Sequence[PageText], found: Sequence[Furniture]) -> None:
    """Watermarks and sideways lines that return, wherever they stand."""
    stamps: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for index, page in enumerate(pages):
        for at, line in enumerate(page.lines):
            if line.aside:
                stamps[_letters(page.text[line.start : line.end])].append((index, at))
    for places in stamps.values():
        if len({index for index, _ in places}) >= _least(len(pages)):
            for index, at in places:
                found[index].lines.add(at)


def _least(pages: int) -> int:
    """On how many pages a line must stand."""
    return 2 if pages <= _SHORT else 3


def _count(
    near: Sequence[_Page], found: Sequence[Furniture], numbers: Sequence[dict[int, Number]]
) -> None:
    """The number of each page: that of a line whose words return, else one that counts on from those of other pages."""
    series = Counter(
        (number.value - index, number.roman)
        for index, counts in enumerate(numbers)
        for line, number in counts.items()
        if line in found[index].lines
    )
    for index, (page, of) in enumerate(zip(near, found, strict=True)):
        candidates = [numbers[index][line] for line in sorted(of.lines) if line in numbers[index]]
        candidates = candidates or [
            Number(printed, value, key.roman)
            for line in sorted(of.lines)
            for key, printed, value in page.keys.get(line, ())
            if key.step == 1
            and (
                series[value - index, key.roman] > 1 or (key.only_counts and not printed.isalnum())
            )
        ]
        of.number = max(
            candidates, key=lambda number: series[number.value - index, number.roman], default=None
        )


def _outermost(rows: Sequence[Row], marked: set[int], bands: Bands) -> Iterator[int]:
    """The lines of rows that return, or stand where others do, from the edge to the first row that does not."""
    for row in rows:
        if not (marked.issuperset(row.lines) or bands.has(row)):
            return
        yield from row.lines


def _near_edges(page: PageText, index: int, body: float) -> _Page:
    ordered_strips = strips(page)
    height = page.size[1]
    near: dict[str, list[Row]] = {"head": [], "foot": []}
    keys: dict[int, list[tuple[Key, str, int]]] = {}
    texts: set[int] = set()
    headings: set[int] = set()
    for edge, ordered in (("head", ordered_strips), ("foot", ordered_strips[::-1])):
        for at, strip in enumerate(ordered[:_MAX_ROWS]):
            row = [page.lines[line] for line in strip.lines]
            distance = strip.top if edge == "head" else height - strip.bottom
            chars = sum(line.end - line.start for line in row)
            words = " ".join(page.text[line.start : line.end] for line in row)
            # A page number stands behind the last line of a page that is not full.
            ends = (
                at == 0
                and bool(row)
                and all(only_counts(_DIGITS.sub("", word), "") for word in words.split())
            )
            if not row or (distance > _EDGE * height and not ends) or chars > _MAX_CHARS:
                break
            if _YEARS.search(words) or any(_names_a_table(page, line) for line in row):
                break  # The heads of a table.
            gap = height
            if at + 1 < len(ordered):
                further = ordered[at + 1]
                gap = further.top - strip.bottom if edge == "head" else strip.top - further.bottom
            size = max(line.size for line in row)
            bold = any(line.bold for line in row)
            if gap < 0.6 * size and abs(size - body) <= 0.05 * body:
                texts.update(strip.lines)
            if gap < size or size > 1.05 * body or bold or distance > _NARROW_EDGE * height:
                headings.update(strip.lines)
            near[edge].append(Row(strip.lines, distance, gap, size))
            for line in strip.lines:
                words = page.text[page.lines[line].start : page.lines[line].end]
                apart = attached.apart(page, page.lines[line])
                keys.setdefault(line, []).extend(keys_of(edge, words, index, apart))
                if ends:
                    keys[line].extend(keys_of(_END[edge], words, index, apart))
    return _Page(page, near, keys, (texts, texts | headings))


def _names_a_table(page: PageText, line: Line) -> bool:
    spans = (span for table in page.tables for span in (table.caption, table.unit) if span)
    return any(start < line.end and line.start < end for start, end in spans)


def _returning(near: Sequence[_Page], body: float) -> dict[Key, set[tuple[int, int]]]:
    """The keys that return at one height on enough pages, each with those (page, line)."""
    places: dict[Key, list[tuple[float, int, int]]] = defaultdict(list)
    for index, page in enumerate(near):
        heights = _heights(page)
        for line, keys in page.keys.items():
            for key, _, _ in keys:
                if (key.edge, line) in heights:
                    places[key].append((heights[key.edge, line], index, line))
    found: dict[Key, set[tuple[int, int]]] = {}
    for key, entries in places.items():
        if len(entries) < 2:
            continue
        entries.sort()
        for group in _at_one_height(entries):
            if len({index for _, index, _ in group}) >= _needed(key, group[0], near, body):
                found.setdefault(key, set()).update((index, line) for _, index, line in group)
    return found


def _needed(key: Key, entry: tuple[float, int, int], near: Sequence[_Page], body: float) -> float:
    """On how many pages a key must stand."""
    height, index, line = entry
    page, count = near[index].text, len(near)
    needed: float = _least(count)
    if page.lines[line].size > _LARGE * body:
        needed = max(needed, _LARGE_SHARE * count)
    if key.edge in _END.values():
        return max(needed, 3, _END_SHARE * count) if key.step == 1 else count + 1
    if key.step == 2 or height > _NARROW_EDGE * page.size[1]:
        needed = max(needed, 3)
    return needed


def _heights(page: _Page) -> dict[tuple[str, int], float]:
    """Of lines, by edge; numbers that follow the text have none."""
    heights = {}
    for edge, rows in page.rows.items():
        for at, row in enumerate(rows):
            for line in row.lines:
                heights[edge, line] = row.height
                if at == 0:
                    heights[_END[edge], line] = 0.0
    return heights


def _at_one_height(
    entries: Sequence[tuple[float, int, int]],
) -> Iterator[list[tuple[float, int, int]]]:
    """Cuts entries, in order of their heights, where two are further apart than lines of one place are."""
    group = [entries[0]]
    for entry in entries[1:]:
        if entry[0] - group[-1][0] > SAME_HEIGHT:
            yield group
            group = []
        group.append(entry)
    yield group


def _spare_pages(pages: Sequence[PageText], found: Sequence[Furniture]) -> None:
    """Where most pages would lose all their text, what returns is their text."""
    written = [(page, of) for page, of in zip(pages, found, strict=True) if page.lines]
    bare = sum(len(of.lines) == len(page.lines) and not page.tables for page, of in written)
    if bare > len(written) / 2:
        for of in found:
            of.lines.clear()


def _keep_once(pages: Sequence[PageText], found: Sequence[Furniture], title: str) -> None:
    """Keeps the first of the lines that say something that is nowhere else."""
    said = _letters(title)
    candidates: dict[str, tuple[int, int]] = {}
    for index, (page, of) in enumerate(zip(pages, found, strict=True)):
        for line in sorted(of.lines):
            words = page.text[page.lines[line].start : page.lines[line].end]
            number = of.number.text if of.number else ""
            plain = [word for word in words.split() if not only_counts(word, number)]
            key = _letters("".join(plain))
            if len(key) >= 3 and key not in said:
                candidates.setdefault(key, (index, line))
    if not candidates:
        return
    for page, of in zip(pages, found, strict=True):
        if not candidates:
            return
        kept = (
            page.text[line.start : line.end]
            for at, line in enumerate(page.lines)
            if at not in of.lines
        )
        text = _letters("".join(kept))
        for key in [key for key in candidates if key in text]:
            del candidates[key]
    every = "\n".join(candidates)
    for key, (index, line) in candidates.items():
        # "of 4" and what follows is the same line on page 4 of 4, where both numbers are the page's.
        if every.count(key) == 1:
            found[index].kept.add(line)


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text.casefold()))

"""The headings of a PDF: its bookmarks where it has them, else lines that are set like headings."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from services.retriever.parsing.sections import Heading

_MAX_LEVELS = 4
_MAX_HEADING_CHARS = 120
_MAX_HEADING_LINES = 3
_LARGER = 1.15  # Times the size of the body text.
_MAX_HEADING_SHARE = (
    0.15  # Of all lines. Where more look like headings, they are none (forms, slides of tables).
)
_FEW_HEADINGS = 3  # A short document may have so many, whatever their share.
_REPEATS = 3
_SAME_HEIGHT = 8.0  # Points.
_NUMBER_ONLY = re.compile(r"(?:page|seite|slide|folie|p\.)?\s*[\divxlc.\-]+", re.IGNORECASE)
_DIGITS = re.compile(r"\d+")
_BLANK = re.compile(r"\s+")


@dataclass(frozen=True)
class TextLine:
    """A line of the document's text, `top` points below the page's upper edge.

    `alone`: it begins a paragraph and so does the line behind it, or none is.
    """

    offset: int
    text: str
    page: int
    top: float
    size: float
    bold: bool
    begins: bool
    alone: bool


@dataclass(frozen=True)
class Bookmark:
    """An entry of a PDF's outline. `page` is physical, from 0; level 1 is the highest."""

    title: str
    level: int
    page: int


def from_outline(
    bookmarks: Sequence[Bookmark], lines: Sequence[TextLine], page_starts: Sequence[int]
) -> list[Heading]:
    """Each bookmark at the line that has its words, else at the beginning of its page; [] if there is no outline.

    Bookmarks that only number the pages are none.
    """
    useful = [mark for mark in bookmarks if mark.title and 0 <= mark.page < len(page_starts)]
    named = [mark for mark in useful if not _NUMBER_ONLY.fullmatch(mark.title)]
    if len(named) < 2 or len(named) < len(useful) / 2:
        return []
    by_page: dict[int, list[TextLine]] = {}
    for line in lines:
        by_page.setdefault(line.page, []).append(line)
    headings: list[Heading] = []
    floor = 0
    for mark in sorted(named, key=lambda mark: mark.page):
        offset = _find(mark.title, by_page.get(mark.page, ()), floor)
        # Bookmarks of one page keep their order, whatever words were found.
        floor = max(floor, page_starts[mark.page] if offset is None else offset)
        headings.append(Heading(floor, mark.level, mark.title))
    return headings


def from_fonts(lines: Sequence[TextLine]) -> list[Heading]:
    """Lines larger than the body text, or bold and alone: a missed heading costs less than a false one."""
    if not lines:
        return []
    body = _body_size(lines)
    running = _running(lines)
    found = [line for line in lines if _place(line) not in running and _is_heading(line, body)]
    groups = _joined(found, lines)
    most = max(_FEW_HEADINGS, _MAX_HEADING_SHARE * len(lines))
    large = [group for group in groups if group[0].size >= _LARGER * body]
    if len(large) > most:
        return []
    bold = [group for group in groups if group[0].size < _LARGER * body]
    if len(large) + len(bold) > most:
        bold = []
    sizes = sorted({group[0].size for group in large}, reverse=True)
    level = {size: min(rank, _MAX_LEVELS - 1) for rank, size in enumerate(sizes, 1)}
    bold_level = max(level.values(), default=0) + 1
    headings = [_heading(group, level[group[0].size]) for group in large]
    headings += [_heading(group, bold_level) for group in bold]
    return sorted(headings, key=lambda heading: heading.offset)


def _find(title: str, lines: Sequence[TextLine], floor: int) -> int | None:
    wanted = _squeezed(title)
    for line in lines:
        if line.offset >= floor and _names(_squeezed(line.text), wanted):
            return line.offset
    return None


def _names(text: str, title: str) -> bool:
    """Whether a line is a bookmark's heading. A heading over two lines begins with the first; "2.1 Scope" may be
    bookmarked as "Scope"."""
    if len(text) < 3:
        return False
    return text.endswith(title) or (len(text) > 8 and title.startswith(text))


def _squeezed(text: str) -> str:
    return _BLANK.sub("", text).casefold()


def _body_size(lines: Sequence[TextLine]) -> float:
    sizes: Counter[float] = Counter()
    for line in lines:
        sizes[line.size] += len(line.text)
    return max(sizes.items(), key=lambda item: (item[1], -item[0]))[0]


def _running(lines: Sequence[TextLine]) -> set[tuple[str, int]]:
    """Lines that return at the same height on three pages or more: running headers and footers, heads of tables."""
    pages: dict[tuple[str, int], set[int]] = {}
    for line in lines:
        pages.setdefault(_place(line), set()).add(line.page)
    return {place for place, found in pages.items() if len(found) >= _REPEATS}


def _place(line: TextLine) -> tuple[str, int]:
    """The text, digits aside, and about where on the page it stands."""
    return _DIGITS.sub("#", _squeezed(line.text)), round(line.top / _SAME_HEIGHT)


def _is_heading(line: TextLine, body: float) -> bool:
    text = line.text
    if not line.begins and not line.size >= _LARGER * body:
        return False
    letters = sum(char.isalpha() for char in text)
    if not 3 <= len(text) <= _MAX_HEADING_CHARS or letters < max(2, len(text) / 2):
        return False
    if text[-1] in ".,;:" or text[0].islower():
        return False
    return line.size >= _LARGER * body or (line.bold and line.alone and line.size >= 0.95 * body)


def _joined(found: Sequence[TextLine], lines: Sequence[TextLine]) -> list[list[TextLine]]:
    """Successive lines of one style are one heading, up to three; a longer run of large lines is text."""
    index_of = {line.offset: index for index, line in enumerate(lines)}
    groups: list[list[TextLine]] = []
    previous = -2
    for line in found:
        index = index_of[line.offset]
        same = groups and groups[-1][-1].size == line.size and groups[-1][-1].page == line.page
        if same and index == previous + 1 and not line.begins:
            groups[-1].append(line)
        else:
            groups.append([line])
        previous = index
    return [group for group in groups if len(group) <= _MAX_HEADING_LINES]


def _heading(group: Sequence[TextLine], level: int) -> Heading:
    return Heading(group[0].offset, level, " ".join(line.text for line in group))

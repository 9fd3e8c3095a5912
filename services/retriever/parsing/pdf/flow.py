"""The pages of a PDF as one running text: without furniture, and going on where a sentence or a word does.

A page's running heads and feet leave its text. Footnotes, and furniture whose words stand nowhere else, stay on their
page but step aside where a sentence goes on past them: to before its paragraph.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from services.retriever.documents import GAPS
from services.retriever.parsing.hyphens import Hyphens
from services.retriever.parsing.pdf import furniture, strips
from services.retriever.parsing.pdf.edits import Part, compose
from services.retriever.parsing.pdf.numbers import Number
from services.retriever.parsing.pdf.page import Line, PageText
from services.retriever.parsing.text import LINE_HYPHEN

_SENTENCE_ENDS = ".!?:;\u2026\u3002\uff01\uff1f\u06d4\u061f"
_CLOSING = "\"')]\u201d\u2019\u00bb"
_BULLET = re.compile(r"(?:[•◦▪▸‣●○■□*\u2013\u2014\uf0b7\uf0a7]|\(?\w{1,3}[.)])\s")
_SENTENCE_BREAK = re.compile(
    rf"[.!?\u2026][{re.escape(_CLOSING)}]*\s+(?=[A-Z\u00c0-\u00de\"\u201c\u201e(])"
)
_NOTE_MARK = re.compile(
    r"(?:\[\^?\w{1,3}\]|\d{1,3}[.)]?|[*†‡§¶]+|\([a-z\d]{1,2}\))\s*[\"\u201c(]?[^\W\d]"
)
_SMALL = 0.93  # Of the body's type.
_LINK_WORDS, _LINK_LETTERS = (
    40,
    12,
)  # Before an address: what is looked at, and what tells one link from another.
_FOOT = 0.45  # Of the page's height: no footnote begins above.


@dataclass(frozen=True)
class FlowPage:
    """A page in the flow. `gap`: how many characters are between it and the page before (documents.GAPS)."""

    text: PageText
    furniture: str
    gap: int
    number: Number | None


@dataclass
class _Page:
    text: PageText
    body: list[int]
    """Lines of the running text, in order."""
    aside: list[int] = field(default_factory=list)
    """Lines that a sentence may step over."""
    gone: list[int] = field(default_factory=list)
    kept: list[int] = field(default_factory=list)
    """Those of `aside` that are furniture."""
    stamps: list[int] = field(default_factory=list)
    """Those of `aside` that were laid over the page."""


def flow(pages: Sequence[PageText], title: str = "") -> list[FlowPage]:
    """The same pages, as many."""
    found = furniture.find(pages, title)
    body_size = strips.body_size(pages)
    parted = [_parted(page, of, body_size) for page, of in zip(pages, found, strict=True)]
    gaps = _gaps(parted)
    hyphens = Hyphens(page.text for page in pages)
    result: list[FlowPage] = []
    for index, page in enumerate(parted):
        gone_on = index + 1 < len(gaps) and gaps[index + 1] < 2
        text = _composed(page, gaps[index] < 2, gone_on)
        if gone_on:
            text = _open_end(text, gaps[index + 1])
        gone = _words(page.text, page.gone)
        result.append(FlowPage(text, gone, gaps[index], found[index].number))
    result = [_hyphenated(page, result, index, hyphens) for index, page in enumerate(result)]
    everywhere = _on_most([page.text for page in result])
    told: set[tuple[str, str]] = set()
    return [replace(page, text=_told_once(page.text, everywhere, told)) for page in result]


def _on_most(pages: Sequence[PageText]) -> set[str]:
    """The addresses of links that are on most pages, whatever their words are."""
    found = Counter(
        address
        for page in pages
        for address in {page.text[start:end] for start, end in page.addresses}
    )
    return {address for address, count in found.items() if count > max(2, len(pages) / 2)}


def _told_once(page: PageText, everywhere: set[str], told: set[tuple[str, str]]) -> PageText:
    """Without the addresses of links that were told before: behind the same words, or behind any if on most pages."""
    parts: list[Part] = []
    at = 0
    for start, end in page.addresses:
        words = "".join(filter(str.isalnum, page.text[max(0, start - _LINK_WORDS) : start]))
        address = page.text[start:end]
        link = ("" if address in everywhere else words[-_LINK_LETTERS:], address)
        if link in told:
            parts.append((at, start))
            at = end
        told.add(link)
    return compose(page, [*parts, (at, len(page.text))]) if at else page


def _parted(page: PageText, of: furniture.Furniture, body_size: float) -> _Page:
    gone = of.lines - of.kept
    stamps = {at for at, line in enumerate(page.lines) if line.aside} - gone
    aside = stamps | of.kept | _footnotes(page, of.lines, body_size)
    lines = tuple(replace(line, aside=at in aside) for at, line in enumerate(page.lines))
    body = [at for at in range(len(lines)) if at not in aside and at not in gone]
    page = replace(page, lines=lines)
    return _Page(page, body, *map(sorted, (aside, gone, of.kept, stamps)))


def _footnotes(page: PageText, furniture_lines: set[int], body_size: float) -> set[int]:
    """Lines in small type at the foot of their column, the first of them with a mark."""
    found: set[int] = set()
    run: list[int] = []
    for at, line in enumerate(page.lines):
        if at in furniture_lines or line.aside:
            continue
        small = 0 < line.size <= _SMALL * body_size and line.top > _FOOT * page.size[1]
        starts = small and _NOTE_MARK.match(page.text, line.start, line.end) is not None
        if small and (run or starts) and (not run or line.top >= page.lines[run[-1]].top):
            run.append(at)
            continue
        found.update(_lowest(page, run, furniture_lines))
        run = [at] if starts else []
    found.update(_lowest(page, run, furniture_lines))
    return found


def _lowest(page: PageText, run: Sequence[int], furniture_lines: set[int]) -> Sequence[int]:
    """The run, if nothing but furniture stands below it in its column."""
    if not run:
        return ()
    lines = [page.lines[at] for at in run]
    left, right = min(line.left for line in lines), max(line.right for line in lines)
    bottom = max(line.bottom for line in lines)
    members = furniture_lines.union(run)
    below = (
        line
        for at, line in enumerate(page.lines)
        if at not in members and not line.aside and line.left < right and left < line.right
    )
    return () if any(line.top > bottom - 1 for line in below) else run


def _gaps(pages: Sequence[_Page]) -> list[int]:
    """For each page, the gap in front of it; 2 for the first and for one beside a page without text."""
    gaps = [2] * len(pages)
    for index in range(1, len(pages)):
        before, page = pages[index - 1], pages[index]
        tables = _behind(before.text, before.body) or _in_front(page.text, page.body)
        if before.body and page.body and not tables:
            gaps[index] = _gap(
                before.text, before.body[-1], page.text, page.body[0], _width(before)
            )
    return gaps


def _width(page: _Page) -> float:
    """About how long a full line of the page is."""
    widths = sorted(page.text.lines[at].right - page.text.lines[at].left for at in page.body)
    return widths[int(0.8 * (len(widths) - 1))] if widths else 0.0


def _gap(page: PageText, last: int, other: PageText, first: int, width: float) -> int:
    """Between two lines that come to follow each other: an index of GAPS."""
    line, following = page.lines[last], other.lines[first]
    if not _alike(line, following):
        return 2
    end = page.text[line.start : line.end].rstrip()
    start = other.text[following.start : following.end].lstrip()
    if not end or not start:
        return 2
    if end[-1] in f"{LINE_HYPHEN}-\u2010" and end[-2:-1].isalpha() and start[0].isalpha():
        return 0
    if end.rstrip(_CLOSING)[-1:] in _SENTENCE_ENDS or _BULLET.match(start):
        return 2
    if start[0].islower() or end[-1] == ",":
        return 1
    full = line.right - line.left >= 0.85 * width
    return 1 if full and end[-1].isalnum() and not following.alone else 2


def _alike(line: Line, other: Line) -> bool:
    return (
        abs(line.size - other.size) <= 0.1 * max(line.size, other.size) and line.bold == other.bold
    )


def _behind(page: PageText, body: Sequence[int]) -> bool:
    """Whether a table is the last of the page's text."""
    last = page.lines[body[-1]].end if body else 0
    return any(table.char_start >= last for table in page.tables)


def _in_front(page: PageText, body: Sequence[int]) -> bool:
    """Whether a table is the first of the page's text."""
    first = page.lines[body[0]].start if body else len(page.text)
    return any(table.char_end <= first for table in page.tables)


def _composed(page: _Page, gone_on_from_before: bool, goes_on: bool) -> PageText:
    """The page's text: what is left without furniture, and what steps aside where it is in nobody's way."""
    if not page.gone and (page.aside == page.stamps) and not (page.aside and goes_on):
        return page.text
    body = _body(page)
    aside = _asides(page)
    above = [part for part in aside if _is_above(page, part) and not gone_on_from_before]
    below = [part for part in aside if part not in above]
    whole = _paragraphs([*_each(above), body])
    if not below:
        return compose(page.text, whole)
    text = compose(page.text, whole).text
    stop, on = _room(text, len(text) - sum(map(_length, body))) if goes_on else (len(text),) * 2
    parts = [_cut(whole, 0, stop), *_each(below), _cut(whole, on, len(text))]
    return compose(page.text, _paragraphs(parts))


def _each(spans: Sequence[tuple[int, int]]) -> list[list[Part]]:
    return [[span] for span in spans]


def _paragraphs(groups: Sequence[Sequence[Part]]) -> list[Part]:
    """Each group a paragraph of its own."""
    result: list[Part] = []
    for group in groups:
        if group:
            result += ["\n\n", *group] if result else group
    return result


def _body(page: _Page) -> list[Part]:
    """The page's text without the lines that leave it, what remains side by side as the lines say."""
    text = page.text.text
    taken = sorted([*page.aside, *page.gone])
    spans: list[tuple[int, int]] = []
    at = 0
    for index in taken:
        line = page.text.lines[index]
        spans.append((at, line.start))
        at = max(at, line.end)
    spans.append((at, len(text)))
    kept = [_stripped(text, start, end) for start, end in spans]
    kept = [(start, end) for start, end in kept if start < end]
    parts: list[Part] = []
    for span in kept:
        if parts:
            parts.append(GAPS[_between(page, parts[-1], span)])
        parts.append(span)
    return [part for part in parts if part]


def _between(page: _Page, before: Part, after: tuple[int, int]) -> int:
    assert not isinstance(before, str)
    lines = page.text.lines
    last = [at for at in page.body if lines[at].start < before[1]]
    first = [at for at in page.body if lines[at].end > after[0]]
    # Where a part ends or begins with a table, no sentence goes on.
    if not last or not first or lines[last[-1]].end < before[1] or lines[first[0]].start > after[0]:
        return 2
    return _gap(page.text, last[-1], page.text, first[0], _width(page))


def _stripped(text: str, start: int, end: int) -> tuple[int, int]:
    body = text[start:end]
    end = start + len(body.rstrip())
    return end - len(body.strip()), end


def _asides(page: _Page) -> list[tuple[int, int]]:
    """The lines that step aside; successive ones in one piece."""
    lines = page.text.lines
    found: list[tuple[int, int]] = []
    previous = -2
    for at in page.aside:
        line = lines[at]
        if at == previous + 1 and found and not line.begins:
            found[-1] = (found[-1][0], line.end)
        else:
            found.append((line.start, line.end))
        previous = at
    return [_stripped(page.text.text, start, end) for start, end in found]


def _is_above(page: _Page, part: tuple[int, int]) -> bool:
    lines = page.text.lines
    if not page.body:
        return False
    return any(
        lines[at].start <= part[0] < lines[at].end and lines[at].top < lines[page.body[0]].top
        for at in page.kept
    )


def _length(part: Part) -> int:
    return len(part) if isinstance(part, str) else part[1] - part[0]


def _room(text: str, least: int) -> tuple[int, int]:
    """The end of the last paragraph but one and the beginning of the last, or the same of sentences where there is one
    paragraph; the text's end where it is one sentence."""
    at = text.rfind("\n\n", least)
    if at >= 0:
        return at, at + 2
    ends = [match.span() for match in _SENTENCE_BREAK.finditer(text, least)]
    if not ends:
        return len(text), len(text)
    start, end = ends[-1]
    return start + len(text[start:end].rstrip()), end


def _cut(parts: Sequence[Part], start: int, end: int) -> list[Part]:
    """Characters start..end of the text that the parts give."""
    result: list[Part] = []
    at = 0
    for part in parts:
        length = _length(part)
        low, high = max(start - at, 0), min(end - at, length)
        if low < high:
            result.append(
                part[low:high] if isinstance(part, str) else (part[0] + low, part[0] + high)
            )
        at += length
    return result


def _open_end(page: PageText, gap: int) -> PageText:
    """A page whose last word goes on: its hyphen is one to decide."""
    if gap == 0 and page.text and page.text[-1] in "-\u2010":
        return replace(page, text=page.text[:-1] + LINE_HYPHEN)
    return page


def _hyphenated(
    page: FlowPage, pages: Sequence[FlowPage], index: int, hyphens: Hyphens
) -> FlowPage:
    """The page with its line hyphens decided."""
    goes_on = index + 1 < len(pages) and pages[index + 1].gap == 0
    following = pages[index + 1].text.text if goes_on else ""
    text = hyphens.decided(page.text.text, following)
    if text == page.text.text and LINE_HYPHEN not in text:
        return page
    changed = replace(page.text, text=text)
    return replace(page, text=compose(changed, list(_without_hyphens(text))))


def _without_hyphens(text: str) -> Iterator[tuple[int, int]]:
    start = 0
    while (at := text.find(LINE_HYPHEN, start)) >= 0:
        yield start, at
        start = at + 1
    yield start, len(text)


def _words(page: PageText, lines: Sequence[int]) -> str:
    """The furniture, line by line."""
    found = (page.text[page.lines[at].start : page.lines[at].end].strip() for at in lines)
    return "\n".join(words.replace(LINE_HYPHEN, "-") for words in found)

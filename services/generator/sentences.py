"""Splits a text into sentences, list items, headings and table rows. Always slices: nothing is changed.

Line breaks are hard to read: a PDF breaks its lines anywhere, a list or a table breaks them on purpose. A break
counts if either line looks like an item or a row, or if the first line stops early and the next starts anew.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from services.generator.answers import Span
from services.text.dates import MONTH_ABBREVIATIONS, WEEKDAY_ABBREVIATIONS

# A longer sentence is cut at a space: it is a table or a run of text without full stops.
MAX_CHARS = 1200

# Words before a full stop that do not end a sentence, lower case, without the stop.
_ABBREVIATIONS = frozenset(
    """
    mr mrs ms dr prof sr jr st rev gen col capt lt sgt gov sen rep hon messrs mt ft no nos vol
    vols fig figs eq sec sect ch chap art para pp p ed eds cf al viz approx ca vs v e.g i.e a.m
    p.m u.s u.k u.n d.c ph.d m.d b.c a.d inc ltd co corp dept est min max tel ext z.b bzw vgl nr
    abs d.h u.a
    """.split()  # noqa: SIM905
) | {*MONTH_ABBREVIATIONS, *WEEKDAY_ABBREVIATIONS}
# An abbreviation before a number only: "No. 5" goes on, "The answer is no. Later" does not.
_BEFORE_NUMBERS = frozenset(
    """
    no nos p pp fig figs sec art eq vol ch min max nr abs
    """.split()  # noqa: SIM905
)

_END = re.compile(
    r"""(?P<cjk>[。！？｡]+[」』”’）】》]*)      # ends whatever follows
      | (?P<stop>[.!?…؟۔।]+["'”’»)\]]*)(?=\s)  # ends if what follows can start a sentence
    """,
    re.VERBOSE,
)
_ITEM = re.compile(r"\s*(?:[-*•‣▪◦·–—]\s|\(?(?:\d{1,3}|[a-zA-Z]|[ivxIVX]{1,5})[.)]\s|#{1,6}\s|>\s)")
_ROW = re.compile(r"\||\t|\S {2,}\S+(?: \S+)* {2,}\S")
_STOPPED = re.compile(r"[.!?。！？:;,-]['\"”’)\]]*$")
_NEXT = re.compile(r"""\s+["'“‘«(\[]*(?P<first>\S)""")
_BLANK = re.compile(r"\n[ \t\r\f]*\n|\f")
_LAST_WORD = re.compile(r"[\w.]*\w$")


def split(text: str) -> list[Span]:
    """The sentences of a text in reading order, trimmed of white space, none empty, none overlapping."""
    spans: list[Span] = []
    for start, end in _blocks(text):
        for piece in _sentences(text, start, end):
            spans.extend(_bounded(text, piece.start, piece.end))
    return spans


def is_row(line: str) -> bool:
    """Whether a line is a row of a table."""
    return _ROW.search(line) is not None


def is_item(line: str) -> bool:
    """Whether a line is an item of a list."""
    return _ITEM.match(line) is not None


def _blocks(text: str) -> Iterator[tuple[int, int]]:
    """Runs of lines that belong together."""
    start = 0
    for blank in _BLANK.finditer(text):
        yield from _lines(text, start, blank.start())
        start = blank.end()
    yield from _lines(text, start, len(text))


def _lines(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    lines: list[tuple[int, int]] = []
    at = start
    while at < end:
        stop = text.find("\n", at, end)
        stop = end if stop < 0 else stop
        lines.append((at, stop))
        at = stop + 1
    widest = max((stop - at for at, stop in lines), default=0)
    block = start
    table = _is_table([text[at:stop].strip() for at, stop in lines])
    for (at, stop), (after, after_stop) in pairwise(lines):
        if table or _breaks(text[at:stop], text[after:after_stop], widest):
            yield block, stop
            block = after
    yield block, end


def _is_table(lines: Sequence[str]) -> bool:
    """Whether lines without any mark of a column are rows: figures or capitals in most, and no full stop at the end."""
    if len(lines) < 2 or _STOPPED.search(lines[-1]):
        return False
    stopped = sum(_STOPPED.search(line) is not None for line in lines)
    figures = sum(any(map(str.isdigit, line)) for line in lines)
    started = sum(not line[:1].islower() for line in lines)
    return 3 * stopped <= len(lines) and (
        (2 * figures > len(lines) and 5 * started >= 4 * len(lines))
        or (5 * figures >= 3 * len(lines) and len(lines) >= 3)
        or (started == len(lines) >= 3)
    )


def _breaks(line: str, after: str, widest: int) -> bool:
    """Whether the line break between two lines is meant."""
    if is_item(after) or line.lstrip().startswith("#"):
        return True
    if is_row(line.strip()) or is_row(after.strip()):
        return True
    first = after.lstrip()[:1]
    short = len(line.rstrip()) < 0.6 * widest or widest < 40
    return short and not line.rstrip().endswith((",", ";", "-", "—")) and not first.islower()


def _sentences(text: str, start: int, end: int) -> Iterator[Span]:
    at = start
    for match in _END.finditer(text, start, end):
        if match["cjk"] or _ends(text, at, match.start("stop"), match.end(), end):
            yield from _trimmed(text, at, match.end())
            at = match.end()
    yield from _trimmed(text, at, end)


def _ends(text: str, start: int, stop: int, after: int, end: int) -> bool:
    """Whether the full stop at `stop` ends the sentence that began at `start`."""
    following = _NEXT.match(text, after, end)
    if following is None:
        return True
    first = following["first"]
    if first.islower():
        return False
    if text[stop : stop + 1] != "." or text[stop : stop + 2] == "..":
        return True
    word = _LAST_WORD.search(text[max(start, stop - 20) : stop])
    if word is None:
        return True
    found = word.group().lower()
    if found in _BEFORE_NUMBERS:
        return not first.isdigit()
    if found in _ABBREVIATIONS:
        return False
    # "J. Smith", "1. Open the valve": an initial or the number of an item, at the start of what it counts.
    if len(found) == 1 and word.group().isupper():
        return False
    return not (found.isdigit() and not text[start : stop - len(found)].strip())


def _trimmed(text: str, start: int, end: int) -> Iterator[Span]:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    if start < end:
        yield Span(start, end)


def _bounded(text: str, start: int, end: int) -> Iterator[Span]:
    while end - start > MAX_CHARS:
        cut = max(
            text.rfind(" ", start + 1, start + MAX_CHARS),
            text.rfind("\n", start + 1, start + MAX_CHARS),
        )
        cut = cut if cut > start else start + MAX_CHARS
        yield from _trimmed(text, start, cut)
        start = cut
    yield from _trimmed(text, start, end)

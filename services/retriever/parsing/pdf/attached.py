"""Numbers right behind words at a page's edge: "Harbour works 3" counts the pages, "Patient 3" says whose page it is.

The two look alike. Where a sentence goes on from page to page, what stands at the edge cannot name what the page is
about; where none does, such a line costs nothing in the text, and may be the only place that says it. A number that
stands apart from the words, by a gap or a sign, counts the pages.
"""

import re
from collections import Counter
from collections.abc import MutableMapping, Sequence, Set

from services.retriever.parsing.pdf.numbers import Key
from services.retriever.parsing.pdf.page import Line, PageText
from services.retriever.parsing.text import LINE_HYPHEN
from services.retriever.places import FULL

_WIDE = 0.8  # Of the size of the type: a gap that is more than a space, even of justified lines.
_GOES_ON = 0.1  # The least share of the pages' ends at which a sentence goes on.
_SENTENCE_END = re.compile(
    r"[.!?:;\u2026\u3002\uff01\uff1f\u06d4\u061f][\"')\]\u201d\u2019\u00bb]*$"
)
_COUNTING = 0.25  # The least share of pages that have such a number.
_LEAST_WORDS = 4  # Of the last line: fewer are a heading or a cell.

_Keys = MutableMapping[int, list[tuple[Key, str, int]]]
"""Of a page's lines."""


def apart(page: PageText, line: Line) -> list[int]:
    """Which of a line's words, counted from 0, have a wide gap in front of them."""
    found: list[int] = []
    width = page.size[0] / FULL
    word, right = -1, 0
    space = True
    for at in range(line.start, line.end):
        if page.text[at].isspace():
            space = True
            continue
        left = page.boxes[4 * at]
        if space:
            word += 1
            if word and (left - right) * width > _WIDE * line.size:
                found.append(word)
        right, space = page.boxes[4 * at + 2], False
    return found


def count_pages(pages: Sequence[PageText], marked: Sequence[Set[int]]) -> bool:
    """Whether sentences go on from page to page between the lines that are marked as furniture."""
    bodies = [
        [line for at, line in enumerate(page.lines) if at not in of and not line.aside]
        for page, of in zip(pages, marked, strict=True)
    ]
    ends = [at for at in range(1, len(pages)) if bodies[at - 1] and bodies[at]]
    on = sum(_goes_on(pages[at - 1], bodies[at - 1][-1], pages[at], bodies[at][0]) for at in ends)
    return on > 0 and on >= _GOES_ON * len(ends)


def leave(pages: Sequence[_Keys], title: str) -> None:
    """Takes the attached numbers from the pages' keys, except behind the words of the title, and where other pages go
    on counting with a number that stands apart at the same edge: "Leases 40", "41 Harbour Board"."""
    own = [
        {
            _series(index, entry)
            for entries in keys.values()
            for entry in entries
            if entry[0].step == 1 and not entry[0].attached
        }
        for index, keys in enumerate(pages)
    ]
    counting = Counter(series for found in own for series in found)
    for index, keys in enumerate(pages):
        for line, entries in keys.items():
            keys[line] = [
                entry
                for entry in entries
                if not entry[0].attached
                or _is_title(entry[0], title)
                or (
                    _series(index, entry) not in own[index]
                    and counting[_series(index, entry)] >= _COUNTING * len(pages)
                )
            ]


def _series(index: int, entry: tuple[Key, str, int]) -> tuple[str, int, bool]:
    key, _, value = entry
    return key.edge, value - index, key.roman


def _is_title(key: Key, title: str) -> bool:
    words = key.words.replace("{}", "").split()
    return len(words) > 1 and " ".join(words) in " ".join(title.casefold().split())


def _goes_on(page: PageText, line: Line, other: PageText, following: Line) -> bool:
    end = page.text[line.start : line.end].rstrip()
    start = other.text[following.start : following.end].lstrip()
    if abs(line.size - following.size) > 0.1 * line.size or line.bold != following.bold:
        return False
    if len(end.split()) < _LEAST_WORDS or not start or _SENTENCE_END.search(end):
        return False
    return start[0].islower() or end[-1] in f"-{LINE_HYPHEN}"

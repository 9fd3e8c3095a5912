"""Headings to sections, whatever the format they came from."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from services.retriever.documents import Section

_MAX_HEADINGS = 10_000  # The last one's section holds the rest of the document.
_SHORT_PREAMBLE = 200  # Characters.
_SUBSTANTIAL = 2_000  # Characters, the median of a level's sections: about a chunk of 500 tokens.


@dataclass(frozen=True)
class Heading:
    """A title that starts at `offset` in the document's text. Level 1 is the highest."""

    offset: int
    level: int
    title: str


def build(headings: Sequence[Heading], length: int) -> tuple[Section, ...]:
    """Sections that cover a text of `length` characters, in order, without overlap.

    Text before the first heading is a section with an empty path. A heading that starts where the next one does has
    no section of its own and still stands in the paths of those below it.
    """
    if length == 0:
        return ()
    ordered = sorted(
        (heading for heading in headings if heading.title and heading.offset < length),
        key=lambda heading: heading.offset,
    )
    sections: list[Section] = []
    path: list[Heading] = []
    start = 0
    for heading in ordered[:_MAX_HEADINGS]:
        if heading.offset > start:
            sections.append(_section(path, start, heading.offset))
            start = heading.offset
        while path and path[-1].level >= heading.level:
            path.pop()
        path.append(heading)
    sections.append(_section(path, start, length))
    return tuple(sections)


def top_level(sections: Sequence[Section]) -> list[int]:
    """The offsets at which top-level sections start, the first one 0.

    Top level is the highest level with more than one section: under one heading that is the title of the whole
    document, the sections of the next level count, if most of them fill a chunk. Text in front of the
    first of them stands alone, unless it is short: a title is no passage. Where no level has two sections, the
    document is one.
    """
    deepest = max((len(section.path) for section in sections), default=0)
    length = sections[-1].char_end if sections else 0
    starts = [0]
    for depth in range(1, deepest + 1):
        found = _starts(sections, depth)
        if len(found) > 1:
            sizes = [end - start for start, end in pairwise([*found, length])]
            if depth == 1 or median(sizes) >= _SUBSTANTIAL:
                starts = found
            break
    return [0, *starts[1:]] if starts[0] < _SHORT_PREAMBLE else [0, *starts]


def _starts(sections: Sequence[Section], depth: int) -> list[int]:
    starts: list[int] = []
    previous: tuple[str, ...] = ()
    for section in sections:
        path = section.path[:depth]
        if len(path) == depth and (path != previous or len(section.path) == depth):
            starts.append(section.char_start)
        previous = path
    return starts


def _section(path: Sequence[Heading], start: int, end: int) -> Section:
    return Section(tuple(heading.title for heading in path), start, end)

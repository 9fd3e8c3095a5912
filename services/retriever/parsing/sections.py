"""Headings to sections, whatever the format they came from."""

from collections.abc import Sequence
from dataclasses import dataclass

from services.retriever.documents import Section


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
    for heading in ordered:
        if heading.offset > start:
            sections.append(_section(path, start, heading.offset))
            start = heading.offset
        while path and path[-1].level >= heading.level:
            path.pop()
        path.append(heading)
    sections.append(_section(path, start, length))
    return tuple(sections)


def top_level(sections: Sequence[Section]) -> list[Section]:
    """The sections at which a top-level section starts.

    Top level is the highest level with more than one section: under one heading that is the title of the whole
    document, the sections of the next level count.
    """
    depth = 1
    while True:
        starts: list[Section] = []
        previous: tuple[str, ...] | None = None
        for section in sections:
            if previous is None or section.path[:depth] != previous or len(section.path) == depth:
                starts.append(section)
            previous = section.path[:depth]
        deeper = any(len(section.path) > depth for section in sections)
        if sum(bool(section.path) for section in starts) > 1 or not deeper:
            return starts
        depth += 1


def _section(path: Sequence[Heading], start: int, end: int) -> Section:
    return Section(tuple(heading.title for heading in path), start, end)

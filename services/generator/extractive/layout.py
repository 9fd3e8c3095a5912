"""Which lines of a text are headings, headers of tables and rows, and what each sentence therefore stands under.

Plain text holds no layout: a line without a full stop is told by its figures and by what follows it.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto

from services.generator.sentences import is_item, is_row
from services.text.codes import LABEL

MAX_LABEL_CHARS = 160
# Headings one under the other: a chapter, a section, a part.
MAX_HEADINGS = 3

_CLOSED = re.compile(r"[.!?。！？…:;,]['\"”’)\]]*$")
_NUMBERING = re.compile(r"^\W*(?:\d+(?:\.\d+)*\.?|[A-Z]\.|#+)\s+")
_CODE = re.compile(rf"^\W*{LABEL}(?!\S)")
_NUMBER = re.compile(r"^\W*(\d+(?:\.\d+)*)\.?\s")
# A running foot: "9 | Northgate Libraries".
_FOOT = re.compile(r"\d{1,4} ?\| ?[^\d|]+|[^\d|]+ ?\| ?\d{1,4}")
_PAGE = re.compile(r"[\divxlc]{1,6}", re.IGNORECASE)
# A line of a table of contents: "4.2 Long service ..... 12".
_CONTENTS = re.compile(r"(?:\.\s?){3,}\s*\d*\s*$|…\s*\d*\s*$")


class Line(Enum):
    """What a sentence is in the layout of its text."""

    PROSE = auto()
    HEADING = auto()
    HEADER = auto()
    ROW = auto()
    FURNITURE = auto()
    """The number of the page, the running title, a line of a table of contents: no answer to anything."""


@dataclass
class _Under:
    """What is above the line that is read."""

    headings: list[int] = field(default_factory=list)
    header: int | None = None
    before: Line = Line.PROSE


def layout(
    units: Sequence[str], title: str = "", rows: Mapping[int, Line] | None = None
) -> list[tuple[Line, tuple[int, ...]]]:
    """Of each sentence, in their order: what it is, and the places of the headings and the header it stands under.

    `rows` are those that are known to be rows of tables: only the headings they stand under are looked for.
    """
    found: list[tuple[Line, tuple[int, ...]]] = []
    under = _Under()
    running = " ".join(title.split()).lower()
    for place, unit in enumerate(units):
        following = units[place + 1] if place + 1 < len(units) else ""
        if rows and place in rows:
            found.append((rows[place], tuple(under.headings)))
            under.header, under.before = None, rows[place]
            continue
        foot = _FOOT.fullmatch(unit) and not is_row(following) and under.before is not Line.ROW
        foot = foot and under.before is not Line.HEADER
        if (
            foot
            or _CONTENTS.search(unit)
            or _PAGE.fullmatch(unit)
            or (place and unit.lower() == running)
        ):
            found.append((Line.FURNITURE, ()))
            continue
        line = _line(unit, following, under.before)
        above = tuple(under.headings)
        if line is Line.HEADING:
            kept = [one for one in above if _contains(units[one], unit)]
            above = above if under.before is Line.HEADING else tuple(kept)
            under.headings = [*above, place][-MAX_HEADINGS:]
            under.header = None
        elif line is Line.HEADER:
            under.header = place
        elif line is Line.ROW:
            above += (under.header,) if under.header is not None else ()
        else:
            under.header = None
        found.append((line, above))
        under.before = line
    return found


def _line(unit: str, following: str, before: Line) -> Line:
    in_table = before in (Line.ROW, Line.HEADER)
    if is_row(unit):
        return Line.ROW if in_table else Line.HEADER
    if unit.lstrip().startswith("#"):
        return Line.HEADING
    if not _is_label(unit):
        return Line.PROSE
    if _CODE.match(unit):
        coded_next = _is_label(following) and _CODE.match(following)
        return Line.ROW if in_table or coded_next else Line.HEADING
    if _has_figure(unit):
        return Line.ROW
    numbered = _NUMBERING.match(unit) is not None
    if _is_label(following) and (
        _has_figure(following) or (_CODE.match(following) and not numbered)
    ):
        return Line.HEADER
    if in_table and not numbered and _is_label(following):
        return Line.ROW
    return Line.HEADING


def _contains(heading: str, other: str) -> bool:
    """Whether the section of a heading holds another's: 4 holds 4.2, E-47 all that has no number of its own."""
    number, inner = _NUMBER.match(heading), _NUMBER.match(other)
    if number and inner:
        return inner.group(1).startswith(f"{number.group(1)}.")
    return bool(_CODE.match(heading)) and not inner and not _CODE.match(other)


def _is_label(unit: str) -> bool:
    return (
        0 < len(unit) <= MAX_LABEL_CHARS
        and _CLOSED.search(unit) is None
        and not (is_item(unit) and _NUMBERING.match(unit) is None)
    )


def _has_figure(unit: str) -> bool:
    """Whether a digit is left without the number of a section or the code that the line begins with."""
    rest = _NUMBERING.sub("", unit, count=1)
    rest = _CODE.sub("", rest, count=1)
    plain = bool(re.search(r"\d", rest))
    # "2020 9 41": the number of no section.
    return plain or bool(re.fullmatch(r"[\d\s.,%-]+", unit))

"""Whether what a sentence takes from a table belongs to the row and the column that the sentence names. Pure.

A figure with a proof beside the wrong name is the worst answer there is: so a value must stand in a row that is named,
if one is, and under the heads that are named, if any are.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import lru_cache

from services.gateway.grounding.naming import Value, misnamed
from services.gateway.grounding.numbers import Date, dates, figures
from services.gateway.grounding.quotes import SourceText, Span
from services.text.codes import is_part_number
from services.text.tables import Cell, Grid

# A name of fewer letters is one only as it is written: "May", "No".
MIN_LOOSE = 4

# The rows, or the columns, that a cell stands in.
_Places = Callable[[Cell], range]

# Begins with a letter: 45Nm and 9a are values.
_CODE = re.compile(r"(?<![\w.,])[^\W\d_](?:[-/.]?\w)*")
_NUMBER = re.compile(r"\d(?:[\d,.]*\d)?")
_YEAR = re.compile(r"(?:19|20)\d\d")
_ASIDE = re.compile(r"\s*(?:\([^)]*\)|\[\^[^\]]*\])|[:\uff1a]\s*$")


@dataclass(frozen=True)
class Quoted:
    """A quote by its source and its place in it."""

    source: int
    span: Span


@dataclass(frozen=True)
class _Named:
    """A head that a sentence names: where it says it, and the rows or columns that are called so."""

    at: int
    places: frozenset[int]


@dataclass(frozen=True)
class _Item:
    """A value of a sentence: where it says it, and the cells that it may be from."""

    at: int
    end: int
    cells: tuple[Cell, ...]


def mispaired(sentence: str, quotes: Sequence[Quoted], sources: Sequence[SourceText]) -> bool:
    """Whether a value of a sentence stands in another row or column of a table than the ones it names."""
    values: dict[tuple[int, int], list[tuple[Grid, Cell]]] = defaultdict(list)
    named = sorted({quote.source for quote in quotes})
    for index in named:
        source = sources[index]
        spans = [quote.span for quote in quotes if quote.source == index]
        prose = _prose_numbers(source, spans)
        heads = [place for grid in source.grids for place in _said_heads(sentence, grid)]
        for grid in source.grids:
            # A figure that is quoted from a table is from there, whatever other tables hold.
            others = _quoted_numbers([other for other in source.grids if other is not grid], spans)
            shown = _shown_rows(sentence, grid, spans)
            items = [
                item
                for item in _items(sentence, grid, spans, prose, others, heads)
                if not any(cell.row in shown for cell in item.cells)
            ]
            if items and not _paired(sentence, grid, items, spans):
                return True
            for item in items:
                values[item.at, item.end] += [(grid, cell) for cell in item.cells]
    return misnamed(
        sentence,
        [Value(start, end, tuple(cells)) for (start, end), cells in sorted(values.items())],
        [grid for index in named for grid in sources[index].grids],
        [
            grid
            for index, source in enumerate(sources)
            if index not in named
            for grid in source.grids
        ],
    )


def _shown_rows(sentence: str, grid: Grid, spans: Sequence[Span]) -> frozenset[int]:
    """Rows that a sentence shows as they stand, name and values: they say themselves what belongs together."""
    said = " ".join(sentence.split())
    return frozenset(
        row
        for span in spans
        if " ".join(grid.text[span.start : span.end].split()) in said
        for row in grid.rows
        if any(_touch(span, cell) for cell in grid.names(row))
        and any(_touch(span, cell) for cell in grid.values(row))
    )


def _prose_numbers(source: SourceText, spans: Sequence[Span]) -> frozenset[Decimal]:
    """The numbers that quotes say outside of tables."""
    found: set[Decimal] = set()
    for span in spans:
        text, at = "", span.start
        for grid in source.grids:
            if grid.table.char_end > at and grid.table.char_start < span.end:
                text += source.text[at : max(at, grid.table.char_start)] + "\n"
                at = max(at, grid.table.char_end)
        said = figures(text + source.text[at : span.end])
        found |= said.numbers
    return frozenset(found)


def _quoted_numbers(grids: Sequence[Grid], spans: Sequence[Span]) -> frozenset[Decimal]:
    """The numbers of the values of tables that quotes take."""
    return frozenset(
        number
        for grid in grids
        for row in grid.rows
        for cell in grid.values(row)
        if any(_touch(span, cell) for span in spans)
        for number in _numbers(grid.say(cell))
    )


def _items(
    sentence: str,
    grid: Grid,
    spans: Sequence[Span],
    prose: frozenset[Decimal],
    others: frozenset[Decimal],
    said: Sequence[tuple[int, int]],
) -> Iterator[_Item]:
    """The numbers that a sentence takes from a table, and the values that it quotes by themselves.

    A number inside of a name of a row or a column (`said`: where the sentence has those) is none.

    Of `prose` and `others`, quoted from outside of it, only those that are quoted from it too are its own.
    """
    values = [cell for row in grid.rows for cell in grid.values(row)]
    quoted = [cell for cell in values if any(_touch(span, cell) for span in spans)]
    heads = {number for cell in _all_heads(grid) for number in _numbers(grid.say(cell))}
    seen: set[Cell] = set()
    # The 12 of PX-12, of a day or of a name that is said is no value of 12.
    days = list(dates(sentence))
    taken = [*days, *said]
    taken += [match.span() for match in _CODE.finditer(sentence) if is_part_number(match[0])]
    for start, end in days:
        holding = [cell for cell in quoted if _days(sentence[start:end]) & _days(grid.say(cell))]
        if holding:
            seen.update(holding)
            yield _Item(start, end, tuple(holding))
    for match in _NUMBER.finditer(sentence):
        if any(start <= match.start() < end for start, end in taken):
            continue
        for number in _numbers(match[0]) - prose:
            holding = [cell for cell in quoted if number in _numbers(grid.say(cell))]
            if not holding and number not in others | heads:
                holding = [cell for cell in values if number in _numbers(grid.say(cell))]
            if holding:
                seen.update(holding)
                yield _Item(match.start(), match.end(), tuple(holding))
    for cell in quoted:
        alone = any(cell.char_start <= span.start and span.end <= cell.char_end for span in spans)
        if alone and cell not in seen:
            at = sentence.find(grid.say(cell))
            yield _Item(at, at, (cell,))


def _touch(span: Span, cell: Cell) -> bool:
    return span.start < cell.char_end and cell.char_start < span.end


def _days(text: str) -> frozenset[Date]:
    return frozenset[Date]().union(*figures(text).dates)


@lru_cache(maxsize=8192)
def _numbers(text: str) -> frozenset[Decimal]:
    found = figures(text)
    return found.numbers.union(*found.doubtful)


def _all_heads(grid: Grid) -> Iterator[Cell]:
    yield from grid.heads
    for row in grid.rows:
        yield from grid.row_heads(row)


def _said_heads(sentence: str, grid: Grid) -> Iterator[tuple[int, int]]:
    for cell in _all_heads(grid):
        yield from _said(sentence, grid.say(cell))


def _at(one: _Item | _Named) -> int:
    return one.at


def _paired(sentence: str, grid: Grid, items: Sequence[_Item], spans: Sequence[Span]) -> bool:
    rows, columns = _named_rows(sentence, grid, spans), _named_columns(sentence, grid)
    rowed = _fits(items, rows, lambda cell: range(cell.row, cell.row + cell.row_span), every=True)
    return rowed and all(
        _fits(
            items,
            level,
            lambda cell: range(cell.column, cell.column + cell.column_span),
            every=False,
        )
        for level in columns
    )


def _fits(items: Sequence[_Item], named: Sequence[_Named], of: _Places, *, every: bool) -> bool:
    """Whether each value stands in a place that is named; as many values as names stand in them in their order.

    Not `every`: with fewer names than values, what is named must be the place of some value.
    """
    if not named:
        return True

    def inside(item: _Item, name: _Named) -> bool:
        return any(name.places & set(of(cell)) for cell in item.cells)

    if len(named) == len(items) > 1:
        order = zip(sorted(items, key=_at), sorted(named, key=_at), strict=True)
        return all(inside(item, name) for item, name in order)
    if every or len(named) >= len(items):
        return all(any(inside(item, name) for name in named) for item in items)
    return all(any(inside(item, name) for item in items) for name in named)


def _named_rows(sentence: str, grid: Grid, spans: Sequence[Span]) -> list[_Named]:
    found = _longest(
        [
            (place, frozenset({row}))
            for row in grid.rows
            for cell in grid.names(row)
            for place in _said(sentence, grid.say(cell))
        ]
    )
    quoted = frozenset(
        row
        for row in grid.rows
        for cell in grid.names(row)
        if any(cell.char_start <= span.start and span.end <= cell.char_end for span in spans)
    )
    groups = {
        cell
        for row in grid.rows
        for cell in grid.groups[row]
        if any(True for _ in _said(sentence, grid.say(cell)))
    }
    grouped = frozenset(row for row in grid.rows if groups & set(grid.groups[row]))
    named = [_Named(name.at, name.places & grouped or name.places) for name in found]
    if quoted and not any(name.places & quoted for name in named):
        named.append(_Named(len(sentence), quoted))
    return named


def _named_columns(sentence: str, grid: Grid) -> list[list[_Named]]:
    """The heads that a sentence names, for each row of heads."""
    levels = []
    # What names a row names no column: "Total" of "Total assets".
    rows = [
        place
        for row in grid.rows
        for cell in grid.names(row)
        for place in _said(sentence, grid.say(cell))
    ]
    for level in range(grid.table.head_rows):
        found = [
            (place, frozenset(range(cell.column, cell.column + cell.column_span)))
            for cell in grid.heads
            if cell.row == level and cell.column + cell.column_span > grid.name_columns
            for place in _said(sentence, grid.say(cell))
            if not any(start <= place[0] and place[1] <= end for start, end in rows)
        ]
        named = _longest(found)
        # A head over all columns tells none apart.
        levels.append([name for name in named if len(name.places) < grid.table.columns])
    return levels


def _said(sentence: str, name: str) -> Iterator[tuple[int, int]]:
    """Where a sentence says a name."""
    name = _ASIDE.sub("", name).strip()
    if name.isdecimal() and not _YEAR.fullmatch(name):
        return
    if not any(map(str.isalnum, name)):
        return
    loose = re.IGNORECASE if len(name) >= MIN_LOOSE else 0
    pattern = r"\s+".join(map(re.escape, name.split()))
    # PX-9 is said neither in PX-9-S nor in APX/PX-9: codes are other codes by what is joined to them.
    before, after = (r"(?<!\w[-/.])", r"(?![-/.]\w)") if is_part_number(name) else ("", "")
    for match in re.finditer(rf"(?<![^\W_]){before}{pattern}(?![^\W_]){after}", sentence, loose):
        yield match.span()


def _longest(found: Sequence[tuple[tuple[int, int], frozenset[int]]]) -> list[_Named]:
    """What is named, each name once; one that is said only inside a longer one is not."""
    named: dict[str, _Named] = {}
    merged: dict[tuple[int, int], frozenset[int]] = {}
    for place, places in found:
        merged[place] = merged.get(place, frozenset()) | places
    for (start, end), places in sorted(merged.items()):
        inside = any(
            other != (start, end) and other[0] <= start and end <= other[1] for other in merged
        )
        key = ",".join(map(str, sorted(places)))
        if not inside and key not in named:
            named[key] = _Named(start, places)
    return list(named.values())

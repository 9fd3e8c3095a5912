"""Whether the figures that a sentence takes from tables are what it calls them. Pure.

pairing.py holds a figure against the rows and columns of its own table that the sentence names. Here it is held
against all that the sources' tables name: "the flow of GN270 is 52" is no answer from a table of weights, though it
has no column of that name, when another table has. What a table calls something is known from the table's own words,
in whatever form English gives them; a unit is known by its spellings (units.py).
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from services.gateway.grounding.units import unit, unit_of, units_of_head, units_of_value
from services.text.codes import is_part_number
from services.text.dates import MONTHS
from services.text.tables import Cell, Grid
from services.text.words import STOP_WORDS, stem

_TOKEN = re.compile(r"[^\W_]+(?:[-/.][^\W_]+)*")
_YEAR = re.compile(r"(?:19|20)\d\d")
_FISCAL = re.compile(r"fy[-' ]?((?:19|20)\d\d)", re.IGNORECASE)
_ASIDE = re.compile(r"\([^)]*\)|\[\^[^\]]*\]")
# Heads of these words alone tell nothing apart.
_GENERIC = frozenset(
    map(stem, ("number", "value", "amount", "figure", "item", "name", "note", "unit", "data"))
)
_CALENDAR = frozenset(
    map(stem, (*MONTHS, "week", "month", "quarter", "year", "fiscal", "ended", "calendar"))
)
# So many characters above a table may say what it is about.
ABOVE = 300


@dataclass(frozen=True)
class Value:
    """A figure of a sentence, by its place in it, and the cells that it may be from."""

    start: int
    end: int
    cells: tuple[tuple[Grid, Cell], ...]


@dataclass(frozen=True)
class _Head:
    """The name of a column, or of a row, of a table."""

    terms: frozenset[str]
    is_column: bool


@dataclass(frozen=True)
class _Named:
    """A table by what its columns with values, and its rows, are called."""

    grid: Grid

    @cached_property
    def heads(self) -> frozenset[_Head]:
        found = set()
        for cell in self.grid.heads:
            # A head over all columns tells none apart.
            wide = cell.column_span >= max(2, self.grid.table.columns)
            if cell.column + cell.column_span > self.grid.name_columns and not wide:
                found.add(_Head(_name(self.grid, cell), True))
        for row in self.grid.rows:
            found.update(_Head(_name(self.grid, cell), False) for cell in self.grid.names(row))
        return frozenset(head for head in found if head.terms)

    def crosses(self, other: "_Named") -> bool:
        """Whether the rows of one are what the columns of the other are."""
        turned = {_Head(head.terms, not head.is_column) for head in other.heads}
        return len(self.heads & turned) > len(self.heads & other.heads)


def misnamed(
    sentence: str, values: Sequence[Value], quoted: Sequence[Grid], others: Sequence[Grid]
) -> bool:
    """Whether a figure is of something else than the sentence says.

    `quoted` are the tables of the passages that it quotes, `others` those of the passages that were read beside them.
    """
    if not values:
        return False
    said = _Said(sentence, values)
    if any(all(_against(said, value, *place) for place in value.cells) for value in values):
        return True
    near, far = [*map(said.table, quoted)], [*map(said.table, others)]
    return any(_elsewhere(said, table) for table in near) or any(
        _told(said, table) for table in (*near, *far)
    )


class _Said:
    """A sentence and its figures."""

    def __init__(self, sentence: str, values: Sequence[Value]) -> None:
        self.text = sentence
        self.values = values
        self._tables: dict[int, _Named] = {}
        self.terms = frozenset(
            term
            for match in _TOKEN.finditer(sentence)
            if not any(value.start <= match.start() < value.end for value in values)
            for term in _terms(match[0])
        )
        places = [place for value in values for place in value.cells]
        self.heads = frozenset[str]().union(
            *(_all_terms(grid, _all_heads(grid, cell)) for grid, cell in places)
        )
        """What the heads of the cells say that the figures are from."""
        self.own = frozenset[str]().union(*(_own(*place) for place in places))
        """These, and what stands beside the cells."""
        self.around = frozenset[str]().union(*(_about(grid) for grid, _ in places))
        """What is said of the whole tables that they are from."""

    def table(self, grid: Grid) -> _Named:
        return self._tables.setdefault(id(grid), _Named(grid))

    def names(self, head: _Head) -> bool:
        return head.terms <= self.terms

    def gives(self, terms: frozenset[str], grid: Grid, cells: Sequence[Cell], value: Value) -> bool:
        """Whether it says any of the terms of these heads of a value, or gives the value their unit."""
        if terms & self.terms:
            return True
        asked = _unit_of(self.text, value)
        return asked is not None and any(asked in units_of_head(grid.say(cell)) for cell in cells)


def _against(said: _Said, value: Value, grid: Grid, cell: Cell) -> bool:
    """Whether the heads of a cell say another unit, year or code than the sentence."""
    heads = _all_heads(grid, cell)
    words = _all_terms(grid, heads)
    years, asked = _years(words), _years(said.terms)
    # Of two figures one may be told by what the other is: "52 in 2022, after 48 the year before".
    if years and not years & asked and asked - said.heads:
        return True
    codes, asked = _codes(words), _codes(said.terms)
    if codes and not codes & asked and asked - said.own - _prose(grid):
        return True
    return _other_unit(said.text, value, grid, cell)


def _other_unit(sentence: str, value: Value, grid: Grid, cell: Cell) -> bool:
    asked = _unit_of(sentence, value)
    if asked is None:
        return False
    heads = _all_heads(grid, cell)
    about = [
        grid.text[slice(*place)] for place in (grid.unit_of(cell), grid.table.caption) if place
    ]
    beside = [each for each in grid.row(cell.row) if each is not cell]
    told = units_of_value(grid.say(cell)).union(
        *(units_of_head(text) for text in (*map(grid.say, heads), *about)),
        # A column of units: "Torque | 68 | Nm".
        *(units_of_head(grid.say(each)) for each in beside if unit(grid.say(each))),
    )
    if told:
        return asked not in told
    return any(asked in units_of_head(grid.say(head)) for head in grid.heads)


def _unit_of(sentence: str, value: Value) -> str | None:
    return unit_of(sentence, value.start, value.end) if value.start < value.end else None


def _elsewhere(said: _Said, table: _Named) -> bool:
    """Whether a name of a table is said that no figure belongs to, in place of that of a figure's row or column."""
    unexplained = [
        head
        for head in table.heads
        if said.names(head) and not head.terms <= said.own | said.around
    ]
    return any(
        all(
            any(_left_open(said, value, place, head, table) for head in unexplained)
            for place in value.cells
        )
        for value in said.values
    )


def _left_open(
    said: _Said, value: Value, place: tuple[Grid, Cell], head: _Head, table: _Named
) -> bool:
    """Whether the sentence says nothing of the row, or of the column, of a cell that another's name is said for."""
    heads, terms = _same_way(said, place, head, table)
    return bool(heads) and not said.gives(terms - head.terms, place[0], heads, value)


def _told(said: _Said, table: _Named) -> bool:
    """Whether a table has the row and the column that are named, this one perhaps in part, with another figure."""
    for head in table.heads:
        shared = head.terms & (said.terms - said.own)
        whole = said.names(head)
        if not shared or not (whole or _alone(shared, head, table)):
            continue
        if not any(
            other.is_column is not head.is_column and said.names(other) for other in table.heads
        ):
            continue
        for value in said.values:
            if all(_is_other(said, value, place, head, table) for place in value.cells):
                return True
    return False


def _alone(terms: frozenset[str], head: _Head, table: _Named) -> bool:
    """Whether no other head of a table says any of these."""
    return not any(terms & other.terms for other in table.heads if other is not head)


def _is_other(
    said: _Said, value: Value, place: tuple[Grid, Cell], head: _Head, table: _Named
) -> bool:
    """Whether a cell is called otherwise than a head that is said, and the sentence does not call it so as well."""
    heads, terms = _same_way(said, place, head, table)
    if not heads:
        return False
    if not said.names(head):
        return not said.gives(terms - head.terms, place[0], heads, value)
    names = [_name(place[0], each) for each in heads]
    # "Weight" is said within "net weight" too.
    return not any(name and name <= said.terms and not name < head.terms for name in names)


def _same_way(
    said: _Said, place: tuple[Grid, Cell], head: _Head, table: _Named
) -> tuple[list[Cell], frozenset[str]]:
    """The heads of a cell that are names of the same kind as another table's, and what they say.

    A year says which of the figures it is, not what they are figures of: of heads that say both, these do.
    """
    grid, cell = place
    crossed = grid is not table.grid and said.table(grid).crosses(table)
    is_column = head.is_column is not crossed
    found = [*grid.column_heads(cell)] if is_column else _names(grid, cell)
    if not _years(head.terms):
        found = [each for each in found if not _dates(grid.say(each))] or found
    # A row may be called by any of its words.
    beside = [] if is_column or not found else _words_beside(grid, cell)
    return found, _all_terms(grid, [*found, *beside])


def _dates(text: str) -> bool:
    """Whether a head says a year and nothing but: "2021", "Year ended August 29, 2021"."""
    found = _terms(text)
    return bool(_years(found)) and all(
        term in _CALENDAR or any(map(str.isdigit, term)) for term in found
    )


def _all_heads(grid: Grid, cell: Cell) -> list[Cell]:
    return [*grid.column_heads(cell), *_names(grid, cell)]


def _names(grid: Grid, cell: Cell) -> list[Cell]:
    return [name for row in _rows(cell) for name in grid.row_heads(row) if name is not cell]


def _rows(cell: Cell) -> range:
    return range(cell.row, cell.row + max(1, cell.row_span))


def _words_beside(grid: Grid, cell: Cell) -> list[Cell]:
    return [
        other
        for row in _rows(cell)
        for other in grid.row(row)
        if other is not cell and any(map(str.isalpha, grid.say(other)))
    ]


def _own(grid: Grid, cell: Cell) -> frozenset[str]:
    beside = [other for row in _rows(cell) for other in grid.row(row)]
    corner = [head for head in grid.heads if head.column < grid.name_columns]
    return _all_terms(grid, [*grid.column_heads(cell), *_names(grid, cell), *beside, *corner])


def _about(grid: Grid) -> frozenset[str]:
    start = grid.table.char_start
    texts = [grid.text[max(0, start - ABOVE) : start].rpartition("|")[2]]
    texts += [grid.text[slice(*place)] for place in (grid.table.caption, grid.table.unit) if place]
    return frozenset[str]().union(*map(_terms, texts))


def _prose(grid: Grid) -> frozenset[str]:
    """What the passage of a table says on lines that are no rows."""
    return _terms("\n".join(line for line in grid.text.splitlines() if "|" not in line))


def _all_terms(grid: Grid, cells: Iterable[Cell]) -> frozenset[str]:
    return frozenset[str]().union(*(_terms(grid.say(cell)) for cell in cells))


def _name(grid: Grid, cell: Cell) -> frozenset[str]:
    """What a head is told from others by: without what stands in brackets, unless that is all there is."""
    text = grid.say(cell)
    found = _terms(_ASIDE.sub(" ", text)) or _terms(text)
    # Numbers of columns are no names; a year is.
    numbers = all(term.isdigit() and not _YEAR.fullmatch(term) for term in found)
    return frozenset() if numbers else found


def _terms(text: str) -> frozenset[str]:
    found = {_term(match[0]) for match in _TOKEN.finditer(text)}
    return frozenset(found - STOP_WORDS - _GENERIC)


def _term(word: str) -> str:
    if fiscal := _FISCAL.fullmatch(word):
        return fiscal[1]
    # Of a code each letter counts.
    return word.casefold() if any(map(str.isdigit, word)) else stem(word)


def _years(terms: frozenset[str]) -> frozenset[str]:
    return frozenset(term for term in terms if _YEAR.fullmatch(term))


def _codes(terms: frozenset[str]) -> frozenset[str]:
    return frozenset(term for term in terms if is_part_number(term))

"""What a quote says for a person to read: rows of tables as "Size: K65; Torque: 68 Nm", the rest as it is. Pure."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from services.generator.answers import Source, Span
from services.generator.extractive.tables.terms import terms
from services.text.notes import without_marks
from services.text.tables import Cell, Grid, Place, Table

# Heads that tell nothing.
_PLAIN = terms("value values description meaning detail details information")
_CLOSED = re.compile(r"[.!?。！？…:;][\"”’)\]]*$")


@dataclass(frozen=True)
class Part:
    """A sentence, and the quotes that it is from."""

    text: str
    spans: tuple[Span, ...]
    is_row: bool = False


def parts(source: Source, span: Span) -> list[Part]:
    """A quote in its order: rows of a table a part, with the heading right above them; the text around as it stands."""
    found: list[Part] = []
    at = span.start
    for table in source.tables:
        if table.char_end <= span.start or span.end <= table.char_start:
            continue
        rows = _rows(Grid(table, source.text), table, span)
        if rows is None:
            continue
        before = list(_prose(source, at, max(at, table.char_start)))
        if before and not _CLOSED.search(before[-1].text):
            heading = before.pop()
            text = f"{heading.text}: {rows.text}"
            rows = Part(text, (*heading.spans, *rows.spans), is_row=True)
        found += [*before, rows]
        at = max(at, min(span.end, table.char_end))
    found += _prose(source, at, span.end)
    return found or [Part("", (span,))]


def _prose(source: Source, start: int, end: int) -> Iterator[Part]:
    text = source.text[start:end]
    if not any(map(str.isalnum, text)):
        return
    start += len(text) - len(text.lstrip())
    end -= len(text) - len(text.rstrip())
    yield Part(without_marks(" ".join(text.split())), (Span(start, end),))


def _rows(grid: Grid, table: Table, span: Span) -> Part | None:
    """The rows of a table that a quote holds; None where it holds none, or cuts one."""
    places = {row: place for row, place in grid.places().items() if row in grid.rows}
    if any(start < span.start < end or start < span.end < end for start, end in places.values()):
        return None
    mine = [row for row, (start, end) in places.items() if span.start <= start and end <= span.end]
    if not mine:
        return None
    heads = [cell for cell in grid.heads if any(map(str.isalnum, grid.say(cell)))]
    spans = [Span(heads[0].char_start, heads[-1].char_end)] if heads else []
    titles = dict.fromkeys(cell for row in mine for cell in grid.groups.get(row, ()))
    spans += [Span(cell.char_start, cell.char_end) for cell in titles]
    spans.append(Span(places[mine[0]][0], places[mine[-1]][1]))
    spans += [
        Span(*place) for place in dict.fromkeys(at for row in mine for at in _units(grid, row))
    ]
    between = "; " if _is_list(grid) else ". "
    return Part(between.join(say(grid, row) for row in mine), tuple(spans), is_row=True)


def _is_list(grid: Grid) -> bool:
    """Whether a table has names and what they are, and nothing that tells what of them it is."""
    said = [terms(grid.say(head)) for head in grid.heads if head.column >= grid.name_columns]
    return grid.table.columns == 2 and all(each <= _PLAIN for each in said)


def _units(grid: Grid, row: int) -> list[Place]:
    """The units of a row's values, each once."""
    found = (grid.unit_of(cell) for cell in grid.values(row))
    return list(dict.fromkeys(place for place in found if place))


def say(grid: Grid, row: int) -> str:
    """A row with its heads: "Current assets: Inventories; 2022: 5,877 (in millions)"; "Flow: 48 l/h" of a list."""
    said = [cell for cell in grid.row(row) if any(map(str.isalnum, grid.say(cell)))]
    groups = [f"{grid.say(cell).rstrip(':')}: " for cell in grid.groups.get(row, ())]
    units = [" ".join(grid.text[slice(*at)].split()).strip("()") for at in _units(grid, row)]
    unit = "".join(f" ({unit})" for unit in units if any(map(str.isalnum, unit)))
    if _is_list(grid):
        return "".join(groups) + ": ".join(grid.say(cell).rstrip(":") for cell in said) + unit
    return "".join(groups) + "; ".join(_headed(grid, cell) for cell in said) + unit


def _headed(grid: Grid, cell: Cell) -> str:
    heads = dict.fromkeys(grid.say(head).rstrip(":") for head in grid.column_heads(cell))
    head = ", ".join(head for head in heads if any(map(str.isalnum, head)))
    value = grid.say(cell)
    return f"{head}: {value}" if head and head != value else value

"""Which slices of a document's text make a passage: whole rows of tables, with their heads. Pure."""

from collections.abc import Sequence
from dataclasses import replace

from services.retriever.records import ChunkRecord
from services.retriever.search.stretches import Stretch, TableText, rows_of
from services.text.tables import Cell, Place, Table

# Of a table too long to be read whole: so many rows before and after a row that was found.
NEAR = 3


def around(table: Table, hits: Sequence[ChunkRecord]) -> list[list[Place]]:
    """For each hit, in their order, the rows that it lies in and those near it, each a slice."""
    places = row_places(table)
    order = list(places)
    found = []
    for hit in hits:
        inside = [
            at
            for at, row in enumerate(order)
            if places[row][0] < hit.char_end and hit.char_start < places[row][1]
        ]
        first = max(0, min(inside, default=0) - NEAR)
        last = max(inside, default=-1) + NEAR + 1 if inside else 0
        found.append([places[row] for row in order[first:last]])
    return found


def row_places(table: Table) -> dict[int, Place]:
    """Where each row below the head stands."""
    return {
        row: (min(cell.char_start for cell in cells), max(cell.char_end for cell in cells))
        for row, cells in rows_of(table).items()
        if row >= table.head_rows
    }


def whole_rows(tables: Sequence[TableText], start: int, end: int, kept: Place) -> Place:
    """The slice from start to end, without the rows that it holds a part of; what is `kept` stays."""
    for each in tables:
        table = each.table
        places = row_places(table).values()
        if table.char_start < start < table.char_end:
            start = min([kept[0], *(place[0] for place in places if place[0] >= start)])
        if table.char_start < end < table.char_end:
            end = max([kept[1], *(place[1] for place in places if place[1] <= end)])
    return start, end


def heads(stretch: Stretch, pieces: Sequence[Place]) -> list[Place]:
    """What must stand before the pieces, so that every row of a table has its head: the heads that they lack."""
    found: list[Place] = []
    for each in stretch.tables:
        table = each.table
        if not any(start < table.char_end and table.char_start < end for start, end in pieces):
            continue
        if each.above:
            found += [(fragment.start, fragment.end) for fragment in each.above]
        elif not any(start <= table.char_start and each.head[1] <= end for start, end in pieces):
            found.append(each.head)
    return found


def merged(pieces: Sequence[Place]) -> list[Place]:
    """In the order of the text; those that touch, or nearly, become one."""
    found: list[Place] = []
    for start, end in sorted(place for place in pieces if place[0] < place[1]):
        # Between two rows stands a line end.
        if found and start <= found[-1][1] + 1:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return found


def cut(table: Table, slices: Sequence[tuple[int, Place]]) -> Table | None:
    """A table with the cells that stand in the slices, in a text made of these: (place in that text, slice)."""

    def moved(place: Place | None) -> Place | None:
        for offset, (start, end) in slices:
            if place and start <= place[0] and place[1] <= end:
                return place[0] - start + offset, place[1] - start + offset
        return None

    cells: list[Cell] = []
    for cell in table.cells:
        place = moved((cell.char_start, cell.char_end))
        if place is not None:
            cells.append(replace(cell, char_start=place[0], char_end=place[1]))
    said = [cell for cell in cells if cell.char_start < cell.char_end]
    if not any(cell.row >= table.head_rows for cell in said):
        return None
    return replace(
        table,
        char_start=min(cell.char_start for cell in said),
        char_end=max(cell.char_end for cell in said),
        cells=tuple(cells),
        caption=moved(table.caption),
        unit=moved(table.unit),
    )

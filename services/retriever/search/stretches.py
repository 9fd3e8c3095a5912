"""The text around hits, with the tables in it: what passages are cut from."""

from collections.abc import Sequence
from dataclasses import dataclass

from services.postgres.pool import Connection
from services.retriever.documents import Table, joined
from services.retriever.records import ChunkRecord
from services.text.tables import Cell, Place

# Text is read so far around a hit, in characters a token: no ordinary text has longer ones on average.
CHARS_PER_TOKEN = 8
# Before a table stands what it is about: so many characters of it are read with its head.
INTRODUCTION = 300

_SECTIONS = """
select id, char_start, char_end from sections where organization_id = %(organization)s and id = any(%(ids)s)
"""
_PAGES = """
select p.index, p.label, p.char_start, p.text, p.uncertain from pages p
join documents d on d.organization_id = p.organization_id and d.id = p.document_id and d.current_version = p.version
where p.organization_id = %(organization)s and p.document_id = %(document)s
  and p.char_start < %(end)s and p.char_start + length(p.text) >= %(start)s
order by p.index
"""
_TABLES = """
select t.data from tables t
join documents d on d.organization_id = t.organization_id and d.id = t.document_id and d.current_version = t.version
where t.organization_id = %(organization)s and t.document_id = %(document)s
  and t.char_start < %(end)s and t.char_end > %(start)s
order by t.ordinal
"""


@dataclass(frozen=True)
class PageText:
    """A page of a fragment: where it begins in the document, its number and label."""

    char_start: int
    page: int
    label: str


@dataclass(frozen=True)
class Fragment:
    """A piece of a document's text; `start` is its first character there. Uncertain: what OCR was not sure of."""

    start: int
    text: str
    pages: tuple[PageText, ...]
    uncertain: tuple[Place, ...] = ()

    @property
    def end(self) -> int:
        return self.start + len(self.text)


@dataclass(frozen=True)
class TableText:
    """A table, and what is above its rows in the stretch: its introduction and head, and the titles of the rows' group.

    None of that where it lies in the stretch itself.
    """

    table: Table
    head: Place
    above: tuple[Fragment, ...] = ()


@dataclass(frozen=True)
class Stretch:
    """The text around some hits of one section."""

    hits: tuple[ChunkRecord, ...]
    body: Fragment
    tables: tuple[TableText, ...] = ()


async def stretches(
    connection: Connection,
    organization_id: int,
    hits: Sequence[ChunkRecord],
    passage_tokens: int,
    *,
    hits_only: bool,
) -> list[Stretch]:
    """One per section, in the order of their best hits; with hits_only, one per hit."""
    groups: dict[int, list[ChunkRecord]] = {}
    for hit in hits:
        groups.setdefault(-hit.id if hits_only else hit.section_id, []).append(hit)
    bounds = await _bounds(connection, organization_id, [hit.section_id for hit in hits])
    reach = passage_tokens * CHARS_PER_TOKEN
    result = []
    for members in groups.values():
        first = min(hit.char_start for hit in members)
        last = max(hit.char_end for hit in members)
        section_start, section_end = bounds[members[0].section_id]
        if not hits_only:
            first = min(first, max(section_start, first - reach))
            last = max(last, min(section_end, last + reach))
        document = _Document(connection, organization_id, members[0].document_id)
        body = await document.read(first, last)
        begun = await document.tables(body.start, body.end)
        split = [_head(table, section_start)[0] for table in begun if _splits_head(table, body)]
        if split:
            body = await document.read(min(split), last)
        tables = [await _table(document, table, body, section_start) for table in begun]
        result.append(Stretch(tuple(members), body, tuple(tables)))
    return result


async def _bounds(
    connection: Connection, organization_id: int, ids: Sequence[int]
) -> dict[int, tuple[int, int]]:
    rows = await connection.execute(_SECTIONS, {"organization": organization_id, "ids": list(ids)})
    return {row[0]: (row[1], row[2]) for row in await rows.fetchall()}


@dataclass(frozen=True)
class _Document:
    connection: Connection
    organization_id: int
    id: int

    async def read(self, start: int, end: int) -> Fragment:
        """The text from start to end, put together from its pages."""
        cursor = await self.connection.execute(_PAGES, self._key(start, end))
        rows = await cursor.fetchall()
        base = rows[0][2]
        start = max(start, base)  # It may lie between two pages.
        text = joined((page_start, content) for _, _, page_start, content, _ in rows)
        uncertain = tuple(
            (row[4][at], row[4][at + 1]) for row in rows for at in range(0, len(row[4]), 2)
        )
        pages = tuple(PageText(page_start, index, label) for index, label, page_start, _, _ in rows)
        return Fragment(start, text[start - base : end - base], pages, uncertain)

    async def tables(self, start: int, end: int) -> list[Table]:
        cursor = await self.connection.execute(_TABLES, self._key(start, end))
        return [Table.from_json(data) for (data,) in await cursor.fetchall()]

    def _key(self, start: int, end: int) -> dict[str, int]:
        return {
            "organization": self.organization_id,
            "document": self.id,
            "start": start,
            "end": end,
        }


async def _table(
    document: _Document, table: Table, body: Fragment, section_start: int
) -> TableText:
    head = _head(table, section_start)
    if table.char_start >= body.start:
        return TableText(table, (max(head[0], body.start), head[1]))
    above = [await document.read(*head)]
    titles = _titles(table, body.start)
    if titles is not None and titles[0] >= head[1]:
        above.append(await document.read(*titles))
    return TableText(table, head, tuple(above))


def _splits_head(table: Table, body: Fragment) -> bool:
    """Whether the text begins within the head of a table."""
    return table.char_start < body.start <= _head(table, 0)[1]


def _head(table: Table, section_start: int) -> Place:
    """From what introduces a table to the end of its head rows."""
    spoken = [place[0] for place in (table.caption, table.unit) if place]
    start = max(section_start, min([table.char_start, *spoken]) - INTRODUCTION)
    ends = [cell.char_end for cell in table.cells if cell.row < table.head_rows]
    return min(start, table.char_start), max(ends, default=table.char_start)


def rows_of(table: Table) -> dict[int, tuple[Cell, ...]]:
    """Row -> the cells that begin in it and say something, in the order of the text."""
    found: dict[int, list[Cell]] = {}
    for cell in sorted(table.cells, key=lambda cell: (cell.row, cell.column)):
        if cell.char_start < cell.char_end:
            found.setdefault(cell.row, []).append(cell)
    return {row: tuple(cells) for row, cells in found.items()}


def _titles(table: Table, before: int) -> Place | None:
    """The titles of the group that the rows from a character on are in: one cell a row, over all columns or alone."""
    run: list[tuple[Cell, ...]] = []
    ended = False
    for row, cells in rows_of(table).items():
        if row < table.head_rows or cells[0].char_start >= before:
            continue
        if len(cells) == 1 and cells[0].column == 0:
            run = [cells] if ended else [*run, cells]
            ended = False
        else:
            ended = True
    return (run[0][0].char_start, run[-1][0].char_end) if run else None

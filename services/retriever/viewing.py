"""Back to the page: where a quote stands, from the boxes kept with its page, and the page as a picture."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from folio.formats import DRAWN, MediaType
from services.postgres.pool import TenantPool, tenant
from services.retriever import places
from services.retriever.documents import Box, Page
from services.retriever.parsing import ParserPool
from services.retriever.parsing.wire import Quote
from services.rpc.errors import FailedPrecondition, InvalidArgument, NotFound
from services.rpc.identity import Principal

DEFAULT_DPI = 110

_FILE = """
select v.media_type, v.page_count, coalesce(f.text_layer, f.bytes)
from documents d
join document_versions v
  on v.organization_id = d.organization_id and v.document_id = d.id and v.version = d.current_version
join files f on f.organization_id = v.organization_id and f.document_id = v.document_id and f.version = v.version
where d.organization_id = %(organization)s and d.id = %(document)s
"""
_PAGES = """
select p.index, p.label, p.text, p.char_start, p.boxes, v.media_type from pages p
join documents d on d.organization_id = p.organization_id and d.id = p.document_id and d.current_version = p.version
join document_versions v
  on v.organization_id = p.organization_id and v.document_id = p.document_id and v.version = p.version
where p.organization_id = %(organization)s and p.document_id = %(document)s
  and exists (select from unnest(%(starts)s::bigint[], %(ends)s::bigint[]) span (char_start, char_end)
               where p.char_start < span.char_end and p.char_start + length(p.text) > span.char_start)
order by p.index
"""
_EXISTS = """
select 1 from documents where organization_id = %(organization)s and id = %(document)s and current_version is not null
"""


@dataclass(frozen=True)
class Span:
    """Characters of a document's text, end exclusive."""

    document_id: int
    char_start: int
    char_end: int


@dataclass(frozen=True)
class Region:
    """Where on one page a quote stands."""

    page: int
    label: str
    boxes: tuple[Box, ...]
    media_type: str
    """Of the document: what its pages are, follows from it."""


@dataclass(frozen=True)
class _File:
    media_type: str
    page_count: int
    data: bytes


@dataclass(frozen=True)
class _Piece:
    """The part of a span, by its index in the request, that stands on one page."""

    span: int
    page: Page
    start: int
    end: int


class Viewer:
    """Reads stored files again."""

    def __init__(self, pool: TenantPool, parser: ParserPool) -> None:
        self._pool, self._parser = pool, parser

    async def start(self) -> None:
        """Starts the parser, so that the first quote does not wait for it."""
        await self._parser.start()

    async def locate(self, principal: Principal, spans: Sequence[Span]) -> list[tuple[Region, ...]]:
        """For each span, in order, its regions; none where the document has no pages, or they cannot be opened.

        NotFound if a document is not there, InvalidArgument for an empty span.
        """
        for index, span in enumerate(spans):
            if span.char_end <= span.char_start:
                raise InvalidArgument.field(
                    f"spans[{index}]", "char_end must be greater than char_start"
                )
        result: list[list[Region]] = [[] for _ in spans]
        for document_id in dict.fromkeys(span.document_id for span in spans):
            wanted = [i for i, span in enumerate(spans) if span.document_id == document_id]
            pages, unkept, media_type = await self._pages(
                principal, document_id, [spans[i] for i in wanted]
            )
            pieces = [
                _Piece(i, page, spans[i].char_start, spans[i].char_end)
                for i in wanted
                for page in pages
                if page.char_start < spans[i].char_end and page.char_end > spans[i].char_start
            ]
            found = await asyncio.to_thread(
                lambda pieces: [places.regions(p.page, p.start, p.end) for p in pieces], pieces
            )
            again = [at for at, piece in enumerate(pieces) if piece.page.index in unkept]
            if again:
                read = await self._read_again(principal, document_id, [pieces[at] for at in again])
                for at, boxes in zip(again, read, strict=True):
                    found[at] = boxes
            for piece, boxes in zip(pieces, found, strict=True):
                if boxes:
                    region = Region(piece.page.index, piece.page.label, tuple(boxes), media_type)
                    result[piece.span].append(region)
        return [tuple(regions) for regions in result]

    async def _pages(
        self, principal: Principal, document_id: int, spans: Sequence[Span]
    ) -> tuple[list[Page], set[int], str]:
        """The pages that the spans touch, which of them were read before boxes were kept, and the file's format."""
        key = {"organization": principal.organization_id, "document": document_id}
        starts = [span.char_start for span in spans]
        ends = [span.char_end for span in spans]
        async with tenant(self._pool, principal, snapshot=True) as connection:
            if await (await connection.execute(_EXISTS, key)).fetchone() is None:
                raise NotFound("no such document")
            cursor = await connection.execute(
                _PAGES, {**key, "starts": starts, "ends": ends}, binary=True
            )
            rows = await cursor.fetchall()
        pages = [
            Page(index, label, text, start, boxes=bytes(boxes or b""))
            for index, label, text, start, boxes, _ in rows
        ]
        media_type = rows[0][5] if rows else ""
        return pages, {row[0] for row in rows if row[4] is None}, media_type

    async def _read_again(
        self, principal: Principal, document_id: int, pieces: Sequence[_Piece]
    ) -> list[list[Box]]:
        """The same from the file, by the words."""
        file = await self._file(principal, document_id)
        if file.media_type != MediaType.PDF:
            return [[] for _ in pieces]
        try:
            return await self._parser.locate(file.data, [_quote(piece) for piece in pieces])
        except FailedPrecondition:
            # Encrypted: its password was for the ingest, and is not stored.
            return [[] for _ in pieces]

    async def render(
        self, principal: Principal, document_id: int, page: int, dpi: int, highlights: Sequence[Box]
    ) -> tuple[bytes, int, int]:
        """PNG, width and height in pixels.

        FailedPrecondition for a format without pages to draw, InvalidArgument for no such page.
        """
        file = await self._file(principal, document_id)
        if file.media_type not in DRAWN:
            raise FailedPrecondition(
                f"the document is {file.media_type}; only PDF and pictures have pages that can be drawn",
                reason="NOT_A_PDF",
            )
        if page >= file.page_count:
            raise InvalidArgument.field(
                "page", f"the document has pages 0 to {file.page_count - 1}, got {page}"
            )
        return await self._parser.render(file.data, page, dpi or DEFAULT_DPI, highlights)

    async def _file(self, principal: Principal, document_id: int) -> _File:
        key = {"organization": principal.organization_id, "document": document_id}
        async with tenant(self._pool, principal, snapshot=True) as connection:
            row = await (await connection.execute(_FILE, key, binary=True)).fetchone()
            if row is None:
                raise NotFound("no such document")
        return _File(row[0], row[1], bytes(row[2]))


def _quote(piece: _Piece) -> Quote:
    page = piece.page
    first, last = max(0, piece.start - page.char_start), piece.end - page.char_start
    before = sum(map(str.isalnum, page.text[:first]))
    return Quote(page.index, page.text[first:last], before)

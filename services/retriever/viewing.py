"""Back to the page: where a quote stands, and the page as a picture. From the stored bytes, in a parser process."""

from collections.abc import Sequence
from dataclasses import dataclass

from folio.formats import MediaType
from services.postgres.pool import TenantPool, tenant
from services.retriever.documents import Box
from services.retriever.parsing import ParserPool
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
select p.index, p.label, p.char_start from pages p
join documents d on d.organization_id = p.organization_id and d.id = p.document_id and d.current_version = p.version
where p.organization_id = %(organization)s and p.document_id = %(document)s order by p.index
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


@dataclass(frozen=True)
class _File:
    media_type: str
    page_count: int
    data: bytes
    labels: list[str]
    starts: list[int]


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
        result: list[tuple[Region, ...]] = [()] * len(spans)
        for document_id in dict.fromkeys(span.document_id for span in spans):
            wanted = [i for i, span in enumerate(spans) if span.document_id == document_id]
            file = await self._file(principal, document_id)
            if file.media_type != MediaType.PDF:
                continue
            try:
                found = await self._parser.locate(
                    file.data,
                    [(spans[i].char_start, spans[i].char_end) for i in wanted],
                    page_starts=file.starts,
                )
            except FailedPrecondition:
                # Encrypted: its password was for the ingest, and is not stored.
                continue
            for i, places in zip(wanted, found, strict=True):
                result[i] = tuple(
                    Region(page, file.labels[page], tuple(boxes)) for page, boxes in places
                )
        return result

    async def render(
        self, principal: Principal, document_id: int, page: int, dpi: int, highlights: Sequence[Box]
    ) -> tuple[bytes, int, int]:
        """PNG, width and height in pixels. FailedPrecondition if it is no PDF, InvalidArgument for no such page."""
        file = await self._file(principal, document_id)
        if file.media_type != MediaType.PDF:
            raise FailedPrecondition(
                f"the document is {file.media_type}; only PDF has pages that can be drawn",
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
            pages = await (await connection.execute(_PAGES, key)).fetchall()
        labels = [""] * (1 + max((index for index, _, _ in pages), default=-1))
        for index, label, _ in pages:
            labels[index] = label
        return _File(row[0], row[1], bytes(row[2]), labels, [start for _, _, start in pages])

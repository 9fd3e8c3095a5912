"""Writes the parts of a version, in transactions of bounded size. Nothing of it is visible before it is published."""

import asyncio
import hashlib
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pgvector import Vector
from psycopg import sql
from psycopg.types.json import Jsonb

from services.postgres.pool import Connection
from services.retriever.documents import ChunkSpan, ParsedDocument, status
from services.retriever.embedders import Vectors
from services.retriever.ingest.claims import Claim, Upload
from services.retriever.search import lexical

_PAGE = """
insert into pages (organization_id, document_id, version, rooftop_id, index, label, char_start, text, furniture, boxes,
                   uncertain)
values (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)
"""
_TABLE = """
insert into tables (organization_id, document_id, version, rooftop_id, ordinal, char_start, char_end, page_start,
                    page_end, data)
values (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s)
"""
_SECTION = """
insert into sections (organization_id, document_id, version, rooftop_id, ordinal, path, char_start, char_end,
                      page_start, page_end, token_count)
values (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)
"""
_CHUNK = sql.SQL("""
insert into chunks (organization_id, document_id, version, rooftop_id, collection_id, section_id, ordinal, page_start,
                    page_end, page_label, kind, published_on, heading, body, reading, terms, char_start, char_end,
                    token_count, text_sha256, {column}, window_id)
values (%s, %s, %s, %s, (select collection_id from documents where organization_id = %s and id = %s),
        %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s,
        (select id from chunks where document_id = %s and version = %s and ordinal = %s and organization_id = %s))
""")
_FINISH = """
update document_versions
   set status = 'STAGED', outcome = %(outcome)s, title = %(title)s, media_type = %(media_type)s,
       page_count = %(pages)s, chunk_count = %(chunks)s, warnings = %(warnings)s, empty_pages = %(empty)s,
       words = %(words)s, row_count = %(rows)s
 where organization_id = %(organization)s and document_id = %(document_id)s and version = %(version)s
   and worker = %(worker)s and status = 'STAGING'
"""


@dataclass(frozen=True)
class Staging:
    """One version that is being written."""

    organization_id: int
    rooftop_id: int | None
    claim: Claim
    worker: str

    @property
    def key(self) -> tuple[int, int, int, int | None]:
        """The first columns of every table of a version."""
        return (
            self.organization_id,
            self.claim.document_id,
            self.claim.version,
            self.rooftop_id,
        )


def text_sha256(text: str) -> bytes:
    """The key of a text in the embedding cache: of exactly what is embedded."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


async def write_file(connection: Connection, staging: Staging, data: bytes) -> None:
    """The bytes, for finding quotes on pages and for drawing pages."""
    await connection.execute(
        "insert into files (organization_id, document_id, version, rooftop_id, bytes) "
        "values (%s, %s, %s, %s, %s)",
        [*staging.key, data],
    )


async def write_pages(connection: Connection, staging: Staging, document: ParsedDocument) -> None:
    """All pages, in order."""
    async with connection.cursor() as cursor:
        await cursor.executemany(
            _PAGE,
            [
                (
                    *staging.key,
                    page.index,
                    page.label,
                    page.char_start,
                    page.text,
                    page.furniture,
                    page.boxes,
                    [offset for span in page.uncertain for offset in span],
                )
                for page in document.pages
            ],
        )


async def write_sections(
    connection: Connection, staging: Staging, document: ParsedDocument, token_counts: Sequence[int]
) -> list[int]:
    """All sections; returns their ids in order."""
    page_at = _page_at(document)
    async with connection.cursor() as cursor:
        await cursor.executemany(
            _SECTION,
            [
                (
                    *staging.key,
                    ordinal,
                    list(section.path),
                    section.char_start,
                    section.char_end,
                    page_at(section.char_start),
                    page_at(max(section.char_start, section.char_end - 1)),
                    token_counts[ordinal],
                )
                for ordinal, section in enumerate(document.sections)
            ],
        )
        await cursor.execute(
            "select id from sections where organization_id = %s and document_id = %s and version = %s "
            "order by ordinal",
            staging.key[:3],
        )
        return [row[0] for row in await cursor.fetchall()]


async def write_tables(connection: Connection, staging: Staging, document: ParsedDocument) -> None:
    """All tables, in order."""
    page_at = _page_at(document)
    async with connection.cursor() as cursor:
        await cursor.executemany(
            _TABLE,
            [
                (
                    *staging.key,
                    ordinal,
                    table.char_start,
                    table.char_end,
                    page_at(table.char_start),
                    page_at(max(table.char_start, table.char_end - 1)),
                    Jsonb(table.as_json()),
                )
                for ordinal, table in enumerate(document.tables)
            ],
        )


def _page_at(document: ParsedDocument) -> Callable[[int], int]:
    """From an offset in the document's text to its physical page."""
    starts = [page.char_start for page in document.pages]
    return lambda offset: document.pages[max(0, bisect_right(starts, offset) - 1)].index


async def write_chunks(
    connection: Connection,
    staging: Staging,
    upload: Upload,
    document: ParsedDocument,
    text: str,
    spans: Sequence[ChunkSpan],
    section_ids: Sequence[int],
    vectors: Vectors,
    column: str,
) -> None:
    """A run of chunks. A row of NaN in `vectors` stores no vector: that chunk is found by its words alone."""
    rows = await asyncio.to_thread(
        _chunk_rows, staging, upload, document, text, spans, section_ids, vectors
    )
    async with connection.cursor() as cursor:
        await cursor.executemany(_CHUNK.format(column=sql.Identifier(column)), rows)


def _chunk_rows(
    staging: Staging,
    upload: Upload,
    document: ParsedDocument,
    text: str,
    spans: Sequence[ChunkSpan],
    section_ids: Sequence[int],
    vectors: Vectors,
) -> list[tuple[object, ...]]:
    rows: list[tuple[object, ...]] = []
    for span, vector in zip(spans, vectors, strict=True):
        body = text[span.char_start : span.char_end]
        path = document.sections[span.section].path
        heading = "\n".join([document.title, *path])
        usable = vector[0] == vector[0]
        rows.append(
            (
                *staging.key,
                staging.organization_id,
                staging.claim.document_id,
                section_ids[span.section],
                span.ordinal,
                span.page_start,
                span.page_end,
                span.page_label,
                upload.kind,
                upload.published_on,
                heading,
                body,
                span.reading,
                lexical.row_terms(body, f"{heading}\n{span.reading}")
                if span.reading
                else lexical.index_terms(f"{heading}\n{body}"),
                span.char_start,
                span.char_end,
                span.token_count,
                text_sha256(span.encoded(document.title, text)),
                Vector(vector) if usable else None,
                staging.claim.document_id,
                staging.claim.version,
                span.window,
                staging.organization_id,
            )
        )
    return rows


async def finish(
    connection: Connection,
    staging: Staging,
    document: ParsedDocument,
    chunk_count: int,
    without_vector: int,
    row_count: int = 0,
) -> None:
    """Marks the version complete. Of its chunks `row_count` are rows of tables."""
    words = await asyncio.to_thread(_words, document)
    warnings = list(document.warnings)
    if without_vector:
        warnings.append(
            f"{without_vector} of {chunk_count} chunks have no vector and can be found by words only"
        )
    await connection.execute(
        _FINISH,
        {
            "organization": staging.organization_id,
            "document_id": staging.claim.document_id,
            "version": staging.claim.version,
            "worker": staging.worker,
            "outcome": status(document, without_vector),
            "title": document.title,
            "media_type": str(document.media_type),
            "pages": len(document.pages),
            "chunks": chunk_count,
            "rows": row_count,
            "warnings": warnings,
            "empty": list(document.empty_pages),
            "words": words,
        },
    )


def _words(document: ParsedDocument) -> list[str]:
    """The document's vocabulary. By pages: one match over a long text would keep every other thread waiting."""
    parts = [document.title, *(page.text for page in document.pages)]
    return sorted(set().union(*map(lexical.words, parts)))

"""Documents as lists and single records, and the vocabulary of filters."""

import base64
import binascii
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from psycopg.rows import class_row

from services.postgres.filters import Filter
from services.postgres.pool import Connection
from services.retriever.records import DOCUMENT_FILTER, ChunkRecord, DocumentRecord
from services.rpc.errors import InvalidArgument, NotFound

_RECORD = """
select d.id, d.rooftop_id, coalesce(k.name, '') as collection, d.file_name, d.created_at, d.updated_at,
       v.version, v.sha256, v.title, v.media_type, v.kind, v.published_on, v.size_bytes, v.status, v.outcome,
       v.page_count, v.chunk_count, v.warnings, v.empty_pages, v.error
from documents d
join document_versions v
  on v.organization_id = d.organization_id and v.document_id = d.id and v.version = {version}
left join collections k on k.organization_id = d.organization_id and k.id = d.collection_id
where d.organization_id = %(organization)s
"""
_VERSION = _RECORD.format(version="%(version)s")
# The served version, else the newest: a first version that is being read, or has failed, is listed as such.
_DOCUMENT = _RECORD.format(
    version="""coalesce(
       d.current_version,
       (select max(n.version) from document_versions n
         where n.organization_id = d.organization_id and n.document_id = d.id))"""
)
_LIST = f"""{_DOCUMENT} and d.id > %(after)s and {DOCUMENT_FILTER}
order by d.id limit %(limit)s"""

_CHUNK = """
select c.id, c.document_id, c.section_id, c.ordinal, c.page_start, c.page_end, c.page_label,
       v.title, d.file_name, coalesce(k.name, '') as collection, c.kind, c.published_on,
       s.path as section_path, c.body, c.char_start, c.char_end, v.sha256, c.token_count, v.media_type, c.reading
from chunks c
join documents d on d.organization_id = c.organization_id and d.id = c.document_id
join document_versions v
  on v.organization_id = c.organization_id and v.document_id = c.document_id and v.version = c.version
join sections s on s.organization_id = c.organization_id and s.id = c.section_id
left join collections k on k.organization_id = d.organization_id and k.id = d.collection_id
where c.organization_id = %(organization)s and c.live and c.id = any(%(ids)s)
"""

MAX_NAMED_DOCUMENTS = 2000
_COLLECTIONS = """
select distinct k.name from documents d
join collections k on k.organization_id = d.organization_id and k.id = d.collection_id
where d.organization_id = %(organization)s and d.current_version is not null order by 1 limit 1000
"""
_KINDS = """
select distinct v.kind from documents d join document_versions v
  on v.organization_id = d.organization_id and v.document_id = d.id and v.version = d.current_version
where d.organization_id = %(organization)s and v.kind <> '' order by 1 limit 1000
"""
_NAMED_DOCUMENTS = """
select d.id, v.title, d.file_name, v.kind, coalesce(k.name, '') as collection, v.published_on
from documents d join document_versions v
  on v.organization_id = d.organization_id and v.document_id = d.id and v.version = d.current_version
left join collections k on k.organization_id = d.organization_id and k.id = d.collection_id
where d.organization_id = %(organization)s
order by d.updated_at desc, d.id desc limit %(limit)s
"""


@dataclass(frozen=True)
class NamedDocument:
    """A document as the words of a question may name it."""

    id: int
    title: str
    file_name: str
    kind: str
    collection: str
    published_on: date | None


@dataclass(frozen=True)
class Names:
    """What filters can name."""

    collections: list[str]
    kinds: list[str]
    documents: list[NamedDocument]


async def get(connection: Connection, organization_id: int, document_id: int) -> DocumentRecord:
    """One document. NotFound if there is none, or it is another tenant's."""
    cursor = connection.cursor(row_factory=class_row(DocumentRecord))
    await cursor.execute(
        f"{_DOCUMENT} and d.id = %(id)s".encode(),
        {"organization": organization_id, "id": document_id},
    )
    found = await cursor.fetchone()
    if found is None:
        raise NotFound("no such document")
    return found


async def get_version(
    connection: Connection, organization_id: int, document_id: int, version: int
) -> DocumentRecord:
    """One document as a version of it describes it. NotFound if there is none."""
    cursor = connection.cursor(row_factory=class_row(DocumentRecord))
    await cursor.execute(
        f"{_VERSION} and d.id = %(id)s".encode(),
        {"organization": organization_id, "id": document_id, "version": version},
    )
    found = await cursor.fetchone()
    if found is None:
        raise NotFound("no such version of a document")
    return found


async def page(
    connection: Connection, organization_id: int, size: int, token: str, chosen: Filter
) -> tuple[list[DocumentRecord], str]:
    """A page of documents by id, and the token of the next ("" after the last).

    The token names the last id (keyset): documents that come or go meanwhile neither repeat nor hide others.
    """
    cursor = connection.cursor(row_factory=class_row(DocumentRecord))
    await cursor.execute(
        _LIST.encode(),
        {
            "organization": organization_id,
            "after": _after(token),
            "limit": size + 1,
            **chosen.parameters(),
        },
    )
    found = await cursor.fetchall()
    return found[:size], _token(found[size - 1].id) if len(found) > size else ""


def _token(last_id: int) -> str:
    return base64.urlsafe_b64encode(json.dumps({"after": last_id}).encode()).decode()


def _after(token: str) -> int:
    if not token:
        return 0
    try:
        after = json.loads(base64.urlsafe_b64decode(token.encode()))["after"]
    except (ValueError, KeyError, TypeError, binascii.Error):
        after = None
    if type(after) is not int or not 0 <= after < 2**63:
        raise InvalidArgument.field("page_token", "was not issued by this service")
    return after


async def chunks(
    connection: Connection, organization_id: int, ids: Sequence[int]
) -> list[ChunkRecord]:
    """The chunks of these ids that are served and the principal's, in the order asked."""
    cursor = connection.cursor(row_factory=class_row(ChunkRecord))
    await cursor.execute(_CHUNK.encode(), {"organization": organization_id, "ids": list(ids)})
    found = {record.id: record for record in await cursor.fetchall()}
    return [found[identifier] for identifier in dict.fromkeys(ids) if identifier in found]


async def documents_of(
    connection: Connection, organization_id: int, ids: Sequence[int]
) -> dict[int, int]:
    """The document of each of these chunks that is served and the principal's."""
    rows = await connection.execute(
        "select id, document_id from chunks where organization_id = %s and live and id = any(%s)",
        [organization_id, list(ids)],
    )
    return dict(await rows.fetchall())


async def names(connection: Connection, organization_id: int) -> Names:
    """The collections, kinds and newest documents that are served."""
    parameters = {"organization": organization_id, "limit": MAX_NAMED_DOCUMENTS}
    collections = await (await connection.execute(_COLLECTIONS, parameters)).fetchall()
    kinds = await (await connection.execute(_KINDS, parameters)).fetchall()
    cursor = connection.cursor(row_factory=class_row(NamedDocument))
    await cursor.execute(_NAMED_DOCUMENTS, parameters)
    return Names(
        [row[0] for row in collections], [row[0] for row in kinds], await cursor.fetchall()
    )

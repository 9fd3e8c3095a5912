"""The one switch that makes a version visible, and its opposite. Each is one transaction."""

from typing import Any

from psycopg.rows import dict_row

from services.postgres.pool import Connection
from services.retriever.ingest import embedding_cache
from services.retriever.search import vocabulary
from services.rpc.errors import FailedPrecondition, NotFound, PermissionDenied

# PostgreSQL plans the check of a foreign key once, instead of once for each posting and each trigram, and in a table
# that was small when it did so the check stays a step down an index.
_PLANS = (
    "select set_config('plan_cache_mode', 'auto', true), set_config('enable_seqscan', 'off', true)"
)
_LOCK = """
select from documents where organization_id = %(organization)s and id = %(document_id)s for update
"""
_STATE = """
select d.current_version, d.rooftop_id, v.status, v.outcome, v.words,
       coalesce(o.words, '{}') as old_words, coalesce(o.chunk_count, 0) as old_chunks
from documents d
left join document_versions v
  on v.organization_id = d.organization_id and v.document_id = d.id and v.version = %(version)s
left join document_versions o
  on o.organization_id = d.organization_id and o.document_id = d.id and o.version = d.current_version
where d.organization_id = %(organization)s and d.id = %(document_id)s
"""
_POSTINGS = """
with words as materialized (
    select c.organization_id, word.lexeme, c.id, c.document_id, c.rooftop_id, c.window_id,
           cardinality(word.positions) as tf, total.length
    from chunks c
    cross join lateral to_tsvector(
        'english', concat_ws(E'\\n', c.heading, coalesce(nullif(c.reading, ''), c.body), c.terms)) as words
    cross join lateral (select sum(cardinality(positions))::integer as length from unnest(words)) total
    cross join lateral unnest(words) word
    where c.organization_id = %(organization)s and c.document_id = %(document_id)s and c.version = %(version)s
      and (c.reading = '' or c.window_id is not null)
), of_windows as (
    insert into postings (organization_id, lexeme, chunk_id, document_id, rooftop_id, tf, length)
    select organization_id, lexeme, id, document_id, rooftop_id, tf, length from words where window_id is null
), of_rows as (
    insert into row_postings (organization_id, lexeme, row_id, window_id, document_id, rooftop_id, tf, length)
    select organization_id, lexeme, id, window_id, document_id, rooftop_id, tf, length
    from words where window_id is not null
)
update document_versions set lexeme_count = (
    select coalesce(sum(tf), 0) from words where window_id is null)
where organization_id = %(organization)s and document_id = %(document_id)s and version = %(version)s
"""
_HASHES = """
select distinct text_sha256 from chunks
where organization_id = %(organization)s and document_id = %(document_id)s and version <> %(version)s
"""


async def publish(
    connection: Connection, organization_id: int, document_id: int, version: int
) -> None:
    """Readers see this version from the commit on; what it replaces is gone. Idempotent.

    NotFound for a version that is not there, FailedPrecondition for one that is not finished, or that would replace
    a readable one by a scan without text.
    """
    key = {"organization": organization_id, "document_id": document_id, "version": version}
    found = await _lock(connection, key)
    if found["status"] is None:
        raise NotFound("no such version of a document; it may have been replaced by a newer one")
    if found["current_version"] == version:
        return
    if found["status"] != "STAGED":
        raise FailedPrecondition(
            f"the version is {found['status']}, not STAGED; ingest the file again",
            reason="NOT_STAGED",
        )
    if found["outcome"] == "NEEDS_OCR" and found["old_chunks"]:
        raise FailedPrecondition(
            "the new file has no text, so the current version is kept; ingest it where OCR is installed (extra `ocr`)",
            reason="NEEDS_OCR",
        )
    replaced = [row[0] for row in await (await connection.execute(_HASHES, key)).fetchall()]
    # Everything of the other versions goes with their rows (foreign keys cascade).
    await connection.execute(
        "delete from document_versions where organization_id = %(organization)s "
        "and document_id = %(document_id)s and version < %(version)s",
        key,
    )
    await connection.execute(
        "update chunks set live = true where organization_id = %(organization)s "
        "and document_id = %(document_id)s and version = %(version)s",
        key,
    )
    await connection.execute(_POSTINGS, key)
    await connection.execute(
        "update document_versions set status = outcome, published_at = now() where organization_id = %(organization)s "
        "and document_id = %(document_id)s and version = %(version)s",
        key,
    )
    await connection.execute(
        "update documents set current_version = %(version)s, updated_at = now() "
        "where organization_id = %(organization)s and id = %(document_id)s",
        key,
    )
    await embedding_cache.forget(connection, organization_id, replaced)
    # Last, because its rows are shared by all documents: whoever publishes next waits for them.
    await vocabulary.replace(
        connection, organization_id, found["rooftop_id"], found["old_words"], found["words"]
    )


async def delete(connection: Connection, organization_id: int, document_id: int) -> int:
    """Removes a document and everything made from it; returns how many chunks that were. NotFound if there is none."""
    key = {"organization": organization_id, "document_id": document_id, "version": 0}
    found = await _lock(connection, key)
    hashes = [row[0] for row in await (await connection.execute(_HASHES, key)).fetchall()]
    chunks = await connection.execute(
        "delete from chunks where organization_id = %(organization)s and document_id = %(document_id)s",
        key,
    )
    await connection.execute(
        "delete from documents where organization_id = %(organization)s and id = %(document_id)s",
        key,
    )
    await embedding_cache.forget(connection, organization_id, hashes)
    await vocabulary.replace(
        connection, organization_id, found["rooftop_id"], found["old_words"], []
    )
    return chunks.rowcount


async def _lock(connection: Connection, key: dict[str, int]) -> dict[str, Any]:
    """The document and its versions, as they stay until the transaction ends."""
    await connection.execute(_PLANS)
    locked = await connection.execute(_LOCK, key)
    if await locked.fetchone() is not None:
        # A statement of its own: one that waited for the lock still sees the versions from before its wait.
        state = await connection.cursor(row_factory=dict_row).execute(_STATE, key)
        found = await state.fetchone()
        assert found is not None
        return found
    visible = await connection.execute(
        "select 1 from documents where organization_id = %(organization)s and id = %(document_id)s",
        key,
    )
    if await visible.fetchone() is None:
        raise NotFound("no such document")
    # A part of the organization reads what belongs to all of it, but does not change it.
    raise PermissionDenied(
        "this document belongs to the whole organization; a key for one rooftop may not change it"
    )

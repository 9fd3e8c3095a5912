"""A new embedding model without downtime: a new column, a backfill, its index, then the switch; the old one is dropped.

    EMBEDDINGS_MODEL=… folio admin add-model     # column, backfill, index; run again to go on
    restart the retrievers with the same EMBEDDINGS_ settings           # the switch
    … admin add-model                                                   # what was ingested in between
    … admin drop-model OLD

Any number of `add-model` may run at once: each takes rows that no other has locked, and is done when all are.
"""

import asyncio
import re
import time

import numpy as np
import psycopg
from pgvector import Vector
from pgvector.psycopg import register_vector
from psycopg import sql

from services.retriever.embedders import Embedder
from services.rpc import identity
from services.rpc.errors import FailedPrecondition, NotFound
from services.rpc.identity import Principal

BATCH = 64
INDEX_POLL_S = 0.5

_TAKE = sql.SQL("""
select id, folio.encoded_text(heading, reading, body) from folio.chunks
where organization_id = %s and (reading = '' or window_id is not null) and {column} is null and not (id = any(%s))
order by id limit %s for update {wait}
""")
# Any numbers, the same in every process.
_REGISTER_LOCK, _INDEX_LOCK = 4_271_330_518, 4_271_330_519


def column_name(model: str) -> str:
    """embedding_ and the model's name in letters that a column may have."""
    return "embedding_" + re.sub(r"[^a-z0-9]+", "_", model.lower()).strip("_")[-40:].strip("_")


async def add(admin_url: str, embedder: Embedder, organizations: list[int]) -> int:
    """Brings every chunk's vector of the embedder's model into its column; returns how many were made."""
    column = await asyncio.to_thread(_register, admin_url, embedder)
    made = 0
    for organization_id in organizations:
        made += await _fill(admin_url, embedder, column, organization_id)
    await asyncio.to_thread(_index, admin_url, column, organizations)
    await asyncio.to_thread(_ready, admin_url, embedder.model)
    return made


def drop(admin_url: str, model: str) -> None:
    """Removes a model's vectors. FailedPrecondition if it is the only one that is complete."""
    with psycopg.connect(admin_url) as connection:
        rows = connection.execute(
            "select name, column_name, state from folio.embedding_models"
        ).fetchall()
        column = next((row[1] for row in rows if row[0] == model), None)
        if column is None:
            raise NotFound(f"no model '{model}'; there are: {', '.join(row[0] for row in rows)}")
        if not any(row[2] == "ready" and row[0] != model for row in rows):
            raise FailedPrecondition(f"{model} is the only model that is complete")
        connection.execute(
            sql.SQL("alter table folio.chunks drop column {}").format(sql.Identifier(column))
        )
        connection.execute("delete from folio.embedding_models where name = %s", [model])


def _register(admin_url: str, embedder: Embedder) -> str:
    with psycopg.connect(admin_url) as connection:
        connection.execute("select pg_advisory_xact_lock(%s)", [_REGISTER_LOCK])
        row = connection.execute(
            "select column_name, dim, revision from folio.embedding_models where name = %s",
            [embedder.model],
        ).fetchone()
        if row is not None:
            column, dim, revision = row
            if dim != embedder.dim:
                raise FailedPrecondition(
                    f"{embedder.model} is registered with {dim} dimensions, not {embedder.dim}"
                )
            if revision and embedder.revision and revision != embedder.revision:
                raise FailedPrecondition(
                    f"the column has vectors of revision {revision} of {embedder.model}, not {embedder.revision}; "
                    "vectors of two revisions cannot be compared: drop the model first, or give it another name"
                )
            return str(column)
        column = column_name(embedder.model)
        connection.execute(
            sql.SQL("alter table folio.chunks add column {} public.vector({})").format(
                sql.Identifier(column), sql.Literal(embedder.dim)
            )
        )
        connection.execute(
            "insert into folio.embedding_models (name, column_name, dim, revision, state) "
            "values (%s, %s, %s, %s, 'filling')",
            [embedder.model, column, embedder.dim, embedder.revision],
        )
        return column


async def _fill(admin_url: str, embedder: Embedder, column: str, organization_id: int) -> int:
    # Who the encoder works for, where it has the model.
    identity.enter(Principal(organization_id), "")
    made, skipped = 0, list[int]()
    # At the end, rows that others have locked are waited for: they come free without a vector if their worker dies.
    wait = sql.SQL("skip locked")
    name = sql.Identifier(column)
    async with await psycopg.AsyncConnection.connect(admin_url) as connection:
        await connection.set_autocommit(True)
        while True:
            # One transaction a batch: the rows stay locked while the model works, and are free if this process dies.
            async with connection.transaction():
                await connection.execute(
                    "select set_config('app.organization_id', %s, true)", [str(organization_id)]
                )
                taken = await connection.execute(
                    _TAKE.format(column=name, wait=wait), [organization_id, skipped, BATCH]
                )
                rows = await taken.fetchall()
                if not rows and wait == sql.SQL(""):
                    return made
                wait = sql.SQL("skip locked" if rows else "")
                if not rows:
                    continue
                vectors = await embedder.embed([text for _, text in rows])
                for (identifier, _), vector in zip(rows, vectors, strict=True):
                    if not np.isfinite(vector).all():
                        skipped.append(identifier)
                        continue
                    await connection.execute(
                        sql.SQL(
                            "update folio.chunks set {} = %s::public.vector "
                            "where organization_id = %s and id = %s"
                        ).format(name),
                        [Vector(vector).to_text(), organization_id, identifier],
                    )
                    made += 1


def _index(admin_url: str, column: str, organizations: list[int]) -> None:
    """An HNSW index on each partition, built while it is read and written, then joined to the parent's."""
    parent = sql.Identifier(f"chunks_{column}")
    indexed = sql.SQL("using hnsw ({} vector_cosine_ops) where live").format(sql.Identifier(column))
    with psycopg.connect(admin_url, autocommit=True) as connection:
        register_vector(connection)
        connection.execute("set search_path = folio, public")
        # Tried, not waited for: a concurrent build waits for every statement that began before it.
        while connection.execute("select pg_try_advisory_lock(%s)", [_INDEX_LOCK]).fetchone() == (
            False,
        ):
            time.sleep(INDEX_POLL_S)
        connection.execute(
            sql.SQL("create index if not exists {} on only chunks {}").format(parent, indexed)
        )
        for organization_id in organizations:
            name = f"chunks_{organization_id}_{column}"
            row = connection.execute(
                "select indisvalid from pg_index where indexrelid = to_regclass(%s)",
                [f"folio.{name}"],
            ).fetchone()
            if row == (False,):
                # A build that was broken off.
                connection.execute(sql.SQL("drop index {}").format(sql.Identifier(name)))
            connection.execute(
                sql.SQL("create index concurrently if not exists {} on {} {}").format(
                    sql.Identifier(name), sql.Identifier(f"chunks_{organization_id}"), indexed
                )
            )
            connection.execute(
                sql.SQL("alter index {} attach partition {}").format(parent, sql.Identifier(name))
            )


def _ready(admin_url: str, model: str) -> None:
    with psycopg.connect(admin_url) as connection:
        connection.execute(
            "update folio.embedding_models set state = 'ready' where name = %s", [model]
        )

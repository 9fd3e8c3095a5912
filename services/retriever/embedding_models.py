"""Which column holds which model's vectors, and the gate that keeps two models out of one column."""

from services.postgres.pool import TenantPool
from services.retriever.embedders import Embedder
from services.rpc.errors import FailedPrecondition

_MODEL = """
select m.column_name, m.dim, m.revision, m.state, format_type(a.atttypid, a.atttypmod)
from embedding_models m
left join pg_attribute a on a.attrelid = 'folio.chunks'::regclass and a.attname = m.column_name and not a.attisdropped
where m.name = %s
"""


async def column_of(pool: TenantPool, embedder: Embedder) -> str:
    """The column of the embedder's model. FailedPrecondition, saying what to run, if anything does not fit."""
    async with pool.pool.connection(timeout=30.0) as connection, connection.transaction():
        await connection.execute("select set_config('search_path', 'folio, public', true)")
        row = await (await connection.execute(_MODEL, [embedder.model])).fetchone()
    if row is None:
        raise FailedPrecondition(
            f"the index has no vectors of {embedder.model}; run "
            "`folio admin add-model` with the same EMBEDDINGS_ settings"
        )
    column, dim, revision, state, kind = row
    if dim != embedder.dim or kind != f"vector({dim})":
        raise FailedPrecondition(
            f"{embedder.model} produces vectors of {embedder.dim} numbers, but the column {column} is {kind} for {dim}"
        )
    if revision and embedder.revision and revision != embedder.revision:
        raise FailedPrecondition(
            f"the index was made with revision {revision} of {embedder.model}, not {embedder.revision}; "
            "vectors of two revisions cannot be compared: add it as a separate model"
        )
    if state != "ready":
        raise FailedPrecondition(
            f"the vectors of {embedder.model} are not complete; run `folio admin add-model`"
        )
    return str(column)

"""The two legs of search as ranked lists of (chunk id, score). Every query names the organization; both take filters.

The lists are deterministic: ties go by id, and a list is never cut inside a tie by accident of the plan.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from pgvector import Vector
from psycopg import sql

from services.postgres.filters import Filter
from services.postgres.pool import Connection
from services.retriever.embedders import Vectors
from services.retriever.records import DOCUMENT_FILTER
from services.retriever.search import lexical

Ranked = list[tuple[int, float]]

# Robertson and Zaragoza, "The Probabilistic Relevance Framework" (2009): b 0.5 to 0.8, k1 1.2 to 2.
K1, B = 1.2, 0.75

# Filters are of whole documents, so what passes is a sum over documents, exact and cheap.
_ELIGIBLE = f"""
select coalesce(sum(v.chunk_count - v.row_count), 0)::bigint, coalesce(array_agg(d.id), '{{}}')
from documents d
join document_versions v
  on v.organization_id = d.organization_id and v.document_id = d.id and v.version = d.current_version
left join collections k on k.organization_id = d.organization_id and k.id = d.collection_id
where d.organization_id = %(organization)s and v.chunk_count > 0 and {DOCUMENT_FILTER}
"""

_WHERE = sql.SQL("""
from chunks where organization_id = %(organization)s and live and reading = ''
and (%(documents)s::bigint[] is null or document_id = any(%(documents)s))
""")
# The operator alone in ORDER BY is what the index can serve.
_DENSE = sql.SQL("""
select id, {column} <=> %(vector)s as distance {where} and {column} is not null
order by {column} <=> %(vector)s limit %(limit)s
""")
# "+ 0" cannot be served by the index: every row that passes is compared.
_DENSE_EXACT = sql.SQL("""
select id, {column} <=> %(vector)s as distance {where} and {column} is not null
order by ({column} <=> %(vector)s) + 0, id limit %(limit)s
""")
_SPARSE = (Path(__file__).parent / "sparse.sql").read_text().encode()


@dataclass(frozen=True)
class Visible:
    """What a search may return: `eligible` chunks, of `documents` (null for all of the organization)."""

    organization_id: int
    eligible: int
    documents: list[int] | None


async def visible(connection: Connection, organization_id: int, chosen: Filter) -> Visible:
    """Resolves the filter to documents, once for both legs."""
    row = await (
        await connection.execute(
            _ELIGIBLE.encode(), {"organization": organization_id, **chosen.parameters()}
        )
    ).fetchone()
    assert row is not None
    return Visible(organization_id, row[0], None if chosen == Filter() else list(row[1]))


async def dense(
    connection: Connection, within: Visible, column: str, vector: Vectors, k: int, exact_below: int
) -> Ranked:
    """(id, cosine similarity), nearest first: min(k, eligible) of them, less chunks without a vector.

    Up to `exact_below` eligible chunks are compared one by one; above that the HNSW index is asked, and if its
    answer is short (it stops after hnsw.max_scan_tuples), they are compared after all.
    """
    parameters = {
        "organization": within.organization_id,
        "documents": within.documents,
        "vector": Vector(vector),
    }
    parts = {"column": sql.Identifier(column), "where": _WHERE}

    async def ask(query: sql.SQL, limit: int) -> Ranked:
        cursor = await connection.execute(query.format(**parts), {**parameters, "limit": limit})
        return [(row[0], float(row[1])) for row in await cursor.fetchall()]

    found: Ranked = []
    if within.eligible > exact_below:
        # The planner's estimate of an HNSW scan is high: at some thousand rows it would rather sort them all.
        await connection.execute("set local enable_sort = off")
        found = await _past_ties(lambda limit: ask(_DENSE, limit), k)
        await connection.execute("set local enable_sort = on")
    if len(found) < min(k, within.eligible):
        found = await ask(_DENSE_EXACT, k)
    return [(identifier, 1.0 - distance) for identifier, distance in found]


async def sparse(
    connection: Connection, within: Visible, query: str, k: int, *, k1: float = K1, b: float = B
) -> Ranked:
    """(id, BM25 score), best first; only chunks that hold a word of the query, any word."""
    cursor = await connection.execute(
        _SPARSE,
        {
            "organization": within.organization_id,
            "documents": within.documents,
            "query": query,
            "k1": k1,
            "b": b,
            "limit": k,
        },
    )
    return [(row[0], float(row[1])) for row in await cursor.fetchall()]


def sparse_query(text: str) -> str:
    """A user's text as a query of the sparse leg: any text is legal."""
    return lexical.query_terms(text)


async def _past_ties(ask: Callable[[int], Awaitable[Ranked]], k: int) -> Ranked:
    """The first k by (score, id), whichever of several equal scores the index happened to give first."""
    limit = k + max(8, k // 8)
    while True:
        found = await ask(limit)
        ranked = sorted(found, key=lambda entry: (entry[1], entry[0]))
        if len(ranked) < limit or limit >= 16 * k or ranked[-1][1] > ranked[k - 1][1]:
            return ranked[:k]
        limit *= 2


def finite(vectors: Vectors) -> list[bool]:
    """Which query vectors can be searched with."""
    return [bool(np.isfinite(vector).all()) for vector in vectors]

"""The two legs of search as ranked lists of windows. Every query names the organization; both take filters.

A row of a table that is found stands for the window that holds it: a window has the best score of its own and of its
rows. So rows push no window out of a list, however many there are. The lists are deterministic: ties go by id, and a
list is never cut inside a tie by accident of the plan.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from pgvector import Vector
from psycopg import sql

from services.postgres.filters import Filter
from services.postgres.pool import Connection
from services.retriever.embedders import Vectors
from services.retriever.records import DOCUMENT_FILTER
from services.retriever.search import lexical


class Entry(NamedTuple):
    """A window and its score. `row`: the best of its rows that were found, 0 for none."""

    id: int
    score: float
    row: int = 0


Ranked = list[Entry]

# Robertson and Zaragoza, "The Probabilistic Relevance Framework" (2009): b 0.5 to 0.8, k1 1.2 to 2.
K1, B = 1.2, 0.75

# A short text is nearer to a question than a long one that says the same. A row is taken for farther than it is by so
# much cosine similarity, and speaks for its window only where it is nearer than that all the same.
ROW_MARGIN = 0.1
# Of what a question's words weigh a row holds so much, or it says nothing of its window.
ROW_SHARE = 0.6
# Rows that the index is asked for, for each window: those of one table may share a few windows.
ROWS_ASKED = 4

# Filters are of whole documents, so what passes is a sum over documents, exact and cheap.
_ELIGIBLE = f"""
select coalesce(sum(v.chunk_count - v.row_count), 0)::bigint, coalesce(sum(v.chunk_count), 0)::bigint,
       coalesce(array_agg(d.id), '{{}}')
from documents d
join document_versions v
  on v.organization_id = d.organization_id and v.document_id = d.id and v.version = d.current_version
left join collections k on k.organization_id = d.organization_id and k.id = d.collection_id
where d.organization_id = %(organization)s and v.chunk_count > 0 and {DOCUMENT_FILTER}
"""

_WHERE = sql.SQL("""
from chunks where organization_id = %(organization)s and live
and (%(documents)s::bigint[] is null or document_id = any(%(documents)s))
""")
# The operator alone in ORDER BY is what the index can serve.
_DENSE = sql.SQL("""
select id, {column} <=> %(vector)s as distance {where} and {column} is not null and window_id is null
order by {column} <=> %(vector)s limit %(limit)s
""")
_DENSE_ROWS = sql.SQL("""
select window_id, {column} <=> %(vector)s as distance, id {where} and {column} is not null and window_id is not null
order by {column} <=> %(vector)s limit %(limit)s
""")
# "+ 0" cannot be served by the index: every row that passes is compared.
_DENSE_EXACT = sql.SQL("""
with compared as (
    select id, window_id, ({column} <=> %(vector)s) + 0 as distance {where} and {column} is not null
)
select coalesce(window_id, id), min(case when window_id is null then distance else distance + %(margin)s end),
       coalesce((array_agg(id order by distance, id) filter (where window_id is not null))[1], 0)
from compared group by 1 order by 2, 1 limit %(limit)s
""")
_SPARSE = (Path(__file__).parent / "sparse.sql").read_text().encode()


@dataclass(frozen=True)
class Visible:
    """What a search may return: `eligible` windows, of `documents` (null for all of the organization). With the rows
    of tables there are `compared` chunks in them."""

    organization_id: int
    eligible: int
    compared: int
    documents: list[int] | None


async def visible(connection: Connection, organization_id: int, chosen: Filter) -> Visible:
    """Resolves the filter to documents, once for both legs."""
    row = await (
        await connection.execute(
            _ELIGIBLE.encode(), {"organization": organization_id, **chosen.parameters()}
        )
    ).fetchone()
    assert row is not None
    return Visible(organization_id, row[0], row[1], None if chosen == Filter() else list(row[2]))


async def dense(
    connection: Connection, within: Visible, column: str, vector: Vectors, k: int, exact_below: int
) -> Ranked:
    """By cosine similarity, nearest first: min(k, eligible) windows, less those without a vector.

    Up to `exact_below` chunks are compared one by one. Above that the HNSW index is asked for the nearest windows and
    for the nearest rows, ROWS_ASKED for a window; if the windows are too few (it stops after hnsw.max_scan_tuples),
    all are compared after all.
    """
    parameters = {
        "organization": within.organization_id,
        "documents": within.documents,
        "vector": Vector(vector),
        "margin": ROW_MARGIN,
    }
    parts = {"column": sql.Identifier(column), "where": _WHERE}

    async def ask(query: sql.SQL, limit: int) -> Ranked:
        cursor = await connection.execute(query.format(**parts), {**parameters, "limit": limit})
        return [Entry(*row) for row in await cursor.fetchall()]

    found: Ranked = []
    if within.compared > exact_below:
        # The planner's estimate of an HNSW scan is high: at some thousand rows it would rather sort them all.
        await connection.execute("set local enable_sort = off")
        windows = await _past_ties(lambda limit: ask(_DENSE, limit), k)
        if len(windows) >= min(k, within.eligible):
            rows: Ranked = []
            if within.compared > within.eligible:
                rows = await _past_ties(lambda limit: ask(_DENSE_ROWS, limit), ROWS_ASKED * k)
            found = _lifted(windows, rows)[:k]
        await connection.execute("set local enable_sort = on")
    if len(found) < min(k, within.eligible):
        found = await ask(_DENSE_EXACT, k)
    return [entry._replace(score=1.0 - entry.score) for entry in found]


async def sparse(
    connection: Connection,
    within: Visible,
    query: str,
    k: int,
    *,
    k1: float = K1,
    b: float = B,
    apart: bool = False,
) -> Ranked:
    """By BM25 score, best first; only windows that hold a word of the query, any word. `apart`: rows of tables stand
    for themselves, not for their windows."""
    cursor = await connection.execute(
        _SPARSE,
        {
            "organization": within.organization_id,
            "documents": within.documents,
            "query": query,
            "k1": k1,
            "b": b,
            "limit": k,
            "apart": apart,
            "share": ROW_SHARE,
        },
    )
    return [Entry(row[0], float(row[1]), row[2] or 0) for row in await cursor.fetchall()]


def sparse_query(text: str) -> str:
    """A user's text as a query of the sparse leg: any text is legal."""
    return lexical.query_terms(text)


async def _past_ties(ask: Callable[[int], Awaitable[Ranked]], k: int) -> Ranked:
    """The first k by (score, id), whichever of several equal scores the index happened to give first."""
    limit = k + max(8, k // 8)
    while True:
        found = await ask(limit)
        ranked = sorted(found, key=lambda entry: (entry.score, entry.id))
        if len(ranked) < limit or limit >= 16 * k or ranked[-1].score > ranked[k - 1].score:
            return ranked[:k]
        limit *= 2


def _lifted(windows: Ranked, rows: Ranked) -> Ranked:
    """Windows at their own distance or their nearest row's, whichever is less; the nearest first."""
    best = {window.id: window for window in windows}
    for row in sorted(rows, key=lambda row: (row.score, row.row)):
        distance = row.score + ROW_MARGIN
        window = best.get(row.id)
        if window is None:
            best[row.id] = row._replace(score=distance)
        elif not window.row:
            best[row.id] = Entry(row.id, min(window.score, distance), row.row)
    return sorted(best.values(), key=lambda entry: (entry.score, entry.id))


def finite(vectors: Vectors) -> list[bool]:
    """Which query vectors can be searched with."""
    return [bool(np.isfinite(vector).all()) for vector in vectors]

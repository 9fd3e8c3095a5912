"""Hybrid search: each query gives a dense and a sparse list, and all lists are fused by reciprocal rank."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from folio.common.v1 import query_pb2, step_pb2
from services.postgres.filters import Filter
from services.postgres.pool import Connection, TenantPool, tenant
from services.retriever import catalogue
from services.retriever.embedders import Embedder, Vectors
from services.retriever.records import ChunkRecord
from services.retriever.search import legs, lexical, vocabulary
from services.retriever.search.fusion import fuse
from services.retriever.search.legs import Ranked, Visible
from services.rpc import deadline
from services.rpc.errors import InvalidArgument
from services.rpc.identity import Principal
from services.rpc.report import Report

NO_FILTER = Filter()
DEFAULT_LIMIT = 100
# Each leg looks a little further than the limit, so that fusion has something to reorder.
LEAST_DEPTH = 50
MOST_DEPTH = 2000
# With a bound per document most of a list may be passed over.
PER_DOCUMENT_DEPTH = 4


@dataclass(frozen=True)
class Query:
    """A text to search with."""

    text: str
    kind: "query_pb2.QueryKind.ValueType" = query_pb2.QUERY_KIND_QUESTION


@dataclass(frozen=True)
class Request:
    """`limit` hits of the chunks that pass the filter, at most `max_per_document` of each (0: any number)."""

    queries: tuple[Query, ...]
    limit: int = DEFAULT_LIMIT
    filter: Filter = NO_FILTER
    dense: bool = True
    sparse: bool = True
    typos: bool = True
    max_per_document: int = 0


@dataclass(frozen=True)
class Hit:
    """Ranks from 1 in the best list of each leg, 0 for none; scores are with the first query. `rows`: of a table in the
    chunk, those that were found best, each at most once; a chunk is ranked by the best of itself and its rows."""

    chunk: ChunkRecord
    score: float
    dense_rank: int
    sparse_rank: int
    dense_score: float
    sparse_score: float
    rows: tuple[ChunkRecord, ...] = ()


@dataclass(frozen=True)
class Found:
    """Hits, best first, equal scores by chunk id."""

    hits: list[Hit]
    steps: list[step_pb2.StepReport]
    corrected_words: int


@dataclass
class _Sparse:
    """What the sparse leg found: a list for each query, lists for their codes, and how many words it corrected."""

    lists: list[Ranked] = field(default_factory=list)
    codes: list[Ranked] = field(default_factory=list)
    corrected: int = 0


@dataclass(frozen=True)
class _Lists:
    dense: list[Ranked]
    sparse: list[Ranked]
    codes: list[Ranked]


class Searcher:
    """Searches with one embedder in one column."""

    def __init__(
        self,
        pool: TenantPool,
        embedder: Embedder,
        column: str,
        *,
        exact_below: int,
        k1: float = legs.K1,
        b: float = legs.B,
    ) -> None:
        self._pool, self._embedder, self._column = pool, embedder, column
        self._exact_below, self._k1, self._b = exact_below, k1, b

    async def search(self, principal: Principal, request: Request) -> Found:
        """InvalidArgument if both legs are off. A failing embedder leaves the sparse leg, and is reported."""
        if not (request.dense or request.sparse):
            raise InvalidArgument("both search legs are left out; leave at least one in")
        report = Report()
        vectors = await self._embed(request, report)
        depth = max(
            request.limit * (PER_DOCUMENT_DEPTH if request.max_per_document else 1), LEAST_DEPTH
        )
        depth = min(depth, MOST_DEPTH)
        async with tenant(
            self._pool,
            principal,
            ef_search=2 * depth,
            statement_seconds=max(0.05, deadline.remaining()),
            snapshot=True,
        ) as connection:
            within = await legs.visible(connection, principal.organization_id, request.filter)
            dense = await self._dense(connection, within, vectors, depth, report)
            sparse = await self._sparse(connection, within, request, depth, report)
            lists = _Lists(dense, sparse.lists, sparse.codes)
            fused = fuse([[entry.id for entry in ranked] for ranked in _all(lists)])
            hits = await self._hits(connection, principal, request, lists, fused)
        return Found(hits, report.steps, sparse.corrected)

    async def _embed(self, request: Request, report: Report) -> list[Vectors | None]:
        """One for each query, none for a query that has no usable vector; nothing at all without the dense leg."""
        if not request.dense:
            report.skip(step_pb2.STEP_EMBED, "the dense leg is left out")
            return []
        found: list[Vectors | None] = []
        with report.step(
            step_pb2.STEP_EMBED, needed=not request.sparse, model=self._embedder.model
        ):
            vectors = await self._embedder.embed([q.text for q in request.queries], query=True)
            usable = legs.finite(vectors)
            found = [vector if good else None for vector, good in zip(vectors, usable, strict=True)]
        return found

    async def _dense(
        self,
        connection: Connection,
        within: Visible,
        vectors: Sequence[Vectors | None],
        depth: int,
        report: Report,
    ) -> list[Ranked]:
        if all(vector is None for vector in vectors):
            report.skip(step_pb2.STEP_DENSE, "no query vectors")
            return []
        how = "exact" if within.compared <= self._exact_below else "hnsw"
        with report.step(step_pb2.STEP_DENSE, needed=True, model=how):
            return [
                []
                if vector is None
                else await legs.dense(
                    connection, within, self._column, vector, depth, self._exact_below
                )
                for vector in vectors
            ]

    async def _sparse(
        self,
        connection: Connection,
        within: Visible,
        request: Request,
        depth: int,
        report: Report,
    ) -> "_Sparse":
        found = _Sparse()
        if not request.sparse:
            report.skip(step_pb2.STEP_SPARSE, "the sparse leg is left out")
            return found
        with report.step(step_pb2.STEP_SPARSE, needed=True, model="bm25"):
            for query in request.queries:
                if query.kind == query_pb2.QUERY_KIND_HYDE:
                    found.lists.append([])
                    continue
                text = lexical.bounded(query.text)
                if request.typos and query.kind == query_pb2.QUERY_KIND_QUESTION:
                    correction = await vocabulary.correct(connection, within.organization_id, text)
                    text, found.corrected = correction.text, found.corrected + correction.corrected
                found.lists.append(
                    await legs.sparse(
                        connection, within, legs.sparse_query(text), depth, k1=self._k1, b=self._b
                    )
                )
                # A code in the question is the strongest hint there is; its chunks get a list of their own.
                if codes := lexical.code_query(text):
                    found.codes.append(
                        await legs.sparse(
                            connection, within, codes, depth, k1=self._k1, b=self._b, apart=True
                        )
                    )
        return found

    async def _hits(
        self,
        connection: Connection,
        principal: Principal,
        request: Request,
        lists: _Lists,
        fused: Sequence[tuple[int, float]],
    ) -> list[Hit]:
        candidates = fused
        if request.max_per_document:
            documents = await catalogue.documents_of(
                connection, principal.organization_id, [id for id, _ in fused]
            )
            candidates = _spread(fused, documents, request.max_per_document)
        candidates = candidates[: request.limit]
        rows = _rows([*lists.dense, *lists.sparse], [id for id, _ in candidates])
        records = {
            record.id: record
            for record in await catalogue.chunks(
                connection,
                principal.organization_id,
                [id for each in rows.items() for id in (each[0], *each[1])],
            )
        }
        dense_ranks, sparse_ranks = (
            _best_ranks(lists.dense),
            _best_ranks([*lists.sparse, *lists.codes]),
        )
        dense_scores = _scores(lists.dense)
        sparse_scores = _scores(lists.sparse)
        return [
            Hit(
                records[identifier],
                score,
                dense_ranks.get(identifier, 0),
                sparse_ranks.get(identifier, 0),
                dense_scores.get(identifier, 0.0),
                sparse_scores.get(identifier, 0.0),
                tuple(records[row] for row in rows[identifier] if row in records),
            )
            for identifier, score in candidates
            if identifier in records
        ]


def _spread(
    fused: Sequence[tuple[int, float]], documents: Mapping[int, int], most: int
) -> list[tuple[int, float]]:
    """The best `most` of each document, in their order."""
    seen: Counter[int] = Counter()
    kept = []
    for identifier, score in fused:
        document = documents.get(identifier)
        if document is not None and seen[document] < most:
            seen[document] += 1
            kept.append((identifier, score))
    return kept


def _all(lists: _Lists) -> list[Ranked]:
    return [*lists.dense, *lists.sparse, *lists.codes]


def _best_ranks(lists: Sequence[Ranked]) -> dict[int, int]:
    best: dict[int, int] = {}
    for ranked in lists:
        for rank, entry in enumerate(ranked, 1):
            best[entry.id] = min(rank, best.get(entry.id, rank))
    return best


def _scores(lists: Sequence[Ranked]) -> dict[int, float]:
    return {entry.id: entry.score for ranked in lists[:1] for entry in ranked}


def _rows(lists: Sequence[Ranked], windows: Sequence[int]) -> dict[int, list[int]]:
    """The rows that were found of each of these windows, one a list."""
    found: dict[int, list[int]] = {window: [] for window in windows}
    for ranked in lists:
        for entry in ranked:
            rows = found.get(entry.id)
            if rows is not None and entry.row and entry.row not in (entry.id, *rows):
                rows.append(entry.row)
    return found

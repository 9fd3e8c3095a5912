"""The stage's work: score candidates for a query, index documents, search exhaustively."""

import asyncio
import hashlib
import heapq
from collections import OrderedDict
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from typing import Final
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from folio.common.v1 import step_pb2
from native import maxsim
from native.maxsim import Tiles
from services.colbert.cache import TileCache
from services.colbert.chunks import Chunks
from services.colbert.encoding import Document, Encoding, Query
from services.colbert.scoring import Scorer
from services.colbert.store import TokenStore
from services.postgres.filters import Filter
from services.rerank.ranking import CandidateScore
from services.rpc.errors import FailedPrecondition, InvalidArgument
from services.rpc.identity import Principal
from services.rpc.report import Report

Matrix = NDArray[np.float32]

MAX_QUERY_TOKENS: Final = 1024
# Queries' vectors that are remembered: one question is scored several times on its way.
_QUERY_BYTES = 64 * 2**20
# Chunks stored in one transaction of IndexDocument: what a killed run repeats at most.
_INDEX_STEP = 32
# Chunks held at once by one call: a thousand of 180 tokens and 384 dimensions take 70 MB.
_FETCH_STEP = 1000


@dataclass(frozen=True)
class Options:
    """What the caller asked for."""

    alignments: bool = False
    refuse_truncation: bool = False


@dataclass(frozen=True)
class Scored:
    """Scores in the caller's order, the query they are for, and what each part took."""

    scores: list[CandidateScore]
    query: Query
    steps: list[step_pb2.StepReport]


@dataclass(frozen=True)
class Hit:
    chunk_id: int
    score: float
    score_per_token: float


@dataclass(frozen=True)
class Progress:
    done: int
    total: int
    failed: int


class Reranker:
    """Late interaction over texts, vectors and stored chunks."""

    def __init__(
        self,
        encoding: Encoding,
        store: TokenStore,
        chunks: Chunks,
        cache: TileCache,
        scorer: Scorer,
        max_exact_chunks: int,
    ) -> None:
        self.encoding = encoding
        self._store = store
        self._chunks = chunks
        self._cache = cache
        self._scorer = scorer
        self._max_exact = max_exact_chunks
        self._queries: OrderedDict[tuple[int, str], Query] = OrderedDict()
        self._query_bytes = 0
        # By organization, document and version; a lock is there while somebody holds or awaits it.
        self._indexing: WeakValueDictionary[tuple[int, int, int], asyncio.Lock] = (
            WeakValueDictionary()
        )

    async def query(self, principal: Principal, text: str, options: Options | None = None) -> Query:
        """A query's vectors. InvalidArgument where it has no token, or too many and none may be cut."""
        key = (principal.organization_id, text)
        query = self._queries.get(key)
        if query is None:
            query = await self.encoding.query(text)
            if not len(query.vectors):
                raise InvalidArgument.field("text", "holds no token that can be scored")
            self._remember(key, query)
        if query.truncated and options and options.refuse_truncation:
            raise InvalidArgument.field(
                "text",
                f"has more than the {self.encoding.encoder.query_length} tokens that are read",
            )
        return query

    def _remember(self, key: tuple[int, str], query: Query) -> None:
        if key in self._queries:  # asked twice at once
            return
        self._queries[key] = query
        self._query_bytes += query.vectors.nbytes
        while self._query_bytes > _QUERY_BYTES:
            _, oldest = self._queries.popitem(last=False)
            self._query_bytes -= oldest.vectors.nbytes

    def given_query(self, vectors: Matrix) -> Query:
        """A caller's own query vectors. InvalidArgument where they cannot be scored."""
        if not 1 <= len(vectors) <= MAX_QUERY_TOKENS:
            raise InvalidArgument.field(
                "vectors.rows", f"is {len(vectors)}; expected 1 to {MAX_QUERY_TOKENS}"
            )
        if not np.isfinite(vectors).all() or float(np.abs(vectors).max()) > 2.0**52:
            raise InvalidArgument.field("vectors.data", "holds a value that is not finite")
        return Query(vectors)

    async def rerank_chunks(
        self, principal: Principal, query: Query, ids: Sequence[int], options: Options
    ) -> Scored:
        """By chunk id. NotFound for an id that the principal may not see."""
        self._require_dim(query)
        if options.alignments and self.encoding.pool_factor > 1:
            raise FailedPrecondition(
                "the index pools its tokens, so a stored row is not one token; ask for alignments"
                " with texts",
                reason="POOLED",
            )
        scores: list[CandidateScore] = []
        report = Report()
        for start in range(0, len(ids), _FETCH_STEP):
            with report.step(step_pb2.STEP_FETCH, needed=True):
                tiles = await self._chunks.tiles(principal, ids[start : start + _FETCH_STEP])
            with report.step(step_pb2.STEP_SCORE, needed=True):
                scores += await self._scorer.tiles(query, tiles, alignments=options.alignments)
        return Scored(scores, query, report.steps)

    async def rerank_texts(
        self, principal: Principal, query: Query, texts: Sequence[str], options: Options
    ) -> Scored:
        """By text. InvalidArgument where one is too long and none may be cut."""
        self._require_dim(query)
        report = Report()
        with report.step(step_pb2.STEP_ENCODE, needed=True):
            documents = await self._documents(principal, texts, options)
        if options.refuse_truncation:
            for index, document in enumerate(documents):
                if document.truncated:
                    raise InvalidArgument.field(
                        f"texts.texts[{index}]",
                        f"has more than the {self.encoding.encoder.document_length} tokens"
                        " that are read",
                    )
        with report.step(step_pb2.STEP_SCORE, needed=True):
            scores = await self._scorer.tiles(
                query, [document.tiles for document in documents], alignments=options.alignments
            )
        flagged = [
            scored._replace(truncated=True) if document.truncated else scored
            for scored, document in zip(scores, documents, strict=True)
        ]
        return Scored(flagged, query, report.steps)

    async def rerank_vectors(
        self, query: Query, documents: Sequence[Matrix], options: Options
    ) -> Scored:
        """By the caller's own vectors, of any model, in fp32."""
        if documents and documents[0].shape[1] != query.vectors.shape[1]:
            raise InvalidArgument.field(
                "document_vectors.tokens.dim",
                f"is {documents[0].shape[1]}; the query's is {query.vectors.shape[1]}",
            )
        report = Report()
        with report.step(step_pb2.STEP_SCORE, needed=True):
            scores = await self._scorer.matrices(query, documents, alignments=options.alignments)
        return Scored(scores, query, report.steps)

    async def index(
        self, principal: Principal, document_id: int, version: int
    ) -> AsyncIterator[Progress]:
        """Encodes what a version has no vectors of, in order; progress after each step.

        A second call for the same version waits for the first, and finds its work done.
        """
        key = (principal.organization_id, document_id, version)
        async with self._indexing.setdefault(key, asyncio.Lock()):
            total, missing = await self._store.version(principal, document_id, version)
            done, failed = total - len(missing), 0
            yield Progress(done, total, failed)
            for start in range(0, len(missing), _INDEX_STEP):
                step = missing[start : start + _INDEX_STEP]
                failed += await self._chunks.index(principal, step)
                done += len(step)
                yield Progress(done, total, failed)

    async def search(
        self, principal: Principal, query: Query, wanted: Filter, limit: int
    ) -> tuple[list[Hit], int]:
        """The best `limit` of all visible chunks that pass the filter, and how many were scored.

        FailedPrecondition where more chunks pass than the stage scores.
        """
        ids = await self._store.filtered(principal, wanted, self._max_exact + 1)
        if len(ids) > self._max_exact:
            raise FailedPrecondition(
                f"more than {self._max_exact} chunks pass the filter; narrow it, or search with"
                " the retriever",
                reason="TOO_MANY_CHUNKS",
            )
        packed = maxsim.Query(query.vectors, dtype="int8")
        best: list[tuple[float, int]] = []
        scored = 0
        for start in range(0, len(ids), _FETCH_STEP):
            step = ids[start : start + _FETCH_STEP]
            # A version published since the filter was applied has taken chunks away; they are no hits.
            tiles = await self._chunks.tiles(principal, step, skip_unknown=True)
            present = [
                (chunk_id, item)
                for chunk_id, item in zip(step, tiles, strict=True)
                if item is not None and item.tokens
            ]
            scored += len(present)
            scores = await self._scorer.scores(packed, [item for _, item in present])
            found = zip(scores.tolist(), (-chunk_id for chunk_id, _ in present), strict=True)
            best = heapq.nlargest(limit, [*best, *found])
        count = len(query.vectors)
        return [Hit(-negative, score, score / count) for score, negative in best], scored

    async def _documents(
        self, principal: Principal, texts: Sequence[str], options: Options
    ) -> list[Document]:
        """Texts' tiles, remembered by digest where nothing was cut."""
        organization = principal.organization_id
        unpooled = options.alignments and self.encoding.pool_factor > 1
        keys = [
            (organization, (hashlib.sha256(text.encode("utf-8", "replace")).digest(), unpooled))
            for text in texts
        ]
        known: dict[int, Tiles] = {}
        for index, key in enumerate(keys):
            tiles = self._cache.get(key)
            if tiles is not None:
                known[index] = tiles
        # Each distinct text once; duplicates share its result.
        missing = {keys[index]: text for index, text in enumerate(texts) if index not in known}
        encoded = dict(
            zip(
                missing,
                await self.encoding.documents(list(missing.values()), lossless=unpooled),
                strict=True,
            )
        )
        for key, document in encoded.items():
            if document.tiles is not None and not document.truncated:
                self._cache.put(key, document.tiles)
        return [
            Document(known[index]) if index in known else encoded[key]
            for index, key in enumerate(keys)
        ]

    def _require_dim(self, query: Query) -> None:
        dim = query.vectors.shape[1]
        if dim != self.encoding.dim:
            raise InvalidArgument.field(
                "vectors.dim", f"is {dim}; this model's vectors have {self.encoding.dim}"
            )

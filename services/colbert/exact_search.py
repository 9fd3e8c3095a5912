"""Late interaction over everything: no candidate list, no index."""

import heapq
from dataclasses import dataclass

from native import maxsim
from services.colbert.chunks import Chunks, in_steps
from services.colbert.encoding import Query
from services.colbert.scoring import Scorer
from services.colbert.store import TokenStore
from services.postgres.filters import Filter
from services.rpc.errors import FailedPrecondition
from services.rpc.identity import Principal


@dataclass(frozen=True)
class Hit:
    chunk_id: int
    score: float
    score_per_token: float


class ExactSearch:
    """Scores every chunk that the principal may see, up to `max_chunks` of them."""

    def __init__(self, store: TokenStore, chunks: Chunks, scorer: Scorer, max_chunks: int) -> None:
        self._store, self._chunks, self._scorer = store, chunks, scorer
        self._max_exact = max_chunks

    async def search(
        self, principal: Principal, query: Query, wanted: Filter, limit: int
    ) -> tuple[list[Hit], int]:
        """The best `limit` of all visible chunks that pass the filter, and how many were scored.

        FailedPrecondition where more chunks pass than this service scores.
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
        for step in in_steps(ids):
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

"""MaxSim outside the event loop, stopped when the caller leaves."""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from native import maxsim
from native.maxsim import Tiles
from services.colbert.encoding import Query
from services.rerank.ranking import Alignment, CandidateScore, Status

Matrix = NDArray[np.float32]
_Result = TypeVar("_Result")


class Scorer:
    """Scores queries against documents. Bit-equal whatever else is in the call."""

    def __init__(self, executor: Executor, threads: int) -> None:
        self._executor = executor
        self._threads = threads

    async def tiles(
        self, query: Query, tiles: Sequence[Tiles | None], *, alignments: bool
    ) -> list[CandidateScore]:
        """Scores of stored or encoded documents; None is a document that is not finite."""
        present = [item for item in tiles if item is not None and item.tokens]

        def work(cancel: maxsim.Cancel) -> list[CandidateScore]:
            scored = iter(self._score(query.vectors, present, alignments, cancel))
            return [
                CandidateScore(status=Status.NOT_FINITE)
                if item is None
                else next(scored)
                if item.tokens
                else CandidateScore(status=Status.EMPTY)
                for item in tiles
            ]

        return await self._run(work)

    async def matrices(
        self, query: Query, documents: Sequence[Matrix], *, alignments: bool
    ) -> list[CandidateScore]:
        """Scores of the caller's own token vectors, scored in fp32."""

        def work(cancel: maxsim.Cancel) -> list[CandidateScore]:
            finite = [bool(np.isfinite(matrix).all()) for matrix in documents]
            present = [
                matrix
                for matrix, is_finite in zip(documents, finite, strict=True)
                if is_finite and len(matrix)
            ]
            scored = iter(self._score(query.vectors, present, alignments, cancel))
            return [
                CandidateScore(status=Status.NOT_FINITE)
                if not is_finite
                else next(scored)
                if len(matrix)
                else CandidateScore(status=Status.EMPTY)
                for matrix, is_finite in zip(documents, finite, strict=True)
            ]

        return await self._run(work)

    async def scores(self, query: maxsim.Query, tiles: Sequence[Tiles]) -> NDArray[np.float32]:
        """Plain sums, -inf for documents without tokens."""
        return await self._run(
            lambda cancel: maxsim.scores(query, tiles, threads=self._threads, cancel=cancel)
        )

    async def _run(self, work: Callable[[maxsim.Cancel], _Result]) -> _Result:
        cancel = maxsim.Cancel()
        running = asyncio.get_running_loop().run_in_executor(self._executor, work, cancel)
        try:
            return await running
        except asyncio.CancelledError:
            cancel.set()
            raise

    def _score(
        self,
        query: Matrix,
        documents: Sequence[Tiles] | Sequence[Matrix],
        alignments: bool,
        cancel: maxsim.Cancel,
    ) -> list[CandidateScore]:
        if not documents:
            return []
        count = len(query)
        if not alignments:
            sums = maxsim.scores(
                query, documents, threads=self._threads, cancel=cancel, invalid="lowest"
            ).tolist()
            return [_candidate_score(score, count, None) for score in sums]
        found = maxsim.alignments(
            query, documents, threads=self._threads, cancel=cancel, invalid="lowest"
        )
        # Views, not lists: ten million numbers as Python objects take half a gigabyte.
        return [
            _candidate_score(score, count, Alignment(memoryview(tokens), memoryview(similarities)))
            for score, tokens, similarities in zip(
                found.scores.tolist(), found.tokens, found.similarities, strict=True
            )
        ]


def _candidate_score(
    score: float, query_tokens: int, alignment: Alignment | None
) -> CandidateScore:
    # -inf: a value too large for the kernel (above 2**52), which no finite sum can rank.
    if score == float("-inf"):
        return CandidateScore(status=Status.NOT_FINITE)
    return CandidateScore(score, score / query_tokens, alignment=alignment)

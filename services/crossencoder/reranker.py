"""Pairs to a model, in calls of the size that it takes, tried again inside the deadline."""

import asyncio
from collections.abc import Sequence

from services.crossencoder.models import PairScore, PairScorer
from services.outbound.retries import retrying
from services.rerank.ranking import CandidateScore, Status
from services.rpc.deadline import Deadline


class PairReranker:
    """Scores texts for a question with one model."""

    def __init__(self, scorer: PairScorer, attempts: int, attempt_seconds: float) -> None:
        self.scorer = scorer
        self._attempts = attempts
        self._attempt_seconds = attempt_seconds
        self._calls = asyncio.Semaphore(scorer.concurrency)

    async def rerank(
        self, query: str, texts: Sequence[str], deadline: Deadline, *, truncate: bool
    ) -> list[CandidateScore]:
        """Scores in the order of the texts. A blank text is EMPTY and goes to no model.

        All or nothing: a call that fails for good fails the request and ends the others.
        """
        wanted = [index for index, text in enumerate(texts) if text.strip()]
        size = self.scorer.batch_pairs
        groups = [wanted[start : start + size] for start in range(0, len(wanted), size)]
        scores = [CandidateScore(status=Status.EMPTY)] * len(texts)

        async def group(indices: list[int]) -> None:
            async with self._calls:
                found = await self._score(query, [texts[i] for i in indices], deadline, truncate)
            for index, item in zip(indices, found, strict=True):
                scores[index] = CandidateScore.of(item.score, truncated=item.truncated)

        tasks = [asyncio.create_task(group(indices)) for indices in groups]
        try:
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        return scores

    async def _score(
        self, query: str, texts: Sequence[str], deadline: Deadline, truncate: bool
    ) -> list[PairScore]:
        return await retrying(
            f"the {self.scorer.provider} reranker",
            lambda seconds: self.scorer.score(query, texts, truncate=truncate, seconds=seconds),
            deadline,
            attempts=self._attempts,
            longest_s=self._attempt_seconds,
        )

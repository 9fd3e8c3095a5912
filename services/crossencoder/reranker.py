"""The stage's work: pairs to a model in calls that it takes, tried again inside the deadline."""

import asyncio
import random
from collections.abc import Sequence

from services.crossencoder.models import PairScore, PairScorer
from services.rerank.ranking import Outcome, Status
from services.rpc.deadline import Deadline
from services.rpc.errors import ResourceExhausted, Unavailable

FIRST_PAUSE_S = 0.25
# What must be left after a pause for another try to be worth it.
LEAST_S = 0.25
# What a caller is told where the provider named no time.
RETRY_AFTER_S = 1.0


class PairReranker:
    """Scores texts for a question with one model."""

    def __init__(self, scorer: PairScorer, attempts: int, attempt_seconds: float) -> None:
        self.scorer = scorer
        self._attempts = attempts
        self._attempt_seconds = attempt_seconds
        self._calls = asyncio.Semaphore(scorer.concurrency)

    async def rerank(
        self, query: str, texts: Sequence[str], deadline: Deadline, *, truncate: bool
    ) -> list[Outcome]:
        """Outcomes in the order of the texts. A blank text is EMPTY and goes to no model.

        All or nothing: a call that fails for good fails the request and ends the others.
        """
        wanted = [index for index, text in enumerate(texts) if text.strip()]
        size = self.scorer.batch_pairs
        groups = [wanted[start : start + size] for start in range(0, len(wanted), size)]
        outcomes = [Outcome(status=Status.EMPTY)] * len(texts)

        async def group(indices: list[int]) -> None:
            async with self._calls:
                scores = await self._attempt(query, [texts[i] for i in indices], deadline, truncate)
            for index, item in zip(indices, scores, strict=True):
                outcomes[index] = Outcome.of(item.score, truncated=item.truncated)

        tasks = [asyncio.create_task(group(indices)) for indices in groups]
        try:
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        return outcomes

    async def _attempt(
        self, query: str, texts: Sequence[str], deadline: Deadline, truncate: bool
    ) -> list[PairScore]:
        attempt = 0
        while True:
            attempt += 1
            seconds = min(deadline.rest(), self._attempt_seconds)
            try:
                async with asyncio.timeout(seconds):
                    return await self.scorer.score(query, texts, truncate=truncate, seconds=seconds)
            except TimeoutError:
                error: ResourceExhausted | Unavailable = Unavailable(
                    f"{self.scorer.provider} did not answer within {seconds:.1f} s",
                    reason="PROVIDER_SLOW",
                )
            except (ResourceExhausted, Unavailable) as failure:
                error = failure
            await self._pause(attempt, error, deadline)

    async def _pause(
        self, attempt: int, error: ResourceExhausted | Unavailable, deadline: Deadline
    ) -> None:
        """Waits before another try, or raises: tries used up, or no time for the wait. A provider's
        Retry-After is obeyed where the deadline allows, and passed on to the caller where not.
        """
        backoff = FIRST_PAUSE_S * 2 ** (attempt - 1) * random.uniform(0.5, 1.0)
        pause = max(backoff, error.retry_after_s or 0.0)
        if attempt >= self._attempts or pause + LEAST_S > deadline.remaining():
            if error.retry_after_s is None:
                error.retry_after_s = RETRY_AFTER_S
            raise error
        await asyncio.sleep(pause)

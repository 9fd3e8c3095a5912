"""Dynamic batching: texts of concurrent calls, encoded together.

Lanes are served in order: queries before documents, both before the bulk work of indexing, so an
ingest delays a question by the batch that is running. A lane that was passed over a few times has the
next batch, so that no load stops an ingest for good. Within a lane the calls take turns, so a call with
a thousand texts does not hold up one with ten.
"""

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from enum import IntEnum

from services.colbert.encoders import Encoded
from services.rpc.errors import ResourceExhausted

log = logging.getLogger("folio.colbert")

Encode = Callable[[Sequence[str]], list[Encoded]]

# Batches of other lanes that a waiting lane lets pass.
_PATIENCE = 8
# Texts that a call may add to a batch before the next call's turn.
_TURN = 8
# Characters per token of English prose: for budgets, where a rough count will do.
_CHARACTERS_PER_TOKEN = 4


class Lane(IntEnum):
    QUERY = 0
    DOCUMENT = 1
    BULK = 2


class _Job:
    """The texts of one call. A result of None: the encoder could not do this text."""

    def __init__(self, texts: Sequence[str], limit: int) -> None:
        self.results: list[Encoded | None] = [None] * len(texts)
        self.waiting = deque(
            (index, text, min(len(text) // _CHARACTERS_PER_TOKEN + 2, limit))
            for index, text in enumerate(texts)
        )
        self.left = len(texts)
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def finish(self, index: int, result: Encoded | None) -> None:
        self.results[index] = result
        self.left -= 1
        if self.left == 0 and not self.done.done():
            self.done.set_result(None)


_Item = tuple[_Job, int, str]


class Batcher:
    """Runs `encoders[lane]` on batches of about `batch_tokens` tokens, one batch at a time."""

    def __init__(
        self,
        encoders: Mapping[Lane, Encode],
        limits: Mapping[Lane, int],
        *,
        batch_tokens: int,
        wait_s: float,
        queue_tokens: int,
    ) -> None:
        self._encoders = encoders
        self._limits = limits
        self._batch_tokens = batch_tokens
        self._wait_s = wait_s
        self._queue_tokens = queue_tokens
        self._queued = 0
        self._lanes: dict[Lane, deque[_Job]] = {lane: deque() for lane in Lane}
        self._passed = dict.fromkeys(Lane, 0)
        self._arrived = asyncio.Event()
        self._executor = ThreadPoolExecutor(1, "encode")
        self._worker: asyncio.Task[None] | None = None

    async def encode(self, lane: Lane, texts: Sequence[str]) -> list[Encoded | None]:
        """One result per text, in order; None for a text that the encoder failed on.

        Raises ResourceExhausted at once when too much is waiting. Cancelling drops what has not begun.
        """
        if not texts:
            return []
        job = _Job(texts, self._limits[lane])
        tokens = sum(cost for _, _, cost in job.waiting)
        # A call that alone exceeds the queue is taken when nothing waits: it could never run otherwise.
        if self._queued and self._queued + tokens > self._queue_tokens:
            raise ResourceExhausted(
                "too many tokens wait to be encoded; try again later",
                reason="OVERLOADED",
                retry_after_s=1.0,
            )
        self._queued += tokens
        self._lanes[lane].append(job)
        self._arrived.set()
        if self._worker is None:
            self._worker = asyncio.create_task(self._work())
        try:
            await job.done
        finally:
            self._queued -= sum(cost for _, _, cost in job.waiting)
            job.waiting.clear()
        return job.results

    async def close(self) -> None:
        """Stops after the batch that is running."""
        if self._worker is not None:
            self._worker.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._worker
        await asyncio.to_thread(self._executor.shutdown)

    async def _work(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            self._arrived.clear()
            lane = self._next_lane()
            if lane is None:
                await self._arrived.wait()
                # The first text after a pause waits a moment for company; under load nobody waits,
                # because a batch forms while the one before it runs.
                await asyncio.sleep(self._wait_s)
                continue
            batch = self._take(lane)
            if batch:
                encode = self._encoders[lane]
                texts = [text for _, _, text in batch]
                results = await loop.run_in_executor(self._executor, _encode_each, encode, texts)
                for (job, index, _), result in zip(batch, results, strict=True):
                    job.finish(index, result)

    def _next_lane(self) -> Lane | None:
        waiting = [lane for lane in Lane if self._lanes[lane]]
        if not waiting:
            return None
        chosen = next((lane for lane in waiting if self._passed[lane] >= _PATIENCE), waiting[0])
        for lane in waiting:
            self._passed[lane] = 0 if lane is chosen else self._passed[lane] + 1
        return chosen

    def _take(self, lane: Lane) -> list[_Item]:
        """The next batch of a lane: a few texts of each call in turn, up to the budget."""
        jobs, batch, budget = self._lanes[lane], list[_Item](), self._batch_tokens
        while jobs and budget > 0:
            job = jobs.popleft()
            for _ in range(_TURN):
                if not job.waiting or (batch and job.waiting[0][2] > budget):
                    break
                index, text, cost = job.waiting.popleft()
                batch.append((job, index, text))
                budget -= cost
                self._queued -= cost
            if job.waiting:
                jobs.append(job)
                if batch and job.waiting[0][2] > budget:
                    break
        return batch


def _encode_each(encode: Encode, texts: Sequence[str]) -> list[Encoded | None]:
    """A batch; where it fails, each of its texts alone, so that one bad text harms no other."""
    try:
        results = encode(texts)
        if len(results) != len(texts):
            raise ValueError(f"the encoder gave {len(results)} results for {len(texts)} texts")
        return list(results)
    except BaseException as error:  # noqa: BLE001  (a panic in Rust is no Exception)
        if len(texts) == 1:
            log.error("a text could not be encoded", extra={"error": type(error).__name__})
            return [None]
        return [result for text in texts for result in _encode_each(encode, [text])]

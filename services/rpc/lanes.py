"""Who is served next by a worker that does one batch at a time: work of concurrent calls in lanes.

Lanes are served in order: queries before documents, both before the bulk work of an ingest, so that a
question waits for one batch at most. A lane that was passed over a few times has the next batch, so that no
load stops an ingest for good. Within a lane the callers (organizations) take turns, and the calls of each.
"""

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from enum import IntEnum
from typing import Generic, TypeVar

from services.rpc.errors import ResourceExhausted

log = logging.getLogger("folio.rpc")

Item = TypeVar("Item")
Result = TypeVar("Result")

# Batches of other lanes that a waiting lane lets pass.
_PATIENCE = 8
# Items that a call may add to a batch before the next caller's turn.
_TURN = 8


class Lane(IntEnum):
    QUERY = 0
    DOCUMENT = 1
    BULK = 2


class _Job(Generic[Item, Result]):
    """The items of one call, each with its cost. A result of None: it could not be done."""

    def __init__(self, caller: Hashable, items: Sequence[Item], costs: Sequence[int]) -> None:
        self.caller = caller
        self.results: list[Result | None] = [None] * len(items)
        self.waiting = deque(zip(range(len(items)), items, costs, strict=True))
        self.left = len(items)
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def cost(self) -> int:
        return sum(cost for _, _, cost in self.waiting)

    def finish(self, index: int, result: Result | None) -> None:
        self.results[index] = result
        self.left -= 1
        if self.left == 0 and not self.done.done():
            self.done.set_result(None)


class _Queue(Generic[Item, Result]):
    """The jobs of one lane, and the cost of what waits in them, in all and by caller."""

    def __init__(self) -> None:
        self.jobs: dict[Hashable, deque[_Job[Item, Result]]] = {}
        self.cost = 0
        self.costs: dict[Hashable, int] = {}

    def add(self, job: _Job[Item, Result]) -> None:
        self.jobs.setdefault(job.caller, deque()).append(job)
        self._count(job.caller, job.cost())

    def drop(self, job: _Job[Item, Result]) -> None:
        """Forgets what of a job has not begun."""
        self._count(job.caller, -job.cost())
        job.waiting.clear()

    def take(self, budget: int) -> list[tuple[_Job[Item, Result], int, Item]]:
        """The next batch: some items of each caller in turn, up to the budget, one at least if there is any."""
        batch: list[tuple[_Job[Item, Result], int, Item]] = []
        while self.jobs and budget > 0:
            caller = next(iter(self.jobs))
            jobs = self.jobs.pop(caller)
            job = jobs.popleft()
            full = False
            for _ in range(_TURN):
                if not job.waiting:
                    break
                if full := bool(batch) and job.waiting[0][2] > budget:
                    break
                index, item, cost = job.waiting.popleft()
                batch.append((job, index, item))
                budget -= cost
                self._count(caller, -cost)
            if job.waiting:
                jobs.append(job)
            if jobs:
                # At the end: the others have their turn first.
                self.jobs[caller] = jobs
            if full:
                break
        return batch

    def _count(self, caller: Hashable, cost: int) -> None:
        self.cost += cost
        self.costs[caller] = self.costs.get(caller, 0) + cost
        if not self.costs[caller]:
            del self.costs[caller]


class Lanes(Generic[Item, Result]):
    """Runs `work[lane]` in a thread on batches that cost about `batch`, one batch at a time.

    `queue` is the cost that may wait in one lane; half of it of one caller, so that none of them fills a lane.
    `wait_s`: how long the first item after a pause waits for others to share its batch.
    """

    def __init__(
        self,
        work: Mapping[Lane, Callable[[Sequence[Item]], Sequence[Result]]],
        *,
        batch: int,
        queue: int,
        wait_s: float = 0.0,
    ) -> None:
        self._work = work
        self._batch, self._queue, self._wait_s = batch, queue, wait_s
        self._lanes: dict[Lane, _Queue[Item, Result]] = {lane: _Queue() for lane in Lane}
        self._passed = dict.fromkeys(Lane, 0)
        self._arrived = asyncio.Event()
        self._executor = ThreadPoolExecutor(1, "lanes")
        self._worker: asyncio.Task[None] | None = None

    async def run(
        self, lane: Lane, items: Sequence[Item], costs: Sequence[int], caller: Hashable = None
    ) -> list[Result | None]:
        """One result per item, in order; None for an item that the work failed on.

        Raises ResourceExhausted at once when too much is waiting. Cancelling drops what has not begun.
        """
        if not items:
            return []
        queue = self._lanes[lane]
        job: _Job[Item, Result] = _Job(caller, items, costs)
        cost = job.cost()
        # Work that alone exceeds the queue is taken when nothing waits: it could never run otherwise.
        own, all_of_it = queue.costs.get(caller, 0), queue.cost
        if (own and own + cost > self._queue // 2) or (
            all_of_it and all_of_it + cost > self._queue
        ):
            raise ResourceExhausted(
                "too many tokens wait to be encoded; try again later",
                reason="OVERLOADED",
                retry_after_s=1.0,
            )
        queue.add(job)
        self._arrived.set()
        if self._worker is None:
            self._worker = asyncio.create_task(self._serve())
        try:
            await job.done
        finally:
            queue.drop(job)
        return job.results

    async def close(self) -> None:
        """Stops after the batch that is running."""
        if self._worker is not None:
            self._worker.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._worker
        await asyncio.to_thread(self._executor.shutdown)

    async def _serve(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            self._arrived.clear()
            lane = self._next_lane()
            if lane is None:
                await self._arrived.wait()
                # Under load nobody waits, because a batch forms while the one before it runs.
                await asyncio.sleep(self._wait_s)
                continue
            batch = self._lanes[lane].take(self._batch)
            if batch:
                items = [item for _, _, item in batch]
                results = await loop.run_in_executor(
                    self._executor, _do_each, self._work[lane], items
                )
                for (job, index, _), result in zip(batch, results, strict=True):
                    job.finish(index, result)

    def _next_lane(self) -> Lane | None:
        waiting = [lane for lane in Lane if self._lanes[lane].jobs]
        if not waiting:
            return None
        chosen = next((lane for lane in waiting if self._passed[lane] >= _PATIENCE), waiting[0])
        for lane in waiting:
            self._passed[lane] = 0 if lane is chosen else self._passed[lane] + 1
        return chosen


def _do_each(
    work: Callable[[Sequence[Item]], Sequence[Result]], items: Sequence[Item]
) -> list[Result | None]:
    """A batch; where it fails, each of its items alone, so that a bad one harms no other."""
    try:
        results = work(items)
        if len(results) != len(items):
            raise ValueError(f"{len(results)} results for {len(items)} items")
        return list(results)
    except BaseException as error:  # noqa: BLE001  (a panic in Rust is no Exception)
        if len(items) == 1:
            log.error("a text could not be encoded", extra={"error": type(error).__name__})
            return [None]
        return [result for item in items for result in _do_each(work, [item])]

"""Admission: so many at once, so many in the queue, and a clear refusal for the rest."""

import asyncio
from types import TracebackType

from services.rpc.errors import ResourceExhausted


class Gate:
    """`async with gate:` holds one of `concurrency` places; at most `queue` callers wait for one.

    Raises ResourceExhausted at once when the queue is full: late answers help nobody.
    """

    def __init__(self, concurrency: int, queue: int) -> None:
        self._places = asyncio.Semaphore(concurrency)
        self._queue = queue
        self._waiting = 0

    @property
    def waiting(self) -> int:
        """Callers in the queue."""
        return self._waiting

    async def __aenter__(self) -> "Gate":
        if self._places.locked() and self._waiting >= self._queue:
            raise ResourceExhausted(
                "too many calls at once; try again later", reason="OVERLOADED", retry_after_s=0.5
            )
        self._waiting += 1
        try:
            await self._places.acquire()
        finally:
            self._waiting -= 1
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._places.release()

"""Who may come in now: so many calls in all, so many of one organization, so that none takes every place."""

from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from services.rpc import identity
from services.rpc.errors import ResourceExhausted
from services.rpc.limits import Gate


class Admission:
    """`async with admission.place():` holds a place of the current caller's organization."""

    def __init__(self, concurrency: int, queue: int, per_organization: int) -> None:
        self._gate = Gate(concurrency, queue)
        self._per_organization = per_organization
        self._held: Counter[int] = Counter()

    @asynccontextmanager
    async def place(self) -> AsyncIterator[None]:
        """ResourceExhausted at once if the organization or the whole service is full."""
        organization = identity.current().organization_id
        if self._held[organization] >= self._per_organization:
            raise ResourceExhausted(
                "too many calls of this organization at once; try again later",
                reason="ORGANIZATION_BUSY",
                retry_after_s=1.0,
            )
        self._held[organization] += 1
        try:
            async with self._gate:
                yield
        finally:
            self._held[organization] -= 1
            if not self._held[organization]:
                del self._held[organization]

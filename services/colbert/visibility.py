"""Who may see which chunk, remembered just as long as it is true.

Having a chunk's vectors in memory must never skip the question whether the caller may see it, and
asking PostgreSQL on every call costs more than MaxSim does. So an answer is kept as a lease, per
organization and rooftop, and forgotten when PostgreSQL says that the organization's documents have
changed (NOTIFY folio_visibility, sent in the transaction that publishes or deletes).

How stale a lease can be: the time from commit to delivery (a few milliseconds on one network). The
listener proves once in BEAT_S that it hears, by a notification of its own; without one for
SILENCE_S every lease is void and every call asks, so SILENCE_S bounds the staleness when the
connection is cut in a way that nobody notices. FOLIO_COLBERT_LEASES=false asks on every call.
"""

import asyncio
import logging
import time
import uuid
from collections import OrderedDict
from collections.abc import Iterable

import psycopg

from services.rpc.identity import Principal

log = logging.getLogger("folio.colbert")

CHANNEL = "folio_visibility"
BEAT_S = 0.5
SILENCE_S = 2.0
_RECONNECT_S = 1.0
# Leases of all tenants together; about 60 bytes each.
_MAX_LEASES = 5_000_000

_Tenant = tuple[int, int | None]
_NONE: frozenset[int] = frozenset()


class Visibility:
    """The leases of one process."""

    def __init__(self) -> None:
        self._leases: OrderedDict[_Tenant, set[int]] = OrderedDict()
        self._count = 0
        self._changes: dict[int, int] = {}
        self._heard = float("-inf")
        self._session = uuid.uuid4().hex
        self._generation = 0

    def held(self, principal: Principal) -> set[int] | frozenset[int]:
        """Chunks that the principal is known to be allowed to see, now. Read it, do not keep it."""
        if time.monotonic() - self._heard > SILENCE_S:
            return _NONE
        tenant = (principal.organization_id, principal.rooftop_id)
        leases = self._leases.get(tenant)
        if leases is None:
            return _NONE
        self._leases.move_to_end(tenant)
        return leases

    def mark(self, principal: Principal) -> tuple[int, int]:
        """Take it before asking the database; give it to `grant` with the answer."""
        return self._generation, self._changes.get(principal.organization_id, 0)

    def grant(self, principal: Principal, mark: tuple[int, int], visible: Iterable[int]) -> None:
        """Remembers an answer, unless something has changed since the question."""
        if mark != self.mark(principal) or time.monotonic() - self._heard > SILENCE_S:
            return
        tenant = (principal.organization_id, principal.rooftop_id)
        leases = self._leases.setdefault(tenant, set())
        before = len(leases)
        leases.update(visible)
        self._count += len(leases) - before
        while self._count > _MAX_LEASES and self._leases:
            self._count -= len(self._leases.popitem(last=False)[1])

    def changed(self, organization_id: int) -> None:
        """Forgets what was known of an organization."""
        self._changes[organization_id] = self._changes.get(organization_id, 0) + 1
        for tenant in [key for key in self._leases if key[0] == organization_id]:
            self._count -= len(self._leases.pop(tenant))

    async def listen(self, database_url: str) -> None:
        """Hears of changes until cancelled; connects again when the connection is lost."""
        while True:
            try:
                await self._hear(database_url)
            except (psycopg.Error, OSError, TimeoutError) as error:
                log.warning("not listening for changes", extra={"error": type(error).__name__})
            finally:
                self._forget_all()
            await asyncio.sleep(_RECONNECT_S)

    async def _hear(self, database_url: str) -> None:
        connection = await psycopg.AsyncConnection.connect(
            database_url, autocommit=True, connect_timeout=5, application_name="folio-visibility"
        )
        async with connection:
            await connection.execute(f"listen {CHANNEL}".encode())
            while True:
                async with asyncio.timeout(SILENCE_S):
                    await connection.execute("select pg_notify(%s, %s)", [CHANNEL, self._session])
                async for notification in connection.notifies(timeout=BEAT_S):
                    self._take(notification.payload)

    def _take(self, payload: str) -> None:
        if payload == self._session:
            self._heard = time.monotonic()
        elif payload.isdigit():
            self.changed(int(payload))

    def _forget_all(self) -> None:
        self._generation += 1
        self._heard = float("-inf")
        self._leases.clear()
        self._count = 0

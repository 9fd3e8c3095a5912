"""The services under test: one client per organization, and what the evaluation calls their documents."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import TypeVar

from evals.golden import Scope
from evals.scoring.judgements import Place
from folio.client import AsyncFolio
from folio.common.v1 import document_pb2
from folio.failure import CallFailed
from folio.gateway.v1 import gateway_pb2
from folio.messages import make_filter
from services.rpc.errors import FailedPrecondition, InvalidArgument

T = TypeVar("T")

RETRIED = frozenset({"RESOURCE_EXHAUSTED", "UNAVAILABLE"})
ATTEMPTS = 5
LONGEST_WAIT_S = 10.0


class Organization:
    """One tenant of the gateway. `names` maps the SHA-256 of a file to what the evaluation calls its document."""

    def __init__(self, name: str, client: AsyncFolio, names: Mapping[str, str]) -> None:
        self.name, self.client = name, client
        self._by_hash = names
        self._by_id: dict[int, str] = {}

    async def prepare(self) -> None:
        """Reads which documents are there. FailedPrecondition where one of the evaluation is not."""
        found = {}
        async for document in self.client.documents():
            if name := self._by_hash.get(document.sha256):
                found[document.id] = name
        missing = sorted(set(self._by_hash.values()) - set(found.values()))
        if missing:
            raise FailedPrecondition(
                f"{self.name}: {len(missing)} documents are missing, or in another version"
                f" (the first is {missing[0]}); run `folio eval ingest` first"
            )
        self._by_id = found

    def filter(self, scope: Scope) -> document_pb2.Filter | None:
        """What a case restricts its search to; None for nothing."""
        if scope == Scope():
            return None
        return make_filter(
            documents=[number for number, name in self._by_id.items() if name in scope.documents],
            collections=scope.collections,
            kinds=scope.kinds,
            published_from=scope.published_from,
            published_until=scope.published_until,
        )

    def place(self, document_id: int, first: int, last: int) -> Place:
        """Where a chunk or a citation stands. A document that the evaluation does not know keeps its number."""
        return Place(self._by_id.get(document_id, f"document {document_id}"), first, last)


async def call(make: Callable[[], Awaitable[T]]) -> T:
    """Awaits a call, again where the services are full or briefly away, as long as they ask for. Else CallFailed."""
    for attempt in range(1, ATTEMPTS + 1):
        try:
            return await make()
        except CallFailed as failed:
            if failed.code not in RETRIED or attempt == ATTEMPTS:
                raise
            await asyncio.sleep(min(failed.retry_after_s or 0.2 * 2**attempt, LONGEST_WAIT_S))
    raise AssertionError("unreachable")


@dataclass(frozen=True)
class Target:
    """Every organization that a run asks."""

    organizations: Mapping[str, Organization]

    async def status(self) -> gateway_pb2.GetStatusResponse:
        """What the services are, as the first organization sees them."""
        client = next(iter(self.organizations.values())).client
        return await call(client.status)


@asynccontextmanager
async def open_target(
    address: str, keys: Mapping[str, str], names: Mapping[str, Mapping[str, str]]
) -> AsyncIterator[Target]:
    """Clients for every organization in `names` (organization -> SHA-256 -> document).

    InvalidArgument where an organization has no API key.
    """
    missing = sorted(names.keys() - keys.keys())
    if missing:
        raise InvalidArgument(
            f"no API key for {', '.join(missing)}; pass --key NAME=KEY for each, make them with"
            " `folio up --create NAME`, or leave it to --start FOLDER"
        )
    async with AsyncExitStack() as stack:
        found = {}
        for name, documents in names.items():
            client = await stack.enter_async_context(AsyncFolio(address, keys[name]))
            found[name] = Organization(name, client, documents)
        yield Target(found)

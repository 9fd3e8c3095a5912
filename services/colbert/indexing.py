"""Encodes the chunks of a document version ahead of the first question about them."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from weakref import WeakValueDictionary

from services.colbert.chunks import Chunks
from services.colbert.store import TokenStore
from services.rpc.identity import Principal

# Chunks stored in one transaction: what a killed run repeats at most.
INDEX_STEP = 8


@dataclass(frozen=True)
class Progress:
    done: int
    total: int
    failed: int


class Indexer:
    """Indexes each version once, however often it is asked for."""

    def __init__(self, store: TokenStore, chunks: Chunks) -> None:
        self._store, self._chunks = store, chunks
        # By organization, document and version; a lock is there while somebody holds or awaits it.
        self._indexing: WeakValueDictionary[tuple[int, int, int], asyncio.Lock] = (
            WeakValueDictionary()
        )

    async def index(
        self, principal: Principal, document_id: int, version: int
    ) -> AsyncIterator[Progress]:
        """Encodes what a version has no vectors of, in order; progress after each step.

        A second call for the same version waits for the first, and finds its work done.
        """
        key = (principal.organization_id, document_id, version)
        async with self._indexing.setdefault(key, asyncio.Lock()):
            total, missing = await self._store.version(principal, document_id, version)
            done, failed = total - len(missing), 0
            yield Progress(done, total, failed)
            for start in range(0, len(missing), INDEX_STEP):
                step = missing[start : start + INDEX_STEP]
                failed += await self._chunks.index(principal, step)
                done += len(step)
                yield Progress(done, total, failed)

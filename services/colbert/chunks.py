"""Chunk ids to tiles: from memory where they are, else from PostgreSQL, else encoded now.

On every call, each id is either under a lease (visibility.py) or asked of PostgreSQL.
"""

from collections.abc import Iterator, Sequence

from native.maxsim import Tiles
from services.colbert.cache import TileCache
from services.colbert.encoding import Encoding
from services.colbert.store import Body, TokenStore
from services.colbert.visibility import Visibility
from services.rpc.errors import FailedPrecondition, NotFound
from services.rpc.identity import Principal

# Chunks held at once by one call: a thousand of 180 tokens and 384 dimensions take 70 MB.
FETCH_STEP = 1000


def in_steps(ids: Sequence[int]) -> Iterator[Sequence[int]]:
    """Ids, at most FETCH_STEP at a time."""
    for start in range(0, len(ids), FETCH_STEP):
        yield ids[start : start + FETCH_STEP]


class Chunks:
    """The token vectors of stored chunks."""

    def __init__(
        self,
        store: TokenStore,
        encoding: Encoding,
        cache: TileCache,
        visibility: Visibility,
        max_encode_on_demand: int,
    ) -> None:
        self._store = store
        self._encoding = encoding
        self._cache = cache
        self._visibility = visibility
        self._max_encode = max_encode_on_demand

    async def tiles(
        self, principal: Principal, ids: Sequence[int], *, skip_unknown: bool = False
    ) -> list[Tiles | None]:
        """Tiles in the order of the ids, which may repeat; None where the model gives none.

        NotFound, for the whole call, if the principal may not see one of them: another tenant's id
        and one that does not exist are told apart by nobody. With `skip_unknown` that one is None.
        FailedPrecondition if too many have no stored vectors.
        """
        organization = principal.organization_id
        found = {chunk_id: self._cache.get((organization, chunk_id)) for chunk_id in ids}
        held = self._visibility.held(principal)
        load = [chunk_id for chunk_id, tiles in found.items() if tiles is None]
        verify = [
            chunk_id for chunk_id, tiles in found.items() if tiles is None or chunk_id not in held
        ]
        if verify:
            mark = self._visibility.mark(principal)
            fetched = await self._store.fetch(principal, verify, load)
            unknown = set(verify) - fetched.visible
            if unknown and not skip_unknown:
                raise NotFound(
                    f"{len(unknown)} of {len(found)} chunk ids are unknown", reason="UNKNOWN_CHUNK"
                )
            self._visibility.grant(principal, mark, fetched.visible)
            found.update(fetched.tiles)
            found.update(dict.fromkeys(unknown))
            missing = [
                chunk_id
                for chunk_id in load
                if chunk_id not in fetched.tiles and chunk_id not in unknown
            ]
            found.update(await self._encode(principal, missing))
            for chunk_id in load:
                tiles = found[chunk_id]
                if tiles is not None:
                    self._cache.put((organization, chunk_id), tiles)
        return [found[chunk_id] for chunk_id in ids]

    async def index(self, principal: Principal, ids: Sequence[int]) -> int:
        """Encodes chunks as bulk work and stores their vectors; the number of those that failed."""
        bodies = await self._store.bodies(principal, ids)
        documents = await self._encoding.documents([body.text for body in bodies], bulk=True)
        good = [
            (body, document.tiles)
            for body, document in zip(bodies, documents, strict=True)
            if document.tiles is not None
        ]
        await self._store.put(principal, [b for b, _ in good], [tiles for _, tiles in good])
        return len(ids) - sum(tiles.tokens > 0 for _, tiles in good)

    async def _encode(self, principal: Principal, ids: Sequence[int]) -> dict[int, Tiles | None]:
        if not ids:
            return {}
        if len(ids) > self._max_encode:
            raise FailedPrecondition(
                f"{len(ids)} chunks have no token vectors of this model, a call may have"
                f" {self._max_encode} encoded; run IndexDocument for their documents",
                reason="NOT_INDEXED",
            )
        bodies: list[Body] = await self._store.bodies(principal, ids)
        documents = await self._encoding.documents([body.text for body in bodies])
        good = [
            (body, document.tiles)
            for body, document in zip(bodies, documents, strict=True)
            if document.tiles is not None
        ]
        await self._store.put(principal, [b for b, _ in good], [tiles for _, tiles in good])
        # A chunk deleted since it was verified has no body any more: it gets no vectors either.
        return dict.fromkeys(ids, None) | {body.chunk_id: tiles for body, tiles in good}

"""Token vectors in PostgreSQL: table token_vectors, under row-level security, the model in the key.

`bytes` holds Tiles.to_bytes() (a header with dtype, length and a checksum, then the tiles), with
dtype "int8-tiles". Every query names the organization besides the policies, so that the planner
prunes partitions.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from native.maxsim import Tiles
from services.postgres.filters import Filter, condition
from services.postgres.pool import TenantPool, tenant
from services.rpc.errors import NotFound
from services.rpc.identity import Principal

DTYPE = "int8-tiles"

# Visibility of `verify`, and the vectors of those among them that are not in memory.
_FETCH = """
select c.id, t.bytes, t.chunk_id is not null
from chunks c
left join token_vectors t on t.organization_id = c.organization_id and t.chunk_id = c.id
    and t.model = %(model)s and c.id = any(%(load)s)
where c.organization_id = %(organization)s and c.live and c.id = any(%(verify)s)
"""

_BODIES = """
select id, folio.encoded_text(heading, reading, body), rooftop_id from chunks
where organization_id = %(organization)s and id = any(%(ids)s)
order by id
"""

# A chunk deleted meanwhile has no row to join, so nothing is grafted and no foreign key breaks.
_PUT = """
insert into token_vectors (organization_id, chunk_id, model, rooftop_id, n, dim, dtype, bytes)
select organization_id, id, %(model)s, rooftop_id, %(n)s, %(dim)s, %(dtype)s, %(bytes)s
from chunks where organization_id = %(organization)s and id = %(id)s for key share
on conflict (organization_id, chunk_id, model)
do update set n = excluded.n, dim = excluded.dim, dtype = excluded.dtype, bytes = excluded.bytes
"""

_VERSION = """
select 1 from document_versions
where organization_id = %(organization)s and document_id = %(document)s and version = %(version)s
"""

_UNINDEXED = """
select c.id, t.chunk_id is null
from chunks c
left join token_vectors t on t.organization_id = c.organization_id and t.chunk_id = c.id
    and t.model = %(model)s
where c.organization_id = %(organization)s and c.document_id = %(document)s
    and c.version = %(version)s
order by c.ordinal
"""

# Plan: the organization's partition, by its primary key; the filter is applied to the rows.
_FILTER = condition(
    document_id="c.document_id", collection="l.name", kind="c.kind", published_on="c.published_on"
)
_FILTERED = f"""
select c.id from chunks c
left join collections l on l.organization_id = c.organization_id and l.id = c.collection_id
where c.organization_id = %(organization)s and c.live and {_FILTER}
order by c.id
limit %(limit)s
"""


@dataclass(frozen=True)
class Body:
    """A chunk's text, and the part of the organization it belongs to."""

    chunk_id: int
    text: str
    rooftop_id: int | None


@dataclass(frozen=True)
class Found:
    """What a fetch saw: the visible ids of those asked, and the stored tiles of those to load."""

    visible: frozenset[int]
    tiles: dict[int, Tiles]


class TokenStore:
    """Reads and writes the token vectors of one model."""

    def __init__(self, pool: TenantPool, model: str) -> None:
        self._pool = pool
        self._model = model

    async def fetch(
        self, principal: Principal, verify: Sequence[int], load: Sequence[int]
    ) -> Found:
        """One query: which of `verify` the principal may see, and the tiles of `load` among them.

        A visible id of `load` without tiles has none stored, or stored ones that are damaged.
        """
        async with tenant(self._pool, principal) as connection:
            cursor = await connection.execute(
                _FETCH,
                {
                    "organization": principal.organization_id,
                    "model": self._model,
                    "verify": list(verify),
                    "load": list(load),
                },
                binary=True,
            )
            rows = await cursor.fetchall()
        tiles = {}
        for chunk_id, stored, is_stored in rows:
            if is_stored:
                try:
                    tiles[chunk_id] = Tiles.from_bytes(stored)
                except ValueError:
                    continue
        return Found(frozenset(row[0] for row in rows), tiles)

    async def bodies(self, principal: Principal, ids: Sequence[int]) -> list[Body]:
        """Texts of chunks, staged ones too, by id."""
        async with tenant(self._pool, principal) as connection:
            cursor = await connection.execute(
                _BODIES, {"organization": principal.organization_id, "ids": list(ids)}
            )
            return [Body(*row) for row in await cursor.fetchall()]

    async def put(
        self, principal: Principal, bodies: Sequence[Body], tiles: Sequence[Tiles]
    ) -> None:
        """Stores vectors, all or none; damaged ones are replaced. A principal of one rooftop writes only its own
        chunks' vectors; those of the whole organization are left to a principal who may.
        """
        own = [
            (body, matrix)
            for body, matrix in zip(bodies, tiles, strict=True)
            if principal.rooftop_id in (None, body.rooftop_id)
        ]
        if not own:
            return
        async with tenant(self._pool, principal) as connection:
            await connection.cursor().executemany(
                _PUT,
                [
                    {
                        "organization": principal.organization_id,
                        "id": body.chunk_id,
                        "model": self._model,
                        "n": matrix.tokens,
                        "dim": matrix.dim,
                        "dtype": DTYPE,
                        "bytes": matrix.to_bytes(),
                    }
                    for body, matrix in own
                ],
            )

    async def version(
        self, principal: Principal, document_id: int, version: int
    ) -> tuple[int, list[int]]:
        """How many chunks a version has, and those without vectors. NotFound if there is none such."""
        values = {
            "organization": principal.organization_id,
            "document": document_id,
            "version": version,
            "model": self._model,
        }
        async with tenant(self._pool, principal) as connection:
            if await (await connection.execute(_VERSION, values)).fetchone() is None:
                raise NotFound("no such document or version")
            rows = await (await connection.execute(_UNINDEXED, values)).fetchall()
        return len(rows), [chunk_id for chunk_id, missing in rows if missing]

    async def filtered(self, principal: Principal, wanted: Filter, limit: int) -> list[int]:
        """Ids of the visible chunks that pass a filter, at most `limit`, ascending."""
        async with tenant(self._pool, principal) as connection:
            cursor = await connection.execute(
                _FILTERED.encode(),
                {
                    "organization": principal.organization_id,
                    "limit": limit,
                    **wanted.parameters(),
                },
            )
            return [row[0] for row in await cursor.fetchall()]

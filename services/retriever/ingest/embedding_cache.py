"""Vectors that were paid for once. Per organization, so that no tenant's timing tells what another has embedded."""

from collections.abc import Sequence

import numpy as np

from services.postgres.pool import Connection
from services.retriever.embedders import Embedder, Vectors


def space(embedder: Embedder) -> str:
    """The name of the embedder's vector space: model and revision."""
    return f"{embedder.model}@{embedder.revision}" if embedder.revision else embedder.model


async def load(
    connection: Connection, organization_id: int, embedder: Embedder, keys: Sequence[bytes]
) -> dict[bytes, Vectors]:
    """The vectors that are known, by the SHA-256 of their text. One of a wrong length is taken for unknown."""
    rows = await connection.execute(
        "select text_sha256, vector from embedding_cache "
        "where organization_id = %s and model = %s and text_sha256 = any(%s)",
        [organization_id, space(embedder), list(keys)],
        binary=True,
    )
    return {
        bytes(key): np.frombuffer(vector, "<f4").astype(np.float32)
        for key, vector in await rows.fetchall()
        if len(vector) == 4 * embedder.dim
    }


async def save(
    connection: Connection, organization_id: int, embedder: Embedder, vectors: dict[bytes, Vectors]
) -> None:
    """Keeps finite vectors; others are tried again next time."""
    async with connection.cursor() as cursor:
        await cursor.executemany(
            "insert into embedding_cache (organization_id, model, text_sha256, vector) values (%s, %s, %s, %s) "
            "on conflict do nothing",
            [
                (organization_id, space(embedder), key, vector.astype("<f4").tobytes())
                for key, vector in sorted(vectors.items())
                if np.isfinite(vector).all()
            ],
        )


async def forget(connection: Connection, organization_id: int, keys: Sequence[bytes]) -> None:
    """Drops the vectors of texts that no chunk of the organization has any more."""
    await connection.execute(
        "delete from embedding_cache e where e.organization_id = %(organization)s "
        "and e.text_sha256 = any(%(keys)s) and not exists ("
        "select from chunks c where c.organization_id = %(organization)s and c.text_sha256 = e.text_sha256)",
        {"organization": organization_id, "keys": list(keys)},
    )

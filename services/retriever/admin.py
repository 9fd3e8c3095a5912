"""The owner's commands for embedding models: `folio admin models | add-model | …`.

The schema and the organizations have theirs in services/postgres/admin.py.
"""

import asyncio
import sys
from collections.abc import Mapping

import psycopg

from services.postgres.admin import Command, act_for, organizations, table
from services.retriever import embedding_column
from services.retriever.embedders import EMBEDDERS, Embedder
from services.retriever.settings import RetrieverSettings
from services.rpc.providers import load


def models(admin_url: str) -> list[tuple[str, str, str, str]]:
    """Name, column, dimension and state of each embedding model."""
    with psycopg.connect(admin_url) as connection:
        return connection.execute(
            "select name, column_name, dim::text, state from folio.embedding_models order by created_at"
        ).fetchall()


def prune_cache(admin_url: str, days: int) -> int:
    """Drops embeddings older than `days` of texts that no chunk has: what broken-off ingests left."""
    gone = 0
    with psycopg.connect(admin_url) as connection:
        for organization_id in organizations(admin_url).values():
            act_for(connection, organization_id)
            done = connection.execute(
                "delete from folio.embedding_cache e where organization_id = %(organization)s "
                "and created_at < now() - %(days)s * interval '1 day' and not exists (select from folio.chunks c "
                "where c.organization_id = %(organization)s and c.text_sha256 = e.text_sha256)",
                {"organization": organization_id, "days": days},
            )
            gone += done.rowcount
    return gone


async def add_model(admin_url: str) -> str:
    """Vectors of the model in the settings, for every chunk; says how many were made."""
    settings = RetrieverSettings.load()
    embedder: Embedder = await asyncio.to_thread(
        load(EMBEDDERS, settings.embedder, "FOLIO_EMBEDDER").create, settings
    )
    try:
        made = await embedding_column.add(
            admin_url, embedder, list(organizations(admin_url).values())
        )
    finally:
        await embedder.close()
    return f"{embedder.model}: {made} vectors made"


COMMANDS: Mapping[str, Command] = {
    "models": lambda owner, _: table(models(owner.admin_url)),
    "add-model": lambda owner, _: asyncio.run(add_model(owner.admin_url)),
    "drop-model": lambda owner, given: embedding_column.drop(owner.admin_url, given.name),
    "prune-cache": lambda owner, given: prune_cache(owner.admin_url, given.days),
}


if __name__ == "__main__":
    from folio.cli import admin

    print("this is now `folio admin`; the next release knows it there only", file=sys.stderr)
    sys.exit(admin.main(sys.argv[1:]))

"""The owner's commands for embedding models: `python -m services.retriever.admin models | add-model | …`.

The schema and the organizations have theirs in services/postgres/admin.py.
"""

import argparse
import asyncio
import sys
from collections.abc import Mapping, Sequence

import psycopg

from services.postgres import admin as schema_admin
from services.postgres.admin import Command, act_for, organizations, run, table
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
        load(EMBEDDERS, settings.embedder).create, settings
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


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line. Prints what was made; errors go to standard error and give 1."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given and given[0] in schema_admin.COMMANDS:
        print(
            f"{given[0]} is now a command of `python -m services.postgres.admin`; the next release knows it there only",
            file=sys.stderr,
        )
        return schema_admin.main(given)
    parser = argparse.ArgumentParser(prog="python -m services.retriever.admin", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("models", help="list the embedding models")
    commands.add_parser("add-model", help="vectors of the model in the settings, for every chunk")
    commands.add_parser("drop-model", help="remove a model's vectors").add_argument("name")
    prune = commands.add_parser("prune-cache", help="drop cached embeddings that no chunk uses")
    prune.add_argument("--days", type=int, default=7, help="keep those made in so many days")
    options = parser.parse_args(given)
    return run(COMMANDS[options.command], options)


if __name__ == "__main__":
    raise SystemExit(main())

"""The owner's work: `python -m services.retriever.admin migrate | create-organization NAME | …`.

It connects as the owner of the tables (DATABASE_ADMIN_URL); the services never do.
"""

import argparse
import asyncio
import logging
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from services.postgres.migrate import latest, migrate
from services.retriever import embedding_column
from services.retriever.embedders import PROVIDERS, Embedder
from services.retriever.settings import AdminSettings, RetrieverSettings
from services.rpc.errors import AlreadyExists, FailedPrecondition, FolioError, NotFound
from services.rpc.providers import load

log = logging.getLogger("folio.retriever.admin")

MIGRATIONS = Path(__file__).parent / "migrations"
APPLICATION_ROLE = "folio_app"
NO_SCHEMA = (
    psycopg.errors.InvalidSchemaName,
    psycopg.errors.UndefinedTable,
    psycopg.errors.UndefinedColumn,
    psycopg.errors.UndefinedFunction,
)


def prepare(admin_url: str, password: str, role: str = APPLICATION_ROLE) -> str:
    """Schema up to date, the application's role there with this password; returns the DATABASE_URL of the services."""
    migrate(admin_url, MIGRATIONS)
    with psycopg.connect(admin_url) as connection:
        name = sql.Identifier(role)
        # Without a password the one that the role has stays.
        secret = sql.SQL("password {}").format(sql.Literal(password)) if password else sql.SQL("")
        exists = connection.execute("select 1 from pg_roles where rolname = %s", [role]).fetchone()
        connection.execute(
            sql.SQL(
                "{verb} role {name} with login nosuperuser nobypassrls nocreatedb nocreaterole {secret}"
            ).format(
                verb=sql.SQL("alter" if exists else "create"),
                name=name,
                secret=secret,
            )
        )
        connection.execute("set local search_path = folio, public")
        connection.execute("call folio.grant_application(%s)", [role])
    return _url_as(admin_url, role, password)


def create_organization(admin_url: str, name: str) -> int:
    """The id of a new organization. AlreadyExists if the name is taken."""
    if not name.strip():
        raise FailedPrecondition("an organization needs a name")
    with psycopg.connect(admin_url) as connection:
        try:
            row = connection.execute("select folio.create_organization(%s)", [name]).fetchone()
        except psycopg.errors.UniqueViolation:
            raise AlreadyExists(f"there is an organization '{name}' already") from None
    assert row is not None
    return int(row[0])


def ensure_organization(admin_url: str, name: str) -> int:
    """The id of the organization of this name, made if there is none."""
    return organizations(admin_url).get(name) or create_organization(admin_url, name)


def organizations(admin_url: str) -> dict[str, int]:
    """All organizations: name to id."""
    with psycopg.connect(admin_url) as connection:
        return dict(
            connection.execute("select name, id from folio.organizations order by id").fetchall()
        )


def drop_organization(admin_url: str, name: str) -> None:
    """Removes an organization and everything it has. NotFound if there is none of this name."""
    organization_id = _organization(admin_url, name)
    with psycopg.connect(admin_url) as connection:
        connection.execute("call folio.drop_organization(%s)", [organization_id])


def create_rooftop(admin_url: str, organization: str, name: str) -> int:
    """The id of a new part of an organization. AlreadyExists if the name is taken."""
    organization_id = _organization(admin_url, organization)
    with psycopg.connect(admin_url) as connection:
        _act_for(connection, organization_id)
        try:
            row = connection.execute(
                "insert into folio.rooftops (organization_id, name) values (%s, %s) returning id",
                [organization_id, name],
            ).fetchone()
        except psycopg.errors.UniqueViolation:
            raise AlreadyExists(f"there is a rooftop '{name}' already") from None
    assert row is not None
    return int(row[0])


def retain_text(admin_url: str, organization: str, retains: bool) -> None:
    """Whether the query log may keep the text of this organization's questions."""
    organization_id = _organization(admin_url, organization)
    with psycopg.connect(admin_url) as connection:
        connection.execute(
            "update folio.organizations set retains_text = %s where id = %s",
            [retains, organization_id],
        )
        if not retains:
            _act_for(connection, organization_id)
            connection.execute(
                "update folio.query_log set question = null where organization_id = %s",
                [organization_id],
            )


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
            _act_for(connection, organization_id)
            done = connection.execute(
                "delete from folio.embedding_cache e where organization_id = %(organization)s "
                "and created_at < now() - %(days)s * interval '1 day' and not exists (select from folio.chunks c "
                "where c.organization_id = %(organization)s and c.text_sha256 = e.text_sha256)",
                {"organization": organization_id, "days": days},
            )
            gone += done.rowcount
    return gone


async def _add_model(admin_url: str) -> str:
    settings = RetrieverSettings.load()
    embedder: Embedder = await asyncio.to_thread(load(PROVIDERS, settings.embedder), settings)
    try:
        made = await embedding_column.add(
            admin_url, embedder, list(organizations(admin_url).values())
        )
    finally:
        await embedder.close()
    return f"{embedder.model}: {made} vectors made"


def _organization(admin_url: str, name: str) -> int:
    found = organizations(admin_url).get(name)
    if found is None:
        raise NotFound(f"no organization '{name}'; `create-organization` makes one")
    return found


def _act_for(connection: psycopg.Connection, organization_id: int) -> None:
    """The owner is bound by row-level security too."""
    connection.execute("select set_config('app.organization_id', %s, true)", [str(organization_id)])


def _url_as(admin_url: str, role: str, password: str) -> str:
    return make_conninfo(admin_url, user=role, password=password)


def main(arguments: list[str] | None = None) -> int:
    """The command line. Prints what was made; errors go to standard error and give 1."""
    parser = argparse.ArgumentParser(prog="python -m services.retriever.admin", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser(
        "migrate", help="bring the schema up to date and grant the application's role"
    )
    commands.add_parser("organizations", help="list the organizations")
    for name, text in (
        ("create-organization", "make an organization and its partitions"),
        ("drop-organization", "remove an organization and all its data"),
    ):
        commands.add_parser(name, help=text).add_argument("name")
    rooftop = commands.add_parser("create-rooftop", help="make a part of an organization")
    rooftop.add_argument("organization")
    rooftop.add_argument("name")
    retain = commands.add_parser("retain-text", help="let the query log keep questions, or not")
    retain.add_argument("organization")
    retain.add_argument("choice", choices=["yes", "no"])
    commands.add_parser("models", help="list the embedding models")
    commands.add_parser("add-model", help="vectors of the model in the settings, for every chunk")
    commands.add_parser("drop-model", help="remove a model's vectors").add_argument("name")
    prune = commands.add_parser("prune-cache", help="drop cached embeddings that no chunk uses")
    prune.add_argument("--days", type=int, default=7, help="keep those made in so many days")
    options = parser.parse_args(arguments)
    try:
        _run(options)
    except (FolioError, psycopg.OperationalError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except NO_SCHEMA:
        print(
            "error: this database has no schema of Folio, or an old one; run `migrate`",
            file=sys.stderr,
        )
        return 1
    return 0


def _run(options: argparse.Namespace) -> None:
    settings = AdminSettings.load()
    url = settings.database_admin_url.get_secret_value()
    application = _parse("DATABASE_URL", settings.database_url.get_secret_value())
    _parse("DATABASE_ADMIN_URL", url)
    commands: dict[str, Callable[[], object]] = {
        "migrate": lambda: _migrate(url, application),
        "organizations": lambda: _lines((i, name) for name, i in organizations(url).items()),
        "create-organization": lambda: create_organization(url, options.name),
        "drop-organization": lambda: drop_organization(url, options.name),
        "create-rooftop": lambda: create_rooftop(url, options.organization, options.name),
        "retain-text": lambda: retain_text(url, options.organization, options.choice == "yes"),
        "models": lambda: _lines(models(url)),
        "add-model": lambda: asyncio.run(_add_model(url)),
        "drop-model": lambda: embedding_column.drop(url, options.name),
        "prune-cache": lambda: prune_cache(url, options.days),
    }
    result = commands[options.command]()
    if result is not None:
        print(result)


def _parse(variable: str, url: str) -> Mapping[str, object]:
    try:
        return conninfo_to_dict(url)
    except psycopg.ProgrammingError:
        # The driver's own message may hold the password.
        raise FailedPrecondition(
            f"{variable} is not a connection string: postgresql://user:password@host/database"
        ) from None


def _migrate(admin_url: str, application: Mapping[str, object]) -> str:
    prepare(
        admin_url,
        str(application.get("password") or ""),
        str(application.get("user") or APPLICATION_ROLE),
    )
    return f"schema {latest(MIGRATIONS)}"


def _lines(rows: Iterable[Iterable[object]]) -> str:
    return "\n".join("\t".join(str(cell) for cell in row) for row in rows)


if __name__ == "__main__":
    raise SystemExit(main())

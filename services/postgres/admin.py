"""The database owner's commands on the schema and its organizations: `folio admin migrate | …`.

They connect as the owner of the tables (DATABASE_ADMIN_URL); the services never do.
"""

import argparse
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from services.postgres.migrate import latest, migrate
from services.postgres.settings import AdminSettings
from services.rpc.errors import AlreadyExists, FailedPrecondition, FolioError, NotFound

APPLICATION_ROLE = "folio_app"
NO_SCHEMA = (
    psycopg.errors.InvalidSchemaName,
    psycopg.errors.UndefinedTable,
    psycopg.errors.UndefinedColumn,
    psycopg.errors.UndefinedFunction,
)


def prepare(admin_url: str, password: str, role: str = APPLICATION_ROLE) -> str:
    """Schema up to date, the application's role there with this password; returns the DATABASE_URL of the services."""
    migrate(admin_url)
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
    return make_conninfo(admin_url, user=role, password=password)


def create_organization(admin_url: str, name: str) -> int:
    """The id of a new organization. AlreadyExists if the name is taken."""
    if not name.strip():
        raise FailedPrecondition("an organization needs a name")
    with psycopg.connect(admin_url) as connection:
        try:
            row = connection.execute("select folio.create_organization(%s)", [name]).fetchone()
        except psycopg.errors.UniqueViolation:
            raise AlreadyExists(f"an organization named '{name}' already exists") from None
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
        act_for(connection, organization_id)
        try:
            row = connection.execute(
                "insert into folio.rooftops (organization_id, name) values (%s, %s) returning id",
                [organization_id, name],
            ).fetchone()
        except psycopg.errors.UniqueViolation:
            raise AlreadyExists(f"a rooftop named '{name}' already exists") from None
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
            act_for(connection, organization_id)
            connection.execute(
                "update folio.query_log set question = null where organization_id = %s",
                [organization_id],
            )


def act_for(connection: psycopg.Connection, organization_id: int) -> None:
    """For the transaction. The owner is bound by row-level security too."""
    connection.execute("select set_config('app.organization_id', %s, true)", [str(organization_id)])


def _organization(admin_url: str, name: str) -> int:
    found = organizations(admin_url).get(name)
    if found is None:
        raise NotFound(
            f"there is no organization named '{name}'; create it with `create-organization`"
        )
    return found


@dataclass(frozen=True)
class Owner:
    """How the owner connects, and the application's own connection string in parts (empty if it is not set)."""

    admin_url: str
    application: Mapping[str, object]

    @classmethod
    def load(cls) -> "Owner":
        """From the environment. FailedPrecondition if something is missing or is no connection string."""
        settings = AdminSettings.load()
        url = settings.database_admin_url.get_secret_value()
        _parsed("DATABASE_ADMIN_URL", url)
        return cls(url, _parsed("DATABASE_URL", settings.database_url.get_secret_value()))


def _parsed(variable: str, url: str) -> Mapping[str, object]:
    try:
        return conninfo_to_dict(url)
    except psycopg.ProgrammingError:
        # The driver's own message may hold the password.
        raise FailedPrecondition(
            f"{variable} is not a connection string: postgresql://user:password@host/database"
        ) from None


def migrate_and_grant(owner: Owner) -> str:
    """The schema up to date and the application's role with its password and rights; says which schema it is."""
    prepare(
        owner.admin_url,
        str(owner.application.get("password") or ""),
        str(owner.application.get("user") or APPLICATION_ROLE),
    )
    return f"schema {latest()}"


Command = Callable[[Owner, argparse.Namespace], object]

COMMANDS: Mapping[str, Command] = {
    "migrate": lambda owner, _: migrate_and_grant(owner),
    "organizations": lambda owner, _: table(
        (i, n) for n, i in organizations(owner.admin_url).items()
    ),
    "create-organization": lambda owner, given: create_organization(owner.admin_url, given.name),
    "drop-organization": lambda owner, given: drop_organization(owner.admin_url, given.name),
    "create-rooftop": lambda owner, given: create_rooftop(
        owner.admin_url, given.organization, given.name
    ),
    "retain-text": lambda owner, given: retain_text(
        owner.admin_url, given.organization, given.choice == "yes"
    ),
}


def run(command: Command, options: argparse.Namespace) -> int:
    """Runs a command as the owner and prints its result. Errors go to standard error and give 1."""
    try:
        result = command(Owner.load(), options)
    except (FolioError, psycopg.OperationalError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except NO_SCHEMA:
        print(
            "error: this database has no Folio schema, or an old one; run `folio admin migrate`",
            file=sys.stderr,
        )
        return 1
    if result is not None:
        print(result)
    return 0


def table(rows: Iterable[Iterable[object]]) -> str:
    """Rows as lines of cells between tabs."""
    return "\n".join("\t".join(str(cell) for cell in row) for row in rows)

"""Applies the numbered files of migrations/, each once, each in a transaction of its own."""

import hashlib
from pathlib import Path

import psycopg

from services.rpc.errors import DataLoss, FailedPrecondition

MIGRATIONS = Path(__file__).parent / "migrations"
# Any number, the same in every process: two migrators must not run at once.
_LOCK = 4_271_330_517

_LEDGER = """
create schema if not exists folio;
create table if not exists folio.schema_migrations (
    version integer primary key,
    name text not null,
    sha256 text not null,
    applied_at timestamptz not null default now()
);
"""


def migrations(directory: Path) -> list[tuple[int, Path]]:
    """(1, …/0001_name.sql), … in order. FailedPrecondition if a number is missing or doubled."""
    found = sorted((int(path.name.split("_", 1)[0]), path) for path in directory.glob("[0-9]*.sql"))
    if [number for number, _ in found] != list(range(1, len(found) + 1)):
        raise FailedPrecondition(
            f"the migrations in {directory.name} are not numbered 1 to {len(found)}"
        )
    return found


def latest(directory: Path = MIGRATIONS) -> int:
    """The schema version that this code needs."""
    return len(migrations(directory))


def migrate(admin_url: str, directory: Path = MIGRATIONS) -> int:
    """Brings the schema up to date and returns its version.

    DataLoss if a migration that was applied has been altered since; FailedPrecondition if the database is ahead of
    this code.
    """
    wanted = migrations(directory)
    with psycopg.connect(admin_url, autocommit=True) as connection:
        connection.execute("select pg_advisory_lock(%s)", [_LOCK])
        connection.execute(_LEDGER)
        applied: dict[int, str] = dict(
            connection.execute("select version, sha256 from folio.schema_migrations").fetchall()
        )
        if len(applied) > len(wanted):
            raise FailedPrecondition(
                f"the database has schema {len(applied)}, this code knows {len(wanted)}; update the code"
            )
        for version, path in wanted:
            text = path.read_text()
            digest = hashlib.sha256(text.encode()).hexdigest()
            if version in applied:
                if applied[version] != digest:
                    raise DataLoss(
                        f"{path.name} was changed after it was applied; add a new migration instead"
                    )
                continue
            with connection.transaction():
                connection.execute("set local search_path = folio, public")
                connection.execute(text.encode())
                connection.execute(
                    "insert into folio.schema_migrations (version, name, sha256) values (%s, %s, %s)",
                    [version, path.name, digest],
                )
    return len(wanted)

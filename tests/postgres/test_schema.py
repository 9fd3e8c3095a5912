"""What the catalogue must say, whatever tables are added."""

import psycopg
import pytest
from psycopg.conninfo import make_conninfo
from pydantic import SecretStr

from services.postgres import gates
from services.postgres import pool as pool_module
from services.postgres.migrate import latest, migrate
from services.postgres.pool import TenantPool, open_pool
from services.rpc.errors import FailedPrecondition
from tests.conftest import Postgres

pytestmark = pytest.mark.integration

BEGIN = {"organization": "1", "rooftop": "", "statement_ms": "1000", "ef_search": "40"}


def rows(url: str, query: str) -> list[tuple[object, ...]]:
    with psycopg.connect(url) as connection:
        return connection.execute(query.encode()).fetchall()


def test_every_table_with_an_organization_is_forced_partitions_too(postgres: Postgres) -> None:
    found = rows(
        postgres.admin_url,
        "select c.relname, c.relrowsecurity and c.relforcerowsecurity, c.relispartition from pg_class c "
        "where relnamespace = 'folio'::regnamespace and relkind in ('r', 'p') and exists (select from pg_attribute "
        "where attrelid = c.oid and attname = 'organization_id')",
    )
    assert len(found) > 15
    assert any(partition for _, _, partition in found)
    assert [name for name, forced, _ in found if not forced] == []


def test_every_key_has_the_organization_in_it(postgres: Postgres) -> None:
    found = rows(
        postgres.admin_url,
        "select c.conrelid::regclass::text, c.conname from pg_constraint c "
        "where c.connamespace = 'folio'::regnamespace and c.contype in ('p', 'u', 'f') "
        "and c.conrelid::regclass::text not in "
        "('folio.organizations', 'folio.embedding_models', 'folio.schema_migrations') "
        "and not exists (select from pg_attribute a where a.attrelid = c.conrelid "
        "and a.attname = 'organization_id' and a.attnum = any(c.conkey))",
    )
    assert found == []


def test_no_views_matviews_or_definer_functions(postgres: Postgres) -> None:
    assert (
        rows(
            postgres.admin_url,
            "select relname from pg_class where relnamespace = 'folio'::regnamespace and relkind in ('v', 'm')",
        )
        == []
    )
    assert (
        rows(
            postgres.admin_url,
            "select proname from pg_proc where pronamespace = 'folio'::regnamespace and prosecdef",
        )
        == []
    )


def test_the_application_cannot_call_the_owners_functions(postgres: Postgres) -> None:
    with (
        psycopg.connect(postgres.url) as connection,
        pytest.raises(psycopg.errors.InsufficientPrivilege),
    ):
        connection.execute("select folio.create_organization('mine')")


def test_the_application_cannot_make_functions_or_tables(postgres: Postgres) -> None:
    for statement in (
        "create function public.f() returns int language sql as 'select 1'",
        "create table folio.t (a int)",
        "create table public.t (a int)",
        # It would come before folio.chunks in the search path, for every later request on its connection.
        "create temporary table chunks (a int)",
    ):
        with (
            psycopg.connect(postgres.url) as connection,
            pytest.raises(psycopg.errors.InsufficientPrivilege),
        ):
            connection.execute(statement.encode())


def test_an_owner_of_the_tables_alone_migrates_and_temporary_tables_stand_behind_ours(
    postgres: Postgres,
) -> None:
    """Where somebody else owns the database, PUBLIC keeps TEMPORARY, and the search path has to do."""
    with psycopg.connect(postgres.admin_url, autocommit=True) as connection:
        connection.execute("create role tables_only login createrole")
        connection.execute("create database shared")
        connection.execute("grant create on database shared to tables_only")
    shared = make_conninfo(postgres.admin_url, dbname="shared")
    try:
        with psycopg.connect(shared, autocommit=True) as connection:
            connection.execute("create extension vector with schema public")
            connection.execute("alter schema public owner to tables_only")
        owner = make_conninfo(shared, user="tables_only")
        assert migrate(owner) == latest()
        with psycopg.connect(owner) as connection:
            connection.execute("create temporary table documents (stolen int)")
            connection.execute(pool_module._BEGIN, BEGIN)
            found = connection.execute("select 'documents'::regclass = 'folio.documents'::regclass")
            assert found.fetchone() == (True,)
    finally:
        with psycopg.connect(postgres.admin_url, autocommit=True) as connection:
            connection.execute("drop database shared")
            connection.execute("drop role tables_only")


def test_migrating_twice_changes_nothing(postgres: Postgres) -> None:
    assert migrate(postgres.admin_url) == latest()


async def test_the_gates_open_for_the_application(pool: TenantPool) -> None:
    facts = await gates.check(pool, latest())
    assert facts.pgvector_version


async def test_another_schema_version_is_refused(pool: TenantPool) -> None:
    with pytest.raises(FailedPrecondition, match="migrate"):
        await gates.check(pool, latest() + 1)


async def refusal(postgres: Postgres, url: str) -> str:
    """What the gates say to whoever connects by this URL."""
    async with open_pool(postgres.settings(database_url=SecretStr(url))) as opened:
        with pytest.raises(FailedPrecondition) as refused:
            await gates.check(opened, latest())
    return refused.value.message


async def test_a_superuser_is_refused(postgres: Postgres) -> None:
    assert "may bypass row-level security" in await refusal(postgres, postgres.admin_url)


@pytest.mark.parametrize(
    ("setup", "says"),
    [
        ("alter role too_much bypassrls", "may bypass row-level security"),
        ("grant postgres to too_much", "owns tables"),
        ("grant select on folio.chunks_{acme} to too_much", "rights on partitions"),
        ("grant delete on folio.postings_{globex} to too_much", "rights on partitions"),
    ],
)
async def test_a_role_that_may_too_much_is_refused(
    postgres: Postgres, setup: str, says: str
) -> None:
    with psycopg.connect(postgres.admin_url, autocommit=True) as connection:
        connection.execute("create role too_much login")
        try:
            connection.execute("call folio.grant_application('too_much')")
            connection.execute(setup.format(acme=postgres.acme, globex=postgres.globex).encode())
            url = make_conninfo(postgres.url, user="too_much")
            assert says in await refusal(postgres, url)
        finally:
            connection.execute("drop owned by too_much")
            connection.execute("drop role too_much")


@pytest.mark.parametrize("table", ["pages", "chunks_{acme}"])
async def test_a_table_without_forced_security_is_refused(postgres: Postgres, table: str) -> None:
    name = table.format(acme=postgres.acme)
    with psycopg.connect(postgres.admin_url, autocommit=True) as connection:
        connection.execute(f"alter table folio.{name} no force row level security".encode())
        try:
            assert f"not forced on: {name}" in await refusal(postgres, postgres.url)
        finally:
            connection.execute(f"alter table folio.{name} force row level security".encode())


@pytest.mark.parametrize(
    ("version", "workers", "unsafe"),
    [
        ("0.8.1", 2, True),
        ("0.8.1", 0, False),
        ("0.8.4", 2, False),
        ("0.9.0", 2, False),
        ("0.8.3", 1, True),
    ],
)
def test_pgvector_below_0_8_4_is_refused_unless_it_builds_serially(
    version: str, workers: int, unsafe: bool
) -> None:
    assert gates.is_unsafe(version, workers) is unsafe

"""What must hold before a service serves. Each gate refuses with what was found, what was expected and what to do."""

import logging
from dataclasses import dataclass

from psycopg_pool import PoolTimeout

from services.postgres.pool import Connection, TenantPool
from services.rpc.errors import FailedPrecondition

log = logging.getLogger("folio.postgres")

PGVECTOR_LEAST = (0, 8, 4)
# Between two lines in the log that say what a start is waiting for.
WAIT_S = 5.0


@dataclass(frozen=True)
class Facts:
    """What the database said of itself."""

    server_version: str
    pgvector_version: str
    schema_version: int


async def check(pool: TenantPool, schema_version: int) -> Facts:
    """All gates but the embedding model's. Raises FailedPrecondition at the first that is shut.

    Waits for a database that is away or not yet migrated: a service may start before either.
    """
    while True:
        try:
            return await _check(pool, schema_version)
        except PoolTimeout:
            log.warning("waiting for the database, or for its first migration")


async def _check(pool: TenantPool, schema_version: int) -> Facts:
    async with pool.pool.connection(timeout=WAIT_S) as connection:
        await _role(connection)
        await _forced(connection)
        vector = await _pgvector(connection)
        await _schema(connection, schema_version)
        server = await _one(connection, "show server_version")
    return Facts(str(server), vector, schema_version)


async def _one(connection: Connection, query: str) -> object:
    row = await (await connection.execute(query.encode())).fetchone()
    return row[0] if row else None


async def _role(connection: Connection) -> None:
    if await _one(
        connection,
        "select rolsuper or rolbypassrls from pg_roles where rolname = current_user",
    ):
        raise FailedPrecondition(
            "the database role may bypass row-level security; connect as a role without SUPERUSER and BYPASSRLS"
        )
    if await _one(
        connection,
        "select count(*) from pg_class where relnamespace = 'folio'::regnamespace "
        "and pg_has_role(current_user, relowner, 'usage')",
    ):
        raise FailedPrecondition(
            "the database role owns tables; connect as the application's role, which owns nothing"
        )
    if await _one(
        connection,
        "select count(*) from pg_class c where c.relnamespace = 'folio'::regnamespace and c.relispartition "
        "and c.relkind in ('r', 'p') and has_table_privilege(c.oid, 'select, insert, update, delete')",
    ):
        raise FailedPrecondition(
            "the database role has rights on partitions directly; revoke them, the parent's rights are enough"
        )


async def _forced(connection: Connection) -> None:
    bare = await _one(
        connection,
        "select string_agg(c.relname, ', ') from pg_class c join pg_attribute a on a.attrelid = c.oid "
        "where c.relnamespace = 'folio'::regnamespace and c.relkind in ('r', 'p') "
        "and a.attname = 'organization_id' and not a.attisdropped "
        "and not (c.relrowsecurity and c.relforcerowsecurity)",
    )
    if bare:
        raise FailedPrecondition(f"row-level security is not forced on: {bare}; run the migrations")


async def _pgvector(connection: Connection) -> str:
    version = await _one(connection, "select extversion from pg_extension where extname = 'vector'")
    if version is None:
        raise FailedPrecondition("the extension pgvector is missing; run `folio admin migrate`")
    workers = await _one(connection, "show max_parallel_maintenance_workers")
    if is_unsafe(str(version), int(str(workers))):
        raise FailedPrecondition(
            f"pgvector {version} builds HNSW indexes in parallel unsafely (CVE-2026-3172); update it to 0.8.4 or "
            "later, or set max_parallel_maintenance_workers = 0 on the server"
        )
    return str(version)


def is_unsafe(version: str, parallel_workers: int) -> bool:
    """CVE-2026-3172: a parallel HNSW build before 0.8.4 can leak other relations' data. Serial builds are safe."""
    parts = tuple(int(part) for part in version.split("-")[0].split("."))
    return parts < PGVECTOR_LEAST and parallel_workers > 0


async def _schema(connection: Connection, wanted: int) -> None:
    found = await _one(connection, "select max(version) from folio.schema_migrations")
    if found != wanted:
        raise FailedPrecondition(
            f"the database has schema {found or 0}, this code needs {wanted}; run "
            "`folio admin migrate`"
        )

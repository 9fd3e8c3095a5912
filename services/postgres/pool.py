"""The connection pool, and the one transaction that a request's queries run in.

The tenant is local to the transaction (set_config(..., true)): nothing stays on a connection that goes back to the
pool. The policies read it; every query names the organization as well, so that the planner prunes partitions.
"""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import psycopg
from pgvector.psycopg import register_vector_async
from psycopg import AsyncConnection
from psycopg.rows import TupleRow
from psycopg.types.string import StrDumperUnknown
from psycopg_pool import AsyncConnectionPool, PoolTimeout

from services.postgres.settings import PostgresSettings
from services.rpc.errors import DeadlineExceeded, NotFound, Unavailable
from services.rpc.identity import Principal

Connection = AsyncConnection[TupleRow]
Pool = AsyncConnectionPool[Connection]

# How long the pool tries to restore a lost connection before the next request starts a new try. Its waits double,
# so a long value would keep it asleep well after the database is back.
RECONNECT_S = 4.0

_UNSTORABLE = re.compile("[\0\ud800-\udfff]")

# pg_temp last: unnamed it comes first, and where PUBLIC may make temporary tables one could stand in for ours.
_BEGIN = """
select set_config('app.organization_id', %(organization)s, true),
       set_config('app.rooftop_id', %(rooftop)s, true),
       set_config('search_path', 'folio, public, pg_temp', true),
       set_config('statement_timeout', %(statement_ms)s, true),
       set_config('idle_in_transaction_session_timeout', %(statement_ms)s, true),
       set_config('hnsw.ef_search', %(ef_search)s, true),
       set_config('hnsw.iterative_scan', 'strict_order', true),
       set_config('plan_cache_mode', 'force_custom_plan', true)
"""
# Before the first query, which would fix what is seen.
_SNAPSHOT = "set transaction isolation level repeatable read, read only"
_KNOWN = "select 1 from organizations where id = %s"


class TenantPool:
    """A pool and the limits of its transactions."""

    def __init__(self, pool: Pool, statement_seconds: float) -> None:
        self.pool = pool
        self.statement_ms = int(statement_seconds * 1000)


async def _configure(connection: Connection) -> None:
    """Once per new connection: the vector type. Fails, and is retried, until the schema has been migrated."""
    await register_vector_async(connection)
    connection.adapters.register_dumper(str, StorableStr)
    await connection.commit()


class StorableStr(StrDumperUnknown):
    """Any text as PostgreSQL can keep it: NUL and lone surrogates become U+FFFD, so that offsets stay true.

    Parsers clean what they read; this is for what comes by any other way, a question or a request id.
    """

    def dump(self, obj: str) -> bytes:
        return _UNSTORABLE.sub("\ufffd", obj).encode()


@asynccontextmanager
async def open_pool(settings: PostgresSettings) -> AsyncIterator[TenantPool]:
    """The pool of a process; opens in the background and recovers by itself when the database comes back."""
    pool: Pool = AsyncConnectionPool(
        settings.database_url.get_secret_value(),
        connection_class=AsyncConnection[TupleRow],
        kwargs={
            "prepare_threshold": 5 if settings.database_prepared_statements else None,
            "connect_timeout": 5,
            "application_name": "folio",
        },
        min_size=min(2, settings.database_pool_size),
        max_size=settings.database_pool_size,
        timeout=settings.database_wait_seconds,
        max_waiting=settings.max_concurrency + settings.max_queue,
        reconnect_timeout=RECONNECT_S,
        configure=_configure,
        check=AsyncConnectionPool.check_connection,
        open=False,
        name="folio",
    )
    await pool.open()
    try:
        yield TenantPool(pool, settings.database_statement_seconds)
    finally:
        await asyncio.shield(pool.close(timeout=5.0))


@asynccontextmanager
async def tenant(
    pool: TenantPool,
    principal: Principal,
    *,
    ef_search: int = 200,
    statement_seconds: float = 0.0,
    snapshot: bool = False,
) -> AsyncIterator[Connection]:
    """One transaction that sees the principal's rows and no others; commits at the end, rolls back on any error.

    With `snapshot` it only reads, and all of its statements see the same state: for whoever puts the answers of
    several together.

    Raises NotFound for an organization that does not exist, Unavailable when the database is away,
    DeadlineExceeded when a statement took longer than the limit.
    """
    milliseconds = int(statement_seconds * 1000) or pool.statement_ms
    try:
        async with pool.pool.connection() as connection, connection.transaction():
            if snapshot:
                await connection.execute(_SNAPSHOT)
            await connection.execute(
                _BEGIN,
                {
                    "organization": str(principal.organization_id),
                    "rooftop": "" if principal.rooftop_id is None else str(principal.rooftop_id),
                    "statement_ms": str(milliseconds),
                    "ef_search": str(min(max(ef_search, 40), 1000)),
                },
            )
            known = await connection.execute(_KNOWN, [principal.organization_id])
            if await known.fetchone() is None:
                raise NotFound(
                    "no such organization; create it with `folio admin create-organization NAME`",
                    reason="UNKNOWN_ORGANIZATION",
                )
            yield connection
    except psycopg.errors.QueryCanceled:
        raise DeadlineExceeded("the database did not finish in time") from None
    except PoolTimeout:
        raise Unavailable(
            "no database connection became free in time; try again",
            reason="DATABASE",
            retry_after_s=1.0,
        ) from None
    except (psycopg.OperationalError, psycopg.InterfaceError) as error:
        if _is_contention(error):
            raise Unavailable(
                "the database refused a concurrent change; try again",
                reason="CONTENTION",
                retry_after_s=0.2,
            ) from None
        raise Unavailable(
            "the database cannot be reached; try again", reason="DATABASE", retry_after_s=2.0
        ) from None


def _is_contention(error: psycopg.Error) -> bool:
    return isinstance(
        error,
        (
            psycopg.errors.DeadlockDetected,
            psycopg.errors.SerializationFailure,
            psycopg.errors.LockNotAvailable,
        ),
    )


async def alive(pool: TenantPool) -> None:
    """One round trip, for the health check. Raises when there is no database."""
    async with pool.pool.connection(timeout=1.5) as connection:
        await connection.execute("select 1")


def stats(pool: TenantPool) -> dict[str, Any]:
    """The pool's own counters (psycopg_pool)."""
    return dict(pool.pool.get_stats())

"""The pool when callers leave, when the database is busy, and when it goes away and comes back."""

import asyncio
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict
from psycopg_pool import PoolTimeout

from services.postgres import admin
from services.postgres.embedded import EmbeddedPostgres
from services.postgres.pool import TenantPool, alive, open_pool, stats, tenant
from services.rpc.errors import DeadlineExceeded, FailedPrecondition, NotFound, Unavailable
from services.rpc.identity import Principal
from tests.conftest import Postgres

pytestmark = pytest.mark.integration


async def value(pool: TenantPool, principal: Principal, query: str) -> object:
    async with tenant(pool, principal) as connection:
        row = await (await connection.execute(query.encode())).fetchone()
    return row[0] if row else None


async def test_settings_hold_on_every_checkout(pool: TenantPool, acme: Principal) -> None:
    for _ in range(3):
        assert await value(pool, acme, "show statement_timeout") == "30s"
        assert await value(pool, acme, "show hnsw.ef_search") == "200"
        assert await value(pool, acme, "show hnsw.iterative_scan") == "strict_order"
        assert await value(pool, acme, "show search_path") == "folio, public, pg_temp"


async def test_a_slow_statement_ends_at_its_limit(pool: TenantPool, acme: Principal) -> None:
    with pytest.raises(DeadlineExceeded):
        async with tenant(pool, acme, statement_seconds=0.1) as connection:
            await connection.execute("select pg_sleep(30)")
    assert await value(pool, acme, "select 1") == 1


async def test_an_unknown_organization_is_not_found(pool: TenantPool) -> None:
    with pytest.raises(NotFound, match="create-organization"):
        await value(pool, Principal(10**12), "select 1")


async def test_text_that_postgresql_cannot_keep_keeps_its_length(
    pool: TenantPool, acme: Principal
) -> None:
    async with tenant(pool, acme) as connection:
        row = await (
            await connection.execute("select %s::text, %s::text[]", ["a\0b\ud800c", ["\0"]])
        ).fetchone()
    assert row == ("a\ufffdb\ufffdc", ["\ufffd"])


@pytest.mark.slow
async def test_a_thousand_cancelled_requests_leave_the_pool_idle(
    postgres: Postgres, acme: Principal
) -> None:
    async with open_pool(postgres.settings(database_pool_size=4)) as small:

        async def request(n: int) -> None:
            async with tenant(small, acme) as connection:
                await connection.execute("select pg_sleep(%s)", [0.001 * (n % 7)])

        for start in range(0, 1000, 50):
            tasks = [asyncio.create_task(request(n)) for n in range(start, start + 50)]
            await asyncio.sleep(0.002 * (start // 50 % 5))
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
        # A connection whose request was cancelled comes back by a worker of the pool, a moment later.
        async with asyncio.timeout(60):
            while (state := stats(small))["pool_available"] < state["pool_size"]:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        assert state["pool_size"] <= 4
        assert state.get("requests_waiting", 0) == 0
        assert await value(small, acme, "select 1") == 1
    with psycopg.connect(postgres.admin_url) as connection:
        rows = connection.execute(
            "select count(*) from pg_stat_activity where application_name = 'folio' and state like 'idle in%'"
        ).fetchone()
    assert rows == (0,)


@pytest.mark.slow
async def test_the_pool_recovers_when_the_database_comes_back() -> None:
    with tempfile.TemporaryDirectory(prefix="folio-test-") as folder:
        server = EmbeddedPostgres(Path(folder) / "p")
        server.start()
        try:
            url = admin.prepare(server.admin_url, "x")
            who = Principal(admin.create_organization(server.admin_url, "a"))
            settings = Postgres(server.admin_url, url, 1, 1).settings(database_wait_seconds=1)
            async with open_pool(settings) as opened:
                assert await value(opened, who, "select 1") == 1
                server.stop()
                with pytest.raises(Unavailable):
                    await value(opened, who, "select 1")
                with pytest.raises((psycopg.OperationalError, PoolTimeout)):
                    await alive(opened)
                # Longer than the pool's own patience with a lost connection.
                await asyncio.sleep(6)
                server.start()
                for _ in range(30):
                    try:
                        assert await value(opened, who, "select 1") == 1
                        break
                    except Unavailable:
                        await asyncio.sleep(0.5)
                else:
                    pytest.fail("the pool did not recover")
        finally:
            server.stop()


@pytest.mark.slow
def test_what_was_committed_survives_a_power_cut() -> None:
    with tempfile.TemporaryDirectory(prefix="folio-test-") as folder:
        server = EmbeddedPostgres(Path(folder) / "p")
        server.start()
        try:
            admin.prepare(server.admin_url, "x")
            admin.create_organization(server.admin_url, "kept")
            server.kill()
            server.start()
            assert list(admin.organizations(server.admin_url)) == ["kept"]
        finally:
            server.stop()


@pytest.mark.parametrize("name", ["long" * 30, 'a, "quoted" ütext; %20'])
def test_any_folder_name_will_do(
    name: str, data_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(data_folder / ("temporary" * 12)))
    (data_folder / ("temporary" * 12)).mkdir(parents=True)
    with (
        EmbeddedPostgres(data_folder / name) as server,
        psycopg.connect(server.admin_url) as connection,
    ):
        assert connection.execute("select 1").fetchone() == (1,)


def test_no_other_user_may_open_the_socket() -> None:
    with (
        tempfile.TemporaryDirectory(prefix="folio-test-") as folder,
        EmbeddedPostgres(Path(folder) / "p") as server,
    ):
        sockets = Path(str(conninfo_to_dict(server.admin_url)["host"]))
        (socket,) = sockets.glob(".s.PGSQL.*[0-9]")
        assert stat.S_IMODE(socket.stat().st_mode) == 0o700


@pytest.mark.parametrize("name", ["p", "long" * 30])
def test_two_servers_in_one_folder_are_refused(name: str, data_folder: Path) -> None:
    with (
        EmbeddedPostgres(data_folder / name),
        pytest.raises(FailedPrecondition, match="already"),
    ):
        EmbeddedPostgres(data_folder / name).start()


@pytest.mark.parametrize("squatter", [Path.touch, lambda path: path.symlink_to("/"), Path.mkdir])
def test_a_socket_is_not_put_into_what_another_made(
    squatter: Callable[[Path], None], data_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as temporary:
        monkeypatch.setattr(tempfile, "tempdir", temporary)
        server = EmbeddedPostgres(data_folder / ("long" * 30))
        with server:
            first = Path(str(conninfo_to_dict(server.admin_url)["host"]))
        assert first.parent == Path(temporary)
        squatter(first)
        with server:
            second = Path(str(conninfo_to_dict(server.admin_url)["host"]))
        assert second.parent == Path("/tmp")


def test_a_stopped_server_has_no_url() -> None:
    with pytest.raises(FailedPrecondition):
        _ = EmbeddedPostgres(Path("/nowhere")).admin_url

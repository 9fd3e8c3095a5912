"""How the embedded server starts, and a service before its database."""

import asyncio
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from pydantic import SecretStr

from services.postgres import gates
from services.postgres.admin import prepare
from services.postgres.embedded import EmbeddedPostgres
from services.postgres.migrate import latest
from services.postgres.pool import open_pool
from services.postgres.settings import PostgresSettings
from services.rpc.testing import SECRET
from tests.processes import processes_in

pytestmark = pytest.mark.integration


async def test_the_gates_wait_for_a_database_that_comes_up_later(
    data_folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(gates, "WAIT_S", 0.3)
    postgres = EmbeddedPostgres(data_folder)
    with postgres:
        url = prepare(postgres.admin_url, "a password")
    settings = PostgresSettings(internal_secret=SecretStr(SECRET), database_url=SecretStr(url))
    async with open_pool(settings) as pool:
        passing = asyncio.create_task(gates.check(pool, latest()))
        async with asyncio.timeout(60):
            while not any(  # noqa: ASYNC110  (the log has no event to wait for)
                "waiting for the database" in record.message for record in caplog.records
            ):
                await asyncio.sleep(0.05)
        assert not passing.done()
        with postgres:
            async with asyncio.timeout(60):
                assert (await passing).schema_version == latest()


def start_and_interrupt(folder: Path, when: Callable[[], bool]) -> None:
    """Starts a server, with a Ctrl-C as soon as a thing is so."""

    def interrupt() -> None:
        while not when():
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    def run() -> None:
        with EmbeddedPostgres(folder):
            while True:
                time.sleep(0.1)

    interrupting = threading.Thread(target=interrupt)
    interrupting.start()
    with pytest.raises(KeyboardInterrupt):
        run()
    interrupting.join()


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_an_interrupt_while_the_cluster_is_made_leaves_no_process(data_folder: Path) -> None:
    """initdb runs servers of its own, which a killed initdb would leave behind."""
    new, made = data_folder / "data.new", data_folder / "data"
    start_and_interrupt(data_folder, lambda: new.exists() or made.exists())
    assert not processes_in(data_folder)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_an_interrupt_while_the_server_starts_stops_it(data_folder: Path) -> None:
    with EmbeddedPostgres(data_folder):
        pass
    (data_folder / "log").unlink()
    start_and_interrupt(data_folder, (data_folder / "log").exists)
    assert not processes_in(data_folder)

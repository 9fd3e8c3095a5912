"""A service may start before its database."""

import asyncio
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

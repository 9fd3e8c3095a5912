"""The owner's commands: what they say when something is wrong, and what they leave alone."""

import psycopg
import pytest

from folio.cli.admin import main
from services.postgres import admin
from tests.conftest import Postgres

pytestmark = pytest.mark.integration


def secret_of_the_application(admin_url: str) -> object:
    with psycopg.connect(admin_url) as connection:
        return connection.execute(
            "select rolpassword from pg_authid where rolname = %s", [admin.APPLICATION_ROLE]
        ).fetchone()


def test_migrating_without_a_password_keeps_the_one_there_is(
    postgres: Postgres, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = secret_of_the_application(postgres.admin_url)
    monkeypatch.setenv("DATABASE_ADMIN_URL", postgres.admin_url)
    monkeypatch.delenv("DATABASE_URL", raising=False)
    assert main(["migrate"]) == 0
    assert capsys.readouterr().out.startswith("schema ")
    assert secret_of_the_application(postgres.admin_url) == before


def test_a_database_without_a_schema_asks_for_migrate(
    postgres: Postgres, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DATABASE_ADMIN_URL", f"{postgres.admin_url}&dbname=template1")
    for command in (["organizations"], ["create-organization", "acme"]):
        assert main(command) == 1
        assert "folio admin migrate" in capsys.readouterr().err


def test_a_broken_connection_string_is_not_repeated(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DATABASE_ADMIN_URL", "folio:hunter2@host")
    assert main(["organizations"]) == 1
    error = capsys.readouterr().err
    assert "DATABASE_ADMIN_URL is not a connection string" in error
    assert "hunter2" not in error

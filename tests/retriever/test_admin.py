"""The commands for embedding models, where they say something to their user."""

import pytest

from services.postgres import admin as schema_admin
from services.retriever import admin
from tests.conftest import Postgres

pytestmark = pytest.mark.integration


def test_the_model_in_use_is_listed(
    postgres: Postgres, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DATABASE_ADMIN_URL", postgres.admin_url)
    assert admin.main(["models"]) == 0
    names = [line.split("\t")[0] for line in capsys.readouterr().out.splitlines()]
    assert "sentence-transformers/all-MiniLM-L6-v2" in names


def test_a_database_without_a_schema_asks_for_migrate(
    postgres: Postgres, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DATABASE_ADMIN_URL", f"{postgres.admin_url}&dbname=template1")
    assert admin.main(["models"]) == 1
    assert "services.postgres.admin migrate" in capsys.readouterr().err


@pytest.mark.parametrize("command", [["migrate"], ["organizations"]])
def test_a_command_of_the_schema_still_works_here_and_says_where_it_is_now(
    command: list[str],
    postgres: Postgres,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("DATABASE_ADMIN_URL", postgres.admin_url)
    monkeypatch.delenv("DATABASE_URL", raising=False)
    assert schema_admin.main(command) == 0
    there = capsys.readouterr()
    assert admin.main(command) == 0
    here = capsys.readouterr()
    assert here.out == there.out
    assert "python -m services.postgres.admin" in here.err

"""The commands for embedding models, where they say something to their user."""

import pytest

from folio.cli.admin import main
from tests.conftest import Postgres

pytestmark = pytest.mark.integration


def test_the_model_in_use_is_listed(
    postgres: Postgres, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DATABASE_ADMIN_URL", postgres.admin_url)
    assert main(["models"]) == 0
    names = [line.split("\t")[0] for line in capsys.readouterr().out.splitlines()]
    assert "sentence-transformers/all-MiniLM-L6-v2" in names


def test_a_database_without_a_schema_asks_for_migrate(
    postgres: Postgres, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DATABASE_ADMIN_URL", f"{postgres.admin_url}&dbname=template1")
    assert main(["models"]) == 1
    assert "folio admin migrate" in capsys.readouterr().err

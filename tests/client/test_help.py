"""Pages of help: every command has one, and it says what to type."""

import importlib
import re
from collections.abc import Iterator

import pytest
import typer
from typer.testing import CliRunner

from folio.cli.commands import app

MODULES = ("folio.cli.commands", "evals.cli", "bench.cli")


def commands(app: typer.Typer, *path: str) -> Iterator[tuple[str, ...]]:
    """All that may be typed before --help."""
    yield path
    for command in app.registered_commands:
        assert command.callback is not None
        yield (*path, command.name or command.callback.__name__.replace("_", "-"))
    for group in app.registered_groups:
        assert group.typer_instance is not None
        assert group.name is not None
        yield from commands(group.typer_instance, *path, str(group.name))


@pytest.mark.parametrize("columns", ["40", "80"])
@pytest.mark.parametrize("module", MODULES)
def test_no_page_shows_a_type_of_python(
    module: str, columns: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    program: typer.Typer = importlib.import_module(module).app
    paths = list(commands(program))
    assert paths
    for path in paths:
        if path in {("admin",), ("eval",), ("bench",)}:
            # Programs of their own, which get --help passed on.
            continue
        page = CliRunner().invoke(program, [*path, "--help"])
        assert page.exit_code == 0, (path, page.output)
        assert not re.search(r"<[a-z]|\{[a-z]|list\[|range>", page.output), page.output
        # Nothing of the machine where the help is read.
        assert "/evals/corpus" not in page.output, page.output


def test_what_is_typed_stands_in_the_page() -> None:
    page = CliRunner().invoke(app, ["up", "--help"]).output
    assert "--create NAME" in page
    assert "--port NUMBER" in page

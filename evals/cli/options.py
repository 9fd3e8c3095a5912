"""The options that several commands share, and how a command ends when something is wrong."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from evals import connection, evaluation
from evals.cli import terminal
from evals.files import BadFile
from evals.golden import GoldenSet
from folio.failure import CallFailed
from services.rpc.errors import FolioError

Golden = Annotated[
    list[Path] | None,
    typer.Option("--golden", exists=True, dir_okay=False, help="golden set; default: ours"),
]
Output = Annotated[Path, typer.Option(help="where to write: .jsonl, .json and .html are added")]
Start = Annotated[
    Path | None,
    typer.Option(help="start the whole suite, with its data in this folder, for this run"),
]
Address = Annotated[
    str, typer.Option(help="host:port of a gateway; default: the one of `folio up`")
]
Key = Annotated[
    list[str] | None, typer.Option(help="NAME=KEY, an organization and its API key; repeatable")
]
HeldOut = Annotated[bool, typer.Option(help="include the held-out fifth; the summary says so")]
Concurrency = Annotated[int, typer.Option(min=1, max=64, help="questions asked at once")]
Quick = Annotated[
    bool, typer.Option(help="only search on the rungs that a search can measure: no answers there")
]
Fresh = Annotated[bool, typer.Option(help="start over instead of resuming an interrupted run")]
RungNames = Annotated[list[str] | None, typer.Option("--rung", help="only this rung; repeatable")]


@contextmanager
def failures() -> Iterator[None]:
    """Ends the command with what is wrong and exit status 1."""
    try:
        yield
    except (BadFile, FolioError, CallFailed, KeyError, ValueError) as error:
        message = error.args[0] if isinstance(error, KeyError) else error
        terminal.errors.print(f"[red]{escape(str(message))}[/]")
        raise typer.Exit(1) from None


@contextmanager
def connected(
    context: typer.Context,
    golden: GoldenSet,
    start: Path | None,
    address: str,
    keys: list[str] | None,
) -> Iterator[connection.Connection]:
    """The services that the options name."""
    if start is not None:
        with evaluation.own_suite(start, golden) as found:
            yield found
        return
    folder = getattr(context.obj, "folder", connection.DEFAULT_FOLDER)
    address = address or getattr(context.obj, "address", "")
    yield connection.existing(folder, address, connection.parse_keys(keys or []))

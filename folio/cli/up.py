"""`folio up`: the whole suite in the foreground."""

import signal
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

import typer
from rich.markup import escape

from folio.cli import show
from folio.cli.profile import DEFAULT_FOLDER
from services.rpc.errors import FolioError
from services.suite import Suite


def run_until_stopped(folder: Path, organizations: Sequence[str], port: int) -> None:
    """Runs until SIGINT or SIGTERM, or until a stage dies (exit status 1).

    Organizations of earlier runs stay; a new folder has at least one, `default`.
    """
    if not organizations and not (folder / "client.json").exists():
        organizations = ["default"]
    stopping = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopping.set())
    try:
        with show.console.status("starting") as waiting:
            suite = Suite(folder, organizations, port=port, say=lambda text: waiting.update(text))
            suite.start()
    except FolioError as error:
        suite.stop()
        show.errors.print(f"[red]{escape(error.message)}[/]")
        raise typer.Exit(1) from None
    try:
        show.console.print(f"Folio is up on [bold]{suite.client.address}[/]; Ctrl-C stops it.")
        names = ", ".join(suite.client.keys)
        show.console.print(f"keys for {escape(names)} are in {escape(str(folder / 'client.json'))}")
        command = sys.argv[0] if folder == DEFAULT_FOLDER else f"{sys.argv[0]} --folder {folder}"
        command += "" if len(suite.client.keys) == 1 else " -o ORGANIZATION"
        show.console.print("in another terminal:", style="dim")
        show.console.print(f"  {escape(command)} ingest FOLDER", soft_wrap=True)
        show.console.print(f"  {escape(command)} ask 'a question'", soft_wrap=True)
        while not stopping.wait(1.0):
            for stage in suite.dead():
                show.errors.print(f"[red]{stage.name} has died; see {stage.log}[/]")
                raise typer.Exit(1)
    finally:
        with show.console.status("stopping"):
            suite.stop()

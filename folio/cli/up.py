"""`folio up`: the whole suite in the foreground."""

import shlex
import signal
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import typer
from rich.markup import escape

from folio.cli import show
from folio.cli.profile import DEFAULT_FOLDER
from services.rpc.errors import FolioError
from services.suite import Suite

Handler = Callable[..., object] | int | None
ENDING = (signal.SIGINT, signal.SIGTERM)


def run_until_stopped(folder: Path, organizations: Sequence[str], port: int) -> None:
    """Runs until SIGINT or SIGTERM (while it starts: exit status 130), or until a service keeps dying (1).

    A service that dies is started again, and that is said.

    After a signal this process is taken for ending: it ignores further ones. Otherwise its handlers are as before.
    Organizations of earlier runs stay; a new folder has at least one, `default`.
    """
    if not organizations and not (folder / "client.json").exists():
        organizations = ["default"]
    stopping = threading.Event()
    waiting = show.console.status("starting")

    def stop(*_: object) -> None:
        # One is enough. A second would cut the stopping short, or the end of the process after it.
        _handle(dict.fromkeys(ENDING, signal.SIG_IGN))
        stopping.set()
        raise KeyboardInterrupt

    def say(text: str) -> None:
        # Python drops what is raised while it clears up an object, a channel of gRPC for one.
        if stopping.is_set():
            raise KeyboardInterrupt
        waiting.update(text)

    before = _handle(dict.fromkeys(ENDING, stop))
    suite = Suite(folder, organizations, port=port, say=say)
    up = False
    try:
        with waiting:
            suite.start()
        up = True
        _greet(suite)
        while not stopping.wait(1.0):
            for happened in suite.revive():
                show.errors.print(f"[yellow]{escape(happened)}[/]", soft_wrap=True)
    except FolioError as error:
        show.errors.print(f"[red]{escape(error.message)}[/]")
        raise typer.Exit(1) from None
    except KeyboardInterrupt:
        raise typer.Exit(0 if up else 130) from None
    finally:
        with show.console.status("stopping"):
            suite.stop()
        if not stopping.is_set():
            _handle(before)


def _handle(handlers: Mapping[signal.Signals, Handler]) -> dict[signal.Signals, Handler]:
    """Sets these handlers, and returns the former ones."""
    return {number: signal.signal(number, handler) for number, handler in handlers.items()}


def _greet(suite: Suite) -> None:
    """Says where it is, what is to be said of the settings, and what to type next."""
    for remark in suite.remarks():
        show.errors.print(f"[yellow]{escape(show.plain(remark))}[/]")
    show.console.print(f"Folio is up on [bold]{suite.client.address}[/]; Ctrl-C stops it.")
    names = ", ".join(suite.client.keys)
    show.console.print(
        f"keys for {escape(names)} are in {escape(str(suite.folder / 'client.json'))}"
    )
    words = [sys.argv[0]]
    if Path(sys.argv[0]).name == "__main__.py":
        words = [sys.executable, "-m", "folio.cli"]
    if suite.folder != DEFAULT_FOLDER.resolve():
        words += ["--folder", str(suite.folder)]
    if len(suite.client.keys) > 1:
        words += ["-o", "ORGANIZATION"]
    command = shlex.join(words)
    show.console.print("in another terminal:", style="dim")
    show.console.print(f"  {escape(command)} ingest FOLDER", soft_wrap=True)
    show.console.print(f"  {escape(command)} ask 'a question'", soft_wrap=True)

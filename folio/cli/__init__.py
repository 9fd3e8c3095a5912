"""The `folio` command."""

import io
import sys
from collections.abc import Callable

from folio.cli import admin

OURS = ("buf", "evals", "folio", "native", "services")


def main() -> None:
    """Runs the command; says which extra is missing where one is."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal that has not all the letters of a document shows a question mark for one.
            stream.reconfigure(errors="replace")
    try:
        if sys.argv[1:2] == ["admin"]:
            # The images of services have no typer.
            sys.exit(admin.main(sys.argv[2:]))
        _commands()()
    except ModuleNotFoundError as error:
        # What starts services or measures them needs more than a client of remote ones.
        if (error.name or "").split(".")[0] in OURS:
            raise
        sys.exit(f"this command needs '{error.name}': pip install 'folio[all]'")


def _commands() -> Callable[[], None]:
    try:
        from folio.cli.commands import app
    except ModuleNotFoundError as error:
        sys.exit(f"the command line needs '{error.name}': pip install 'folio[cli]'")
    return app

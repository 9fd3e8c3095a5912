"""The `folio` command."""

import sys

OURS = ("buf", "evals", "folio", "native", "services")


def main() -> None:
    """Runs the command; says which extra is missing where one is."""
    try:
        from folio.cli.commands import app
    except ModuleNotFoundError as error:
        sys.exit(f"the command line needs '{error.name}': pip install 'folio[cli]'")
    try:
        app()
    except ModuleNotFoundError as error:
        # What starts services or measures them needs more than a client of remote ones.
        if (error.name or "").split(".")[0] in OURS:
            raise
        sys.exit(f"this command needs '{error.name}': pip install 'folio[all]'")

"""The `folio` command."""

import sys


def main() -> None:
    """Runs the command; says which extra is missing where one is."""
    try:
        from folio.cli.commands import app
    except ModuleNotFoundError as error:
        sys.exit(f"the command line needs '{error.name}': pip install 'folio[cli]'")
    app()

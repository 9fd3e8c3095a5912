"""Options and arguments that several commands of `folio` take, and how they are read."""

from datetime import date
from typing import Annotated

import typer

from folio import messages


def parse_toggles(on: list[str], off: list[str]) -> messages.Steps:
    """The steps of --with and --without. BadParameter for a name that is none."""
    toggles = {name: True for name in on} | {name: False for name in off}
    try:
        return messages.named_steps(toggles)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


STEPS = ", ".join(sorted(messages.Steps.__optional_keys__))
With = Annotated[
    list[str],
    typer.Option("--with", metavar="STEP", help=f"turn a step on; may be repeated: {STEPS}"),
]
Without = Annotated[
    list[str],
    typer.Option(
        "--without", metavar="STEP", help="turn a step off, one of those; may be repeated"
    ),
]
Collections = Annotated[list[str], typer.Option("--collection", help="only these; may be repeated")]
Kinds = Annotated[list[str], typer.Option("--kind", help="only these; may be repeated")]
DocumentId = Annotated[int, typer.Argument(help="see `folio documents list`")]


def parse_date(text: str) -> str:
    """A date as the API takes it. BadParameter for anything else but nothing."""
    try:
        if text and text != date.fromisoformat(text).isoformat():
            raise ValueError
    except ValueError:
        raise typer.BadParameter("a date as 2025-01-31 is needed") from None
    return text


From = Annotated[
    str,
    typer.Option(
        "--from", callback=parse_date, metavar="DATE", help="published on or after, 2025-01-31"
    ),
]
Until = Annotated[
    str,
    typer.Option(
        "--until", callback=parse_date, metavar="DATE", help="published on or before, 2025-01-31"
    ),
]

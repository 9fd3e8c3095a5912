"""What stands for a value on the pages of help: NUMBER or FOLDER, where typer would print a type of Python."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup
from typer.models import ArgumentInfo, OptionInfo

# By the name of the parameter, where its type says less.
_WORDS = {
    "address": "HOST:PORT",
    "endpoint": "HOST:PORT",
    "api_key": "KEY",
    "key": "NAME=KEY",
    "organization": "NAME",
    "collection": "NAME",
    "kind": "WORD",
    "after": "QUESTION",
    "charset": "NAME",
    "highlight": "START:END",
    "rung": "NAME",
    "rung_a": "NAME",
    "rung_b": "NAME",
    "metric": "NAME",
    "layout": "NAME",
    "service": "NAME",
    "folder": "FOLDER",
    "start": "FOLDER",
    "results": "FOLDER",
}


class Command(TyperCommand):
    """No types beside its arguments and switches: their names say enough."""

    def get_params(self, context: Any) -> Any:
        return _without_types(super().get_params(context))


class Group(TyperGroup):
    """The same for a group of commands."""

    def get_params(self, context: Any) -> Any:
        return _without_types(super().get_params(context))


def _without_types(parameters: Any) -> Any:
    for parameter in parameters:
        if parameter.metavar is None or isinstance(parameter, TyperArgument):
            # Newer versions of typer ask for it.
            vars(parameter)["display_type_rich"] = lambda ctx: None
    return parameters


def name_values(app: typer.Typer) -> None:
    """For every command that `app` has by now, and for the commands of its groups."""
    for group in app.registered_groups:
        if group.typer_instance is not None:
            name_values(group.typer_instance)
    app.info.cls = Group
    for command in app.registered_commands:
        command.cls = Command
    calls: list[Callable[..., Any] | None] = [each.callback for each in app.registered_commands]
    if app.registered_callback is not None:
        calls.append(app.registered_callback.callback)
    for call in filter(None, calls):
        for name, hint in get_type_hints(call, include_extras=True).items():
            if get_origin(hint) is Annotated:
                kind, *notes = get_args(hint)
                for note in notes:
                    if isinstance(note, OptionInfo | ArgumentInfo) and note.metavar is None:
                        note.metavar = _word(name, _single(kind), note)


def _single(kind: Any) -> Any:
    """The type of one value: of list[str] | None it is str."""
    while inner := [part for part in get_args(kind) if part is not type(None)]:
        kind = inner[0]
    return kind


def _word(name: str, kind: Any, note: OptionInfo | ArgumentInfo) -> str | None:
    """None for a switch, which takes no value."""
    if kind is bool:
        return None
    if isinstance(note, ArgumentInfo):
        return name.upper()
    if name in _WORDS:
        return _WORDS[name]
    if kind in (int, float):
        return "NUMBER"
    if isinstance(kind, type) and issubclass(kind, Path):
        return "FILE" if not note.dir_okay else "FOLDER" if not note.file_okay else "PATH"
    return "TEXT"

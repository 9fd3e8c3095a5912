"""`folio admin`: the operator's commands, for the database's owner and for who gives out API keys.

They are told by Python's own argparse, and each loads what it needs when it runs: they work in the images of the
services, where there is no typer, and beside the gateway no database driver.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path

OWNER = "as the owner of the tables, whom DATABASE_ADMIN_URL names"


def main(arguments: Sequence[str]) -> int:
    """Runs a command; prints what it made. Errors go to standard error and give 1."""
    given = parser().parse_args(arguments)
    run: Callable[[argparse.Namespace], int] = given.run
    return run(given)


def parser() -> argparse.ArgumentParser:
    """Every command, with the function that runs it as `run`."""
    root = argparse.ArgumentParser(
        prog="folio admin", description=f"Commands of an operator. All but keys work {OWNER}."
    )
    commands = root.add_subparsers(dest="command", required=True, metavar="COMMAND")

    def add(
        name: str, run: Callable[[argparse.Namespace], int], text: str
    ) -> argparse.ArgumentParser:
        command = commands.add_parser(name, help=text, description=text)
        command.set_defaults(run=run)
        return command

    add("migrate", _schema, "bring the schema up to date and grant the application's role")
    add("organizations", _schema, "list the organizations: id, name")
    new = add(
        "create-organization", _schema, "make an organization and its partitions; prints its id"
    )
    new.add_argument("name")
    gone = add("drop-organization", _schema, "remove an organization and all its data")
    gone.add_argument("name")
    rooftop = add("create-rooftop", _schema, "make a part of an organization; prints its id")
    rooftop.add_argument("organization")
    rooftop.add_argument("name")
    retain = add("retain-text", _schema, "let the query log keep questions, or not")
    retain.add_argument("organization")
    retain.add_argument("choice", choices=["yes", "no"])

    add("models", _models, "list the embedding models: name, column, dimension, state")
    add(
        "add-model",
        _models,
        "make vectors of the model in the EMBEDDINGS_ settings for every chunk",
    )
    add("drop-model", _models, "remove a model's vectors").add_argument("name")
    prune = add("prune-cache", _models, "drop cached embeddings that no chunk uses")
    prune.add_argument("--days", type=int, default=7, help="keep those made in so many days")

    _add_keys(commands.add_parser("keys", help="make, list and revoke API keys"))
    return root


def _add_keys(keys: argparse.ArgumentParser) -> None:
    commands = keys.add_subparsers(dest="keys_command", required=True, metavar="COMMAND")

    def add(
        name: str, run: Callable[[argparse.Namespace], int], text: str
    ) -> argparse.ArgumentParser:
        command = commands.add_parser(name, help=text, description=text)
        command.add_argument("--keys-file", type=Path, required=True, help="the FOLIO_KEYS_FILE")
        command.set_defaults(run=run)
        return command

    create = add("create", _create_key, "make a key, print it once, store its hash")
    create.add_argument("--organization-id", type=int, required=True)
    create.add_argument("--name", default="", help="the organization's name, for people")
    create.add_argument("--rooftop-id", type=int)
    create.add_argument("--scopes", default="read,write", help="of read, write, admin")
    create.add_argument("--expires-at", type=datetime.fromisoformat, help="2027-01-31T00:00:00Z")
    create.add_argument("--label", default="")
    add("list", _list_keys, "list the keys: start of the hash, organization, scopes, end, label")
    revoke = add(
        "revoke", _revoke_key, "remove a key; a running gateway refuses it within a second or two"
    )
    revoke.add_argument("hash", help="its hash, or the start of it that `list` shows")


def _schema(given: argparse.Namespace) -> int:
    from services.postgres.admin import COMMANDS, run

    return run(COMMANDS[given.command], given)


def _models(given: argparse.Namespace) -> int:
    from services.postgres.admin import run
    from services.retriever.admin import COMMANDS

    return run(COMMANDS[given.command], given)


def _create_key(given: argparse.Namespace) -> int:
    from services.gateway import keys

    return _print(
        lambda: keys.create(
            given.keys_file,
            organization_id=given.organization_id,
            organization=given.name,
            rooftop_id=given.rooftop_id,
            scopes=given.scopes.split(","),
            expires_at=given.expires_at,
            label=given.label,
        )
    )


def _list_keys(given: argparse.Namespace) -> int:
    from services.gateway import keys

    return _print(lambda: "\n".join(keys.describe(key) for key in keys.read(given.keys_file)))


def _revoke_key(given: argparse.Namespace) -> int:
    from services.gateway import keys

    return _print(lambda: keys.describe(keys.revoke(given.keys_file, given.hash)))


def _print(make: Callable[[], str]) -> int:
    from services.rpc.errors import FolioError

    try:
        made = make()
    except FolioError as error:
        print(f"error: {error.message}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"error: the keys file: {error.strerror}: {error.filename}", file=sys.stderr)
        return 1
    if made:
        print(made)
    return 0

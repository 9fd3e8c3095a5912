"""Which services a command talks to: those of `folio up`, any others by address and keys, or a suite started for it."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from services.rpc.errors import FailedPrecondition, InvalidArgument

DEFAULT_FOLDER = Path(".folio")


@dataclass(frozen=True)
class Connection:
    """A gateway's address, and an API key for each organization by name."""

    address: str
    keys: Mapping[str, str]


def parse_keys(pairs: Sequence[str]) -> dict[str, str]:
    """Of NAME=KEY texts. InvalidArgument for one that is not."""
    found = {}
    for pair in pairs:
        name, equals, key = pair.partition("=")
        if not (name and equals and key):
            raise InvalidArgument("--key is written NAME=KEY: an organization and its API key")
        found[name] = key
    return found


def existing(folder: Path, address: str = "", keys: Mapping[str, str] | None = None) -> Connection:
    """The services at `address`, or those that `folio up` keeps in `folder`. FailedPrecondition if there are none."""
    path = folder / "client.json"
    if address and keys:
        return Connection(address, keys)
    if not path.exists():
        raise FailedPrecondition(
            f"no services: run `folio up` (it writes {path}), pass --start FOLDER, or --address and --key"
        )
    local = json.loads(path.read_text(encoding="utf-8"))
    return Connection(address or local["address"], {**local["keys"], **(keys or {})})


@contextmanager
def started(
    folder: Path, organizations: Sequence[str], environment: Mapping[str, str] | None = None
) -> Iterator[Connection]:
    """The whole suite on this machine, on free ports, until the block ends; its data stays in `folder`."""
    # Only here: a client of services elsewhere needs none of what the suite needs.
    from services.suite import Suite

    with Suite(folder, organizations, port=0, environment=environment or {}) as suite:
        yield Connection(suite.client.address, suite.client.keys)

"""Which services a command talks to: those of `folio up`, any others by address and keys, or a suite started for it."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from folio.client import AsyncFolio
from services.rpc import identity
from services.rpc.errors import FailedPrecondition, InvalidArgument

DEFAULT_FOLDER = Path(".folio")
PUBLIC_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


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


@contextmanager
def given_or_started(
    folder: Path, organizations: Sequence[str], address: str, keys: Mapping[str, str]
) -> Iterator[Connection]:
    """The services at `address`; without one, a suite of our own in `folder`."""
    if address:
        yield Connection(address, keys)
        return
    with started(folder, organizations) as found:
        yield found


async def service(
    there: Connection, organization: str, name: str, secret: Path
) -> tuple[str, tuple[tuple[str, str], ...]]:
    """(address, metadata) to call a service itself, as the gateway would: where it is, and a token signed for it.

    `secret` is the file with the suite's internal secret. FailedPrecondition where the service is not there.
    """
    async with AsyncFolio(there.address, there.keys[organization]) as client:
        status = await client.status()
    found = next((state for state in status.services if state.service == name), None)
    if found is None or not found.reachable:
        told = ", ".join(state.service for state in status.services if state.reachable)
        raise FailedPrecondition(f"no service {name!r} is up; there are: {told or 'none'}")
    return found.address, metadata(name, status.organization_id, secret)


def metadata(audience: str, organization_id: int, secret: Path) -> tuple[tuple[str, str], ...]:
    """The `authorization` of a call to a service, good for five minutes."""
    if not secret.is_file():
        raise FailedPrecondition(f"no internal secret at {secret}; name its file with --secret")
    principal = identity.Principal(organization_id, subject="folio-eval")
    token = identity.sign(principal, audience, secret.read_text(encoding="utf-8").strip())
    return (("authorization", f"Bearer {token}"),)

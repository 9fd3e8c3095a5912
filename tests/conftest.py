"""One real PostgreSQL for the session: embedded, migrated, with the application's role and two organizations."""

import os
import secrets
import signal
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import grpc
import hypothesis
import pytest
from pydantic import SecretStr

from services.postgres import admin
from services.postgres.embedded import EmbeddedPostgres
from services.postgres.pool import TenantPool, open_pool
from services.postgres.settings import PostgresSettings
from services.rpc.identity import Principal

pytest_plugins = ["tests.marks"]

# The command line talks to tests as to a pipe, wherever they run (typer, rich): no boxes, colours or folded lines.
os.environ.update(TYPER_USE_RICH="0", TTY_COMPATIBLE="0")

# Programs inherit what is ignored: nohup ignores SIGHUP, a shell's `&` ignores SIGINT and SIGQUIT. Tests send them.
signal.signal(signal.SIGINT, signal.default_int_handler)
for number in (signal.SIGHUP, signal.SIGQUIT):
    signal.signal(number, signal.SIG_DFL)

# `make test` tries all examples of a property, `make test-fast` a tenth of them. A test has no wall-clock limit.
hypothesis.settings.register_profile("all", max_examples=100, deadline=None)
hypothesis.settings.register_profile("fast", max_examples=10, deadline=None)
hypothesis.settings.load_profile("all")


@dataclass(frozen=True)
class Postgres:
    """`admin_url` is the owner's, `url` the application's. `acme` and `globex` are two organizations' ids."""

    admin_url: str
    url: str
    acme: int
    globex: int

    def settings(self, **changes: object) -> PostgresSettings:
        """A service's settings on this server."""
        return PostgresSettings.model_validate(
            {
                "internal_secret": SecretStr("x" * 32),
                "database_url": SecretStr(self.url),
                **changes,
            }
        )

    def organization(self) -> int:
        """A new, empty organization, for a test that wants one of its own."""
        return admin.create_organization(self.admin_url, f"test {secrets.token_hex(8)}")


@pytest.fixture(scope="session", autouse=True)
async def poller() -> AsyncIterator[None]:
    """gRPC's poller first, as in a service: it gets its descriptors before any client of HTTP.

    asyncio forgets the reader of a descriptor when a transport is closed late, also when the number is another's by
    then: clients that a test leaves to the garbage collector would silence a younger poller, and its calls would hang.
    """
    async with grpc.aio.insecure_channel("localhost:1"):
        yield


@pytest.fixture(scope="session")
def data_folders() -> Iterator[Callable[[], Path]]:
    """Makes folders for the data of servers; gone at the end.

    Not in pytest's own folder: started by root, PostgreSQL runs as another user, to whom each further run of pytest by
    root shuts that folder anew.
    """
    with tempfile.TemporaryDirectory(prefix="folio-test-") as folder:
        Path(folder).chmod(0o711)
        numbers = count(1)
        yield lambda: Path(folder) / str(next(numbers))


@pytest.fixture
def data_folder(data_folders: Callable[[], Path]) -> Path:
    """A new one for this test, not made yet."""
    return data_folders()


@pytest.fixture(scope="session")
def postgres(data_folders: Callable[[], Path]) -> Iterator[Postgres]:
    """The server of the session; gone, with its data, at the end."""
    with EmbeddedPostgres(data_folders(), {"fsync": "off"}) as server:
        url = admin.prepare(server.admin_url, "of the tests")
        yield Postgres(
            server.admin_url,
            url,
            acme=admin.create_organization(server.admin_url, "acme"),
            globex=admin.create_organization(server.admin_url, "globex"),
        )


@pytest.fixture(scope="session")
async def pool(postgres: Postgres) -> AsyncIterator[TenantPool]:
    """The application's pool on that server."""
    async with open_pool(postgres.settings()) as opened:
        yield opened


@pytest.fixture
def acme(postgres: Postgres) -> Principal:
    """Acts for the organization acme."""
    return Principal(postgres.acme)


@pytest.fixture
def globex(postgres: Postgres) -> Principal:
    """Acts for the organization globex."""
    return Principal(postgres.globex)


@pytest.fixture(scope="session")
def public_data() -> Path:
    """The folder of public collections: FOLIO_DATA, or shared/data beside the checkout."""
    beside = Path(__file__).parents[2] / "shared" / "data"
    folder = Path(os.environ.get("FOLIO_DATA") or beside)
    if not folder.is_dir():
        pytest.skip(f"no public data at {folder}; set FOLIO_DATA to its folder")
    return folder

"""All services on one machine, each a process of its own, on an embedded PostgreSQL: `folio up`, the demo, tests.

The folder it keeps holds everything: the database, the keys, the logs. Nothing is left running when it stops, not
even if this process is killed. `folio up` starts again what ends by itself (`revive`).
"""

import fcntl
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from types import TracebackType
from typing import IO

from services import child
from services.gateway import keys
from services.postgres import admin
from services.postgres.embedded import EmbeddedPostgres
from services.restarts import Restarts
from services.rpc.errors import FailedPrecondition, Unavailable
from services.rpc.ports import reserved_address
from services.rpc.probe import probe

READY_S = 120.0
STOP_S = 30.0
GATEWAY_PORT = 7400

# What the health of each service is asked about.
HEALTH = {
    "encoder": "folio.encoder.v1.EncoderService",
    "retriever": "folio.retriever.v1.RetrieverService",
    "colbert": "folio.rerank.v1.RerankService",
    "crossencoder": "folio.rerank.v1.RerankService",
    "generator": "folio.generator.v1.GeneratorService",
    "gateway": "folio.gateway.v1.GatewayService",
}

# Who works with the embedded model: a setting, and its values that do. The first one is the default, where it does.
ENCODER_USERS: Mapping[str, Sequence[str]] = {
    "FOLIO_EMBEDDER": ("minilm",),
    "FOLIO_COLBERT_ENCODER": ("minilm",),
    "FOLIO_GENERATOR": ("extractive",),
    "FOLIO_GENERATOR_FALLBACK": ("", "extractive"),
    "FOLIO_JUDGE": ("", "alignment"),
}

Say = Callable[[str], None]


@dataclass(frozen=True)
class Client:
    """What a caller needs: the gateway's address and a key for each organization, by name."""

    address: str
    keys: Mapping[str, str]


@dataclass
class Service:
    """A service that runs, or is to. `log` is where its standard error goes."""

    name: str
    address: str
    log: Path
    environment: Mapping[str, str] = field(repr=False)
    process: subprocess.Popen[bytes] = field(repr=False)
    restarts: Restarts = field(default_factory=Restarts, repr=False)
    # Not yet said to be ready since it was started again.
    coming: bool = False


def _require_free(port: int) -> None:
    """FailedPrecondition if another program listens there: it would pass for our gateway."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            raise FailedPrecondition(
                f"port {port} is in use, perhaps by another suite; stop it, or name another port (0: a free one)"
            ) from None


class Suite:
    """`with Suite(folder, ["acme"]) as suite:` runs until the block ends; `suite.client` says how to call it.

    `port` is the gateway's, 0 for a free one; `environment` adds to that of every service, e.g. RERANKER_URL, which
    also starts the cross-encoder; relative paths in it start at this process's working folder. Raises
    FailedPrecondition if the folder or the port is in use, Unavailable if a service does not get ready (with the end
    of its log).
    """

    def __init__(
        self,
        folder: Path,
        organizations: Sequence[str],
        *,
        port: int = GATEWAY_PORT,
        environment: Mapping[str, str] | None = None,
        say: Say = lambda message: None,
    ) -> None:
        self.folder = folder.expanduser().resolve()
        self.services: list[Service] = []
        self.client = Client("", {})
        self._organizations = list(organizations)
        self._port = port
        self._environment = {**os.environ, **(environment or {})}
        self._say = say
        self._postgres: EmbeddedPostgres | None = None
        self._postgres_restarts = Restarts()
        self._lock: IO[str] | None = None
        self._reserved = ExitStack()

    def __enter__(self) -> "Suite":
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Database, organizations, keys, then the services, all ready when it returns."""
        self._take_folder()
        _require_free(self._port)
        self._say("starting PostgreSQL")
        self._postgres = EmbeddedPostgres(self.folder / "postgres")
        self._postgres.start()
        self._say("bringing the schema up to date")
        database_url = admin.prepare(self._postgres.admin_url, self._secret("database"))
        identifiers = {
            name: admin.ensure_organization(self._postgres.admin_url, name)
            for name in self._organizations
        }
        address = f"127.0.0.1:{self._port}" if self._port else self._free_address()
        self.client = Client(address, self._keys(identifiers))
        self._start_services(database_url)
        self._await_ready()
        keys.write_private(
            self.folder / "client.json",
            json.dumps({"address": self.client.address, "keys": dict(self.client.keys)}, indent=2),
        )

    def stop(self) -> None:
        """Services first (SIGTERM, then drain), the database last. A second Ctrl-C comes after."""
        with child.uninterrupted():
            self._stop()

    def _stop(self) -> None:
        for service in reversed(self.services):
            if service.process.poll() is None:
                service.process.send_signal(signal.SIGTERM)
        until = time.monotonic() + STOP_S
        for service in reversed(self.services):
            try:
                service.process.wait(timeout=max(0.1, until - time.monotonic()))
            except subprocess.TimeoutExpired:
                service.process.kill()
                service.process.wait()
        self.services.clear()
        if self._postgres is not None:
            self._postgres.stop()
            self._postgres = None
        if self._lock is not None:
            self._lock.close()
            self._lock = None
        self._reserved.close()

    def remarks(self) -> list[str]:
        """What the services say of variables that are set, such as that a name has changed: before they log."""
        said: dict[str, None] = {}
        for service in self.services:
            with service.log.open(encoding="utf-8", errors="replace") as lines:
                for line in takewhile(lambda line: not line.startswith("{"), lines):
                    if line.partition(" ")[0] in self._environment:
                        said[line.strip()] = None
        return list(said)

    def revive(self) -> list[str]:
        """Starts again what has ended by itself, each after its wait, and says what happened since the last call.

        Call it every second or so, from the thread that started the suite. Raises Unavailable, with the end of its log,
        for a service that keeps ending.
        """
        said = self._revive_postgres()
        for service in self.services:
            if service.restarts.waiting:
                if service.restarts.due:
                    self._run(service)
                    service.restarts.started()
                    service.coming = True
            elif service.process.poll() is not None:
                service.coming = False
                wait = service.restarts.ended()
                if wait is None:
                    raise Unavailable(f"{service.name} keeps stopping:\n{_tail(service.log)}")
                said.append(
                    f"{service.name} has stopped ({_why(service.process.returncode)});"
                    f" starting it again in {wait:g} s; see {service.log}"
                )
            elif service.coming and not probe(service.address, HEALTH[service.name]):
                service.coming = False
                said.append(f"{service.name} is up again")
        return said

    def _revive_postgres(self) -> list[str]:
        postgres, restarts = self._postgres, self._postgres_restarts
        if postgres is None or postgres.running:
            return []
        if not restarts.waiting:
            wait = restarts.ended()
            if wait is None:
                raise Unavailable(f"PostgreSQL keeps stopping; see {postgres.folder / 'log'}")
            return [f"PostgreSQL has stopped; starting it again in {wait:g} s"]
        if not restarts.due:
            return []
        try:
            postgres.start()
        except Unavailable:
            # Killed, it leaves processes that take a moment to go: the next try waits longer.
            return []
        finally:
            restarts.started()
        return ["PostgreSQL is up again"]

    def _free_address(self) -> str:
        """Where a service may listen: nobody else is given it until we stop."""
        return self._reserved.enter_context(reserved_address())

    def _take_folder(self) -> None:
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            (self.folder / "logs").mkdir(exist_ok=True)
            self._lock = (self.folder / "lock").open("w")
        except OSError as error:
            raise FailedPrecondition(
                f"the folder {self.folder} is not writable: {error.strerror}"
            ) from None
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise FailedPrecondition(
                f"another suite runs on the folder {self.folder}; stop it, or name another folder"
            ) from None

    def _secret(self, name: str) -> str:
        """A random secret that stays the same for this folder."""
        path = self.folder / f"{name}.secret"
        if not path.exists():
            keys.write_private(path, secrets.token_hex(32))
        return path.read_text()

    def _keys(self, identifiers: Mapping[str, int]) -> dict[str, str]:
        """An API key for each organization, now and in earlier runs; only the folder's owner can read them."""
        path = self.folder / "client.json"
        known: dict[str, str] = json.loads(path.read_text())["keys"] if path.exists() else {}
        for name, identifier in identifiers.items():
            if name not in known:
                known[name] = keys.create(
                    self.folder / "keys.yaml", organization_id=identifier, organization=name
                )
        return known

    def _start_services(self, database_url: str) -> None:
        names = ["retriever", "colbert", "generator"]
        if self._environment.get("RERANKER_URL") or self._environment.get(
            "FOLIO_CROSSENCODER_PROVIDER"
        ):
            names.append("crossencoder")
        if not self._environment.get("FOLIO_ENCODER_ADDRESS") and _uses_encoder(self._environment):
            names.insert(0, "encoder")
        addresses = {name: self._free_address() for name in names}
        common = {
            **self._environment,
            "FOLIO_INTERNAL_SECRET": self._secret("internal"),
            "FOLIO_CACHE_DIR": self._environment.get("FOLIO_CACHE_DIR")
            or str(self.folder / "cache"),
            # A service finds the modules that this process finds, and nothing in the working folder (-P).
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        }
        if "encoder" in addresses:
            common["FOLIO_ENCODER_ADDRESS"] = addresses["encoder"]
        for name in names:
            needs_database = (
                {"DATABASE_URL": database_url} if name in ("retriever", "colbert") else {}
            )
            self._launch(name, addresses[name], {**common, **needs_database})
        rerankers = [name for name in ("colbert", "crossencoder") if name in addresses]
        self._launch(
            "gateway",
            self.client.address,
            {
                **common,
                "FOLIO_RETRIEVER_ADDRESS": addresses["retriever"],
                "FOLIO_GENERATOR_ADDRESS": addresses["generator"],
                "FOLIO_RERANKERS": ",".join(f"{name}={addresses[name]}" for name in rerankers),
                "FOLIO_KEYS_FILE": str(self.folder / "keys.yaml"),
            },
        )

    def _launch(self, name: str, address: str, environment: Mapping[str, str]) -> None:
        log = self.folder / "logs" / f"{name}.log"
        log.unlink(missing_ok=True)
        whole = {**environment, "FOLIO_LISTEN": address, "PYTHONUNBUFFERED": "1"}
        with child.uninterrupted():
            self.services.append(Service(name, address, log, whole, _process(name, whole, log)))

    def _run(self, service: Service) -> None:
        with child.uninterrupted():
            service.process = _process(service.name, service.environment, service.log)

    def _await_ready(self) -> None:
        until = time.monotonic() + READY_S
        for service in self.services:
            self._say(f"waiting for {service.name}")
            while problem := probe(service.address, HEALTH[service.name]):
                if service.process.poll() is not None:
                    raise Unavailable(f"{service.name} did not start:\n{_tail(service.log)}")
                if time.monotonic() > until:
                    raise Unavailable(
                        f"{service.name} was not ready after {READY_S:.0f} s ({problem}):\n{_tail(service.log)}"
                    )
                time.sleep(0.1)


def _uses_encoder(environment: Mapping[str, str]) -> bool:
    """Whether a service with these settings works with the embedded model."""
    return any(
        value in users and value
        for variable, users in ENCODER_USERS.items()
        for value in [environment.get(variable) or users[0]]
    )


def _process(name: str, environment: Mapping[str, str], log: Path) -> "subprocess.Popen[bytes]":
    with log.open("ab") as output:
        return subprocess.Popen(
            child.command([sys.executable, "-P", "-m", f"services.{name}"], end=signal.SIGTERM),
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            # A session of its own: Ctrl-C reaches this process alone, which then stops the services in order.
            start_new_session=True,
        )


def _why(status: int) -> str:
    """What a process's status says to a person."""
    if status >= 0:
        return f"exit status {status}"
    try:
        return signal.Signals(-status).name
    except ValueError:
        return f"signal {-status}"


def _tail(log: Path, lines: int = 8) -> str:
    return "\n".join(log.read_text(errors="replace").splitlines()[-lines:])

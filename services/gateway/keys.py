"""API keys: 256 random bits each, of which the file keeps only the SHA-256.

A key this long cannot be guessed from its hash, so a slow password hash would add nothing but time.

    folio admin keys create --organization-id 1 --name acme --keys-file keys.yaml
"""

import hashlib
import hmac
import logging
import os
import secrets
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError

from services.rpc.errors import FailedPrecondition, InvalidArgument, NotFound, Unauthenticated
from services.rpc.identity import Principal

log = logging.getLogger("folio.gateway")

PREFIX = "folio_"
SCOPES = frozenset({"read", "write", "admin"})
# How often the file is looked at.
CHECK_S = 1.0
# Of a hash, to name a key by; `list` shows twelve characters.
MIN_START = 8


class ApiKey(BaseModel):
    """One entry of the file. `organization` and `label` are for people."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    hash: str = Field(pattern="^[0-9a-f]{64}$", description="SHA-256 of the key, hexadecimal")
    organization_id: int = Field(gt=0, strict=True)
    organization: str = ""
    rooftop_id: int | None = Field(None, gt=0, strict=True)
    scopes: frozenset[Literal["read", "write", "admin"]] = frozenset({"read"})
    expires_at: AwareDatetime | None = None
    label: str = ""

    def principal(self) -> Principal:
        return Principal(
            organization_id=self.organization_id,
            rooftop_id=self.rooftop_id,
            subject=self.label or f"key {self.hash[:8]}",
            scopes=frozenset(self.scopes),
        )


def digest(key: str) -> str:
    """SHA-256, hexadecimal."""
    return hashlib.sha256(key.encode()).hexdigest()


def parse(text: str) -> tuple[ApiKey, ...]:
    """The entries of a keys file. FailedPrecondition says which one is wrong, and how."""
    try:
        document = yaml.safe_load(text) or {}
    except yaml.YAMLError:
        raise FailedPrecondition("the keys file is not YAML") from None
    entries = document.get("keys", []) if isinstance(document, dict) else None
    if not isinstance(entries, list):
        raise FailedPrecondition("the keys file must hold a list under `keys`")
    return tuple(_entry(number, entry) for number, entry in enumerate(entries, 1))


def _entry(number: int, entry: object) -> ApiKey:
    try:
        return ApiKey.model_validate(entry)
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"]) or "the entry"
        raise FailedPrecondition(f"keys file, entry {number}: {where}: {first['msg']}") from None


class KeyFile:
    """The keys of a file, read again when it changes. A broken change keeps the keys that were good.

    FailedPrecondition if there is no such file, or it cannot be read, at the start.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._checked_at = time.monotonic()
        self._stamp = self._look()
        self._keys = parse(self._read())

    def principal(self, key: str) -> Principal:
        """Who holds this key. Unauthenticated if nobody does, or no longer."""
        self._refresh()
        hashed, found = digest(key), None
        for entry in self._keys:
            # All are compared, each in constant time: how long it takes says nothing about any of them.
            if hmac.compare_digest(entry.hash, hashed):
                found = entry
        if found is None:
            raise Unauthenticated("unknown API key", reason="UNKNOWN_KEY")
        if found.expires_at is not None and found.expires_at <= datetime.now(UTC):
            raise Unauthenticated("the API key has expired", reason="EXPIRED_KEY")
        return found.principal()

    def _look(self) -> tuple[int, ...] | None:
        """What changes with the file, or with who may read it; None where there is no file."""
        try:
            status = self._path.stat()
        except OSError:
            return None
        return (status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino)

    def _read(self) -> str:
        try:
            return self._path.read_text(encoding="utf-8")
        except FileNotFoundError:
            raise FailedPrecondition(
                f"FOLIO_KEYS_FILE names {self._path.absolute()}, which does not exist"
            ) from None
        except (OSError, UnicodeDecodeError):
            raise FailedPrecondition("FOLIO_KEYS_FILE cannot be read") from None

    def _refresh(self) -> None:
        now = time.monotonic()
        if now - self._checked_at < CHECK_S:
            return
        self._checked_at = now
        stamp = self._look()
        if stamp == self._stamp:
            return
        self._stamp = stamp
        if stamp is None:
            log.error("the keys file was removed; no key is valid")
            self._keys = ()
            return
        try:
            self._keys = parse(self._read())
        except FailedPrecondition as error:
            log.error(
                "the keys file is broken; the former keys stay", extra={"error": error.message}
            )


def create(
    path: Path,
    *,
    organization_id: int,
    organization: str = "",
    rooftop_id: int | None = None,
    scopes: Sequence[str] = ("read", "write"),
    expires_at: datetime | None = None,
    label: str = "",
) -> str:
    """Makes a key, adds its hash to the file (0600, replaced as a whole) and returns the key: it is shown only now."""
    key = PREFIX + secrets.token_urlsafe(32)
    entry: dict[str, Any] = {
        "hash": digest(key),
        "organization_id": organization_id,
        "organization": organization,
        "scopes": list(scopes),
        "label": label,
    }
    if rooftop_id is not None:
        entry["rooftop_id"] = rooftop_id
    if expires_at is not None:
        entry["expires_at"] = expires_at.isoformat()
    _write(path, [*(_entries(path) if path.exists() else []), entry])
    return key


def read(path: Path) -> tuple[ApiKey, ...]:
    """The entries of a file. FailedPrecondition if it is not there, or no keys file."""
    return tuple(ApiKey.model_validate(entry) for entry in _entries(path))


def revoke(path: Path, start: str) -> ApiKey:
    """Removes the one key whose hash begins with `start`, and returns its entry. NotFound unless there is one.

    InvalidArgument for a start that is too short to be meant: an empty shell variable must not revoke an only key.
    """
    if len(start) < MIN_START:
        raise InvalidArgument(f"give at least the first {MIN_START} characters of the key's hash")
    entries = _entries(path)
    found = [entry for entry in entries if str(entry["hash"]).startswith(start)]
    if len(found) != 1:
        raise NotFound(f"{len(found) or 'no'} keys have a hash that begins with '{start}'")
    _write(path, [entry for entry in entries if entry is not found[0]])
    return ApiKey.model_validate(found[0])


def describe(key: ApiKey) -> str:
    """A line for people: start of the hash, organization, its name, scopes, end, label, between tabs."""
    end = key.expires_at.isoformat() if key.expires_at else "-"
    scopes = ",".join(sorted(key.scopes))
    cells = (key.hash[:12], key.organization_id, key.organization or "-", scopes, end, key.label)
    return "\t".join(map(str, cells))


def _entries(path: Path) -> list[dict[str, Any]]:
    """As they are written. FailedPrecondition for a file that is not there, or whose entries do not hold."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise FailedPrecondition(f"there is no keys file {path}") from None
    except UnicodeDecodeError:
        raise FailedPrecondition("the keys file is not UTF-8") from None
    parse(text)
    return list((yaml.safe_load(text) or {}).get("keys") or [])


def _write(path: Path, entries: Sequence[Mapping[str, Any]]) -> None:
    text = yaml.safe_dump({"keys": list(entries)}, sort_keys=False)
    parse(text)
    write_private(path, text)


def write_private(path: Path, text: str) -> None:
    """Writes a file so that a reader sees the old one or the new one, and nobody but its owner reads either."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            if path.exists() and os.geteuid() == 0:
                # A key that root adds must not take the file away from the service that reads it.
                os.fchown(file.fileno(), path.stat().st_uid, path.stat().st_gid)
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


if __name__ == "__main__":
    from folio.cli import admin

    print("this is now `folio admin keys`; the next release knows it there only", file=sys.stderr)
    sys.exit(admin.main(["keys", *sys.argv[1:]]))

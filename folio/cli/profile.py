"""Which server the commands talk to, and with whose key.

In this order: the options, the variables FOLIO_ADDRESS and FOLIO_API_KEY, then what `folio up` left in its folder.
"""

import json
from dataclasses import dataclass
from pathlib import Path

import typer

from folio.client import Folio

DEFAULT_FOLDER = Path(".folio")


@dataclass(frozen=True)
class Profile:
    """The options that every command shares."""

    address: str
    api_key: str
    organization: str
    folder: Path
    tls: bool
    ca_certificate: Path | None

    def connect(self) -> Folio:
        """A client. Ends the command with a hint if there is no server or key to use."""
        address, key = self.address, self.api_key
        if not (address and key):
            local_address, keys = self._local()
            address = address or local_address
            key = key or self._choose(keys)
        ca_certificate = self.ca_certificate.read_bytes() if self.ca_certificate else None
        try:
            return Folio(address, key, tls=self.tls, ca_certificate=ca_certificate)
        except ValueError as error:
            raise typer.BadParameter(str(error)) from None

    def _local(self) -> tuple[str, dict[str, str]]:
        path = self.folder / "client.json"
        if not path.exists():
            if self.address:
                raise typer.BadParameter("no API key: add --api-key, or set FOLIO_API_KEY")
            if self.api_key:
                raise typer.BadParameter("no server: add --address, or set FOLIO_ADDRESS")
            raise typer.BadParameter(
                f"no server: run `folio up` in another terminal, name the folder of one that runs with --folder"
                f" (it is not in {self.folder}), or set FOLIO_ADDRESS and FOLIO_API_KEY"
            )
        try:
            local = json.loads(path.read_text())
            return local["address"], local["keys"]
        except (ValueError, KeyError, TypeError):
            raise typer.BadParameter(
                f"{path} is not a file that `folio up` wrote; run `folio up` again"
            ) from None

    def _choose(self, keys: dict[str, str]) -> str:
        if self.organization:
            if self.organization not in keys:
                raise typer.BadParameter(
                    f"no key for the organization {self.organization}; there are: {', '.join(sorted(keys))}"
                )
            return keys[self.organization]
        if len(keys) == 1:
            return next(iter(keys.values()))
        raise typer.BadParameter(f"choose one with --organization: {', '.join(sorted(keys))}")

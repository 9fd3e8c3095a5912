"""The settings that every service has. A service subclasses this once, in its own settings.py."""

import difflib
import json
import logging
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Self

from pydantic import AliasChoices, Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from services.rpc.errors import FailedPrecondition

log = logging.getLogger("folio.settings")

PREFIX = "FOLIO_"


def renamed(name: str, *, former: str) -> AliasChoices:
    """For a field's `validation_alias`: the variable's name, and the former one, which works for one release more."""
    return AliasChoices(name, former)


def names(settings: type[BaseSettings], field: str) -> list[str]:
    """The environment variables of a field: its name, then the former ones."""
    alias = settings.model_fields[field].validation_alias
    if isinstance(alias, AliasChoices):
        return [str(choice) for choice in alias.choices]
    return [alias if isinstance(alias, str) else f"{PREFIX}{field.upper()}"]


class ServerSettings(BaseSettings):
    """Read once, at start, from the environment; frozen; printed with its secrets masked."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, frozen=True, populate_by_name=True, env_ignore_empty=True
    )

    # Variables that are gone, each with what a warning at start says of it, for one release.
    GONE: ClassVar[Mapping[str, str]] = {"FOLIO_TRACE_TEXT": "it had no effect"}

    listen: str = Field(
        "127.0.0.1:0", description="host:port to serve gRPC on; port 0 takes a free one"
    )
    metrics_listen: str = Field(
        "", description="host:port of the Prometheus page; empty: no such page"
    )
    internal_secret: SecretStr = Field(
        description="signs the identity that the gateway passes on; at least 32 bytes, the same in all services"
    )
    max_concurrency: int = Field(32, ge=1, le=10_000, description="calls handled at once")
    max_queue: int = Field(
        64,
        ge=0,
        le=100_000,
        description="calls that may wait for their turn; further calls are refused",
    )
    max_message_bytes: int = Field(
        64 * 2**20, ge=2**20, le=2**30, description="largest gRPC message, both ways"
    )
    max_call_seconds: float = Field(
        600.0,
        gt=0,
        le=3600,
        description="deadline of calls that set none, and limit for those that do",
    )
    drain_seconds: float = Field(
        20.0, ge=0, le=600, description="time that running calls have to finish after SIGTERM"
    )
    max_connection_age_seconds: float = Field(
        300.0,
        ge=1,
        description="connections are renewed after this, so that load spreads over replicas",
    )
    log_level: str = Field(
        "INFO", pattern="^(DEBUG|INFO|WARNING|ERROR)$", description="lowest level that is logged"
    )
    tls_certificate: Path | None = Field(
        None, description="PEM chain of this service; with tls_key, serves TLS"
    )
    tls_key: Path | None = Field(None, description="PEM key of this service")
    tls_ca: Path | None = Field(
        None,
        description="PEM certificate authorities; with tls_certificate: clients must have a certificate of theirs",
    )
    otlp_endpoint: str = Field(
        "",
        validation_alias="OTEL_EXPORTER_OTLP_ENDPOINT",
        description="address of an OTLP collector of traces; empty: no traces",
    )

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """A field with a name of its own has that name alone: code may say `model`, FOLIO_MODEL is no variable."""
        env_settings.config = {**env_settings.config, "populate_by_name": False}
        return init_settings, env_settings

    @classmethod
    def load(cls) -> Self:
        """The settings from the environment. FailedPrecondition names every wrong variable at once."""
        cls._warn_of_former_names()
        try:
            settings = cls()
        except ValidationError as error:
            problems = "; ".join(
                f"{cls.variable(str(item['loc'][0])) if item['loc'] else 'settings'}: {item['msg']}"
                for item in error.errors(include_input=False, include_url=False)
            )
            raise FailedPrecondition(f"wrong settings: {problems}") from None
        cls._refuse_misspelt()
        return settings

    @classmethod
    def variable(cls, field: str) -> str:
        """The environment variable of a field."""
        return names(cls, field)[0] if field in cls.model_fields else field

    @classmethod
    def _warn_of_former_names(cls) -> None:
        for field in cls.model_fields:
            name, *former = names(cls, field)
            for old in filter(os.environ.get, former):
                if os.environ.get(name) not in (None, "", os.environ[old]):
                    raise FailedPrecondition(f"{old} is now called {name}: set {name} alone")
                log.warning("%s is now called %s; the next release knows only that name", old, name)
        for gone, why in cls.GONE.items():
            if os.environ.get(gone):
                log.warning("%s is no longer a setting: %s", gone, why)

    @classmethod
    def _refuse_misspelt(cls) -> None:
        known = {name for field in cls.model_fields for name in names(cls, field)}
        for name in os.environ:
            if name.startswith(PREFIX) and name not in known:
                bare = name.removeprefix(PREFIX)
                close = [bare] if bare in known else []
                close += difflib.get_close_matches(name, known, n=1, cutoff=0.92)
                if close:
                    raise FailedPrecondition(f"unknown setting {name}; did you mean {close[0]}?")

    def describe(self) -> str:
        """One JSON object of all settings by variable name, secrets masked."""
        shown: dict[str, Any] = {}
        for field in type(self).model_fields:
            value = getattr(self, field)
            shown[self.variable(field)] = (
                ("****" if value.get_secret_value() else "")
                if isinstance(value, SecretStr)
                else value
            )
        return json.dumps(shown, default=str, sort_keys=True)

"""What a service needs to know of its database; what its owner needs."""

from typing import Self

from pydantic import Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from services.rpc.errors import FailedPrecondition
from services.rpc.settings import ServerSettings


class PostgresSettings(ServerSettings):
    """Settings of a service that stores. The service's own settings subclass this."""

    database_url: SecretStr = Field(
        validation_alias="DATABASE_URL",
        description="postgresql://… with the application's role, which must not own tables",
    )
    database_pool_size: int = Field(
        10, ge=1, le=1000, description="connections that this process keeps open"
    )
    database_wait_seconds: float = Field(
        5.0,
        gt=0,
        le=120,
        description="longest wait for a free connection; then the call fails as UNAVAILABLE",
    )
    database_statement_seconds: float = Field(
        30.0, gt=0, le=3600, description="longest time of one statement"
    )
    database_prepared_statements: bool = Field(
        True,
        description="use prepared statements; switch off behind pgbouncer in transaction mode",
    )


class AdminSettings(BaseSettings):
    """For the owner's commands only; the services have no such URL."""

    model_config = SettingsConfigDict(frozen=True, populate_by_name=True, env_ignore_empty=True)

    database_admin_url: SecretStr = Field(
        validation_alias="DATABASE_ADMIN_URL",
        description="postgresql://… with the role that owns the tables",
    )
    database_url: SecretStr = Field(
        SecretStr(""),
        validation_alias="DATABASE_URL",
        description="names the application's role and its password, for `migrate`",
    )

    @classmethod
    def load(cls) -> Self:
        """The settings from the environment. FailedPrecondition names what is missing."""
        try:
            return cls()
        except ValidationError:
            raise FailedPrecondition(
                "set DATABASE_ADMIN_URL to a connection string of the owner of the tables"
            ) from None

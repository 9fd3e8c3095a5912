"""What the retriever reads from its environment."""

from typing import Self

from pydantic import Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from services.postgres.settings import PostgresSettings
from services.rpc.errors import FailedPrecondition


class AdminSettings(BaseSettings):
    """For the owner's commands only; the services have no such URL."""

    model_config = SettingsConfigDict(frozen=True, populate_by_name=True, env_ignore_empty=True)

    database_admin_url: SecretStr = Field(
        validation_alias="DATABASE_ADMIN_URL",
        description="postgresql://… as the owner of the tables",
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


class RetrieverSettings(PostgresSettings):
    """Settings of the retriever."""

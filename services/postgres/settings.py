"""What a stage needs to know of its database."""

from pydantic import Field, SecretStr

from services.rpc.settings import ServerSettings


class PostgresSettings(ServerSettings):
    """Settings of a stage that stores. The stage's own settings subclass this."""

    database_url: SecretStr = Field(
        validation_alias="DATABASE_URL",
        description="postgresql://… as the application's role, which must own nothing",
    )
    database_pool_size: int = Field(
        10, ge=1, le=1000, description="connections kept by this process"
    )
    database_wait_seconds: float = Field(
        5.0, gt=0, le=120, description="longest wait for a free connection; then UNAVAILABLE"
    )
    database_statement_seconds: float = Field(
        30.0, gt=0, le=3600, description="longest time of one statement"
    )
    database_prepared_statements: bool = Field(
        True, description="off behind pgbouncer in transaction mode"
    )

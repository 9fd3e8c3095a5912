"""Settings of the Claude API."""

from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings


class AnthropicSettings(BaseSettings):
    """Part of the generator's settings."""

    anthropic_api_key: SecretStr = Field(
        SecretStr(""), validation_alias="ANTHROPIC_API_KEY", description="key of the Claude API"
    )
    anthropic_base_url: str = Field(
        "https://api.anthropic.com", validation_alias="ANTHROPIC_BASE_URL", description="Claude API"
    )

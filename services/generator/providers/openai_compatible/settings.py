"""Settings of a chat-completions server."""

from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings


class OpenAICompatibleSettings(BaseSettings):
    """Part of the generator's settings."""

    openai_api_key: SecretStr = Field(
        SecretStr(""),
        validation_alias="OPENAI_API_KEY",
        description="key of the OpenAI-compatible server; may be empty",
    )
    openai_base_url: str = Field(
        "",
        validation_alias="OPENAI_BASE_URL",
        description="a server with /v1/chat/completions (vLLM, TGI, llama.cpp): http://host:port/v1",
    )

"""Settings of an Ollama server."""

from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings


class OllamaSettings(BaseSettings):
    """Part of the generator's settings."""

    ollama_host: str = Field(
        "http://127.0.0.1:11434", validation_alias="OLLAMA_HOST", description="Ollama server"
    )
    ollama_api_key: SecretStr = Field(
        SecretStr(""),
        validation_alias="OLLAMA_API_KEY",
        description="key of ollama.com; a server of one's own needs none",
    )
    ollama_context_tokens: int = Field(
        16384,
        ge=1024,
        le=1_048_576,
        description="context that Ollama is asked for: it cuts what is longer and does not say so, so the passages"
        " (FOLIO_MAX_TOTAL_TOKENS) and the answer must fit",
    )

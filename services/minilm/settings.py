"""Where the embedded model keeps its graph and how many threads it may use."""

from pathlib import Path

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict


class MiniLMSettings(BaseSettings):
    """Settings of the embedded model, shared by every stage that runs it."""

    model_config = SettingsConfigDict(env_prefix="FOLIO_", frozen=True)

    cache_dir: Path = Field(
        default=Path("~/.cache/folio"),
        description="Folder of the converted model (90 MB); made where absent.",
    )
    model_threads: int = Field(
        default=0,
        ge=0,
        le=256,
        description="Threads of the embedded model in one inference; 0 for one per core.",
    )

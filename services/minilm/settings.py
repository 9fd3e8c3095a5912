"""Where the embedded model keeps its graph and how many threads it may use."""

import os
from pathlib import Path

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict


def user_cache() -> Path:
    """Folio's part of the user's cache folder, as the XDG Base Directory Specification has it."""
    named = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (named if named.is_absolute() else Path("~/.cache")) / "folio"


class MiniLMSettings(BaseSettings):
    """Settings of the embedded model, shared by every service that runs it."""

    model_config = SettingsConfigDict(env_prefix="FOLIO_", frozen=True, env_ignore_empty=True)

    cache_dir: Path = Field(
        default_factory=user_cache,
        description="folder of the converted model (90 MB); empty: `folio` in the user's cache folder",
    )
    model_threads: int = Field(
        default=0,
        ge=0,
        le=256,
        description="threads of the embedded model in one inference; 0: one per core",
    )

"""Where the embedded model keeps its graph and how many threads it may use."""

import os
from pathlib import Path
from typing import Literal

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
    encoder_address: str = Field(
        default="",
        description="host:port of the encoder, which holds the embedded model for all services;"
        " empty or none: each has its own copy",
    )
    minilm_engine: Literal["auto", "onnxruntime", "openvino"] = Field(
        default="auto",
        description="what runs the embedded model: onnxruntime, openvino, or auto: openvino where it is installed"
        " and the processor has AVX512-BF16 or AMX",
    )
    model_threads: int = Field(
        default=0,
        ge=0,
        le=256,
        description="threads of the embedded model in one inference; 0: one per core",
    )

    @property
    def encoder(self) -> str:
        """The encoder's address; empty where the model is in this process."""
        return "" if self.encoder_address == "none" else self.encoder_address

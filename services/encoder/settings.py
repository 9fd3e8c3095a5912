"""Every setting of the encoder; those of the model itself are in services/minilm/settings.py."""

from pydantic import Field

from services.minilm.model import BATCH_TOKENS
from services.rpc.settings import ServerSettings


class EncoderSettings(ServerSettings):
    """Read once, at start."""

    listen: str = Field("127.0.0.1:7405", description="host:port to serve gRPC on")
    max_concurrency: int = Field(
        256, ge=1, le=10_000, description="calls handled at once; they wait in lanes"
    )
    batch_tokens: int = Field(
        BATCH_TOKENS,
        ge=64,
        le=2**20,
        validation_alias="FOLIO_ENCODER_BATCH_TOKENS",
        description="tokens encoded together; a question waits for one such batch at most",
    )
    queue_tokens: int = Field(
        1_000_000,
        ge=1024,
        validation_alias="FOLIO_ENCODER_QUEUE_TOKENS",
        description="tokens that may wait in one lane, half of them of one organization; calls beyond that are refused",
    )
    memory_bytes: int = Field(
        64 * 2**20,
        ge=2**20,
        validation_alias="FOLIO_ENCODER_MEMORY_BYTES",
        description="memory for vectors of questions that another service may ask for",
    )
    spool_bytes: int = Field(
        2**30,
        ge=0,
        validation_alias="FOLIO_ENCODER_SPOOL_BYTES",
        description="space in FOLIO_CACHE_DIR for token vectors of an ingest, until colbert asks for them;"
        " 400 KB for a chunk of 500 tokens; 0: such texts are read twice",
    )

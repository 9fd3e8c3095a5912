"""Every environment variable of colbert."""

from pathlib import Path

from pydantic import Field

from services.colbert.encoders import ENCODERS
from services.postgres.settings import PostgresSettings


class ColbertSettings(PostgresSettings):
    """Settings of colbert."""

    listen: str = Field("127.0.0.1:7402", description="host:port to serve gRPC on")
    max_call_seconds: float = Field(
        1800.0,
        gt=0,
        le=3600,
        description="longest time of any call; indexing a large document takes long",
    )
    encoder: str = Field(
        "minilm",
        validation_alias="FOLIO_COLBERT_ENCODER",
        description=f"provider of token vectors: {', '.join(ENCODERS)}",
    )
    model: str = Field(
        "",
        validation_alias="FOLIO_COLBERT_MODEL",
        description="ColBERT checkpoint for pylate: a folder or a hub id",
    )
    revision: str = Field(
        "",
        validation_alias="FOLIO_COLBERT_REVISION",
        description="commit of the checkpoint on its hub; empty: the newest",
    )
    query_length: int = Field(
        0,
        ge=0,
        le=1024,
        validation_alias="FOLIO_COLBERT_QUERY_LENGTH",
        description="tokens read of a query; 0: the model's own limit",
    )
    document_length: int = Field(
        0,
        ge=0,
        le=8192,
        validation_alias="FOLIO_COLBERT_DOCUMENT_LENGTH",
        description="tokens read of a document; 0: the model's own limit",
    )
    pool_factor: int = Field(
        1,
        ge=1,
        le=8,
        validation_alias="FOLIO_COLBERT_POOL_FACTOR",
        description="token pooling of stored documents: 1 none, 2 half, 3 a third of the vectors",
    )
    projection: Path | None = Field(
        None,
        validation_alias="FOLIO_COLBERT_PROJECTION",
        description=".npy matrix (out, dim) that reduces the dimension of queries and documents",
    )
    leases: bool = Field(
        True,
        validation_alias="FOLIO_COLBERT_LEASES",
        description="remember which chunks a tenant may see until PostgreSQL notifies of a change;"
        " off: ask on every call (also off without prepared statements: LISTEN needs a session)",
    )
    cache_bytes: int = Field(
        2 * 2**30,
        ge=2**20,
        validation_alias="FOLIO_COLBERT_CACHE_BYTES",
        description="memory for token vectors; the least recently used are dropped first",
    )
    kernel_threads: int = Field(
        1,
        ge=1,
        le=64,
        validation_alias="FOLIO_COLBERT_KERNEL_THREADS",
        description="threads of one MaxSim call",
    )
    kernel_workers: int = Field(
        4,
        ge=1,
        le=64,
        validation_alias="FOLIO_COLBERT_KERNEL_WORKERS",
        description="MaxSim calls that run at once",
    )
    batch_tokens: int = Field(
        1024,
        ge=64,
        le=2**20,
        validation_alias="FOLIO_COLBERT_BATCH_TOKENS",
        description="tokens encoded together, across calls; not with FOLIO_ENCODER_ADDRESS, which has its own lanes",
    )
    batch_wait_ms: float = Field(
        2.0,
        ge=0,
        le=1000,
        validation_alias="FOLIO_COLBERT_BATCH_WAIT_MS",
        description="how long a text waits for others to share a batch of pylate with",
    )
    queue_tokens: int = Field(
        1_000_000,
        ge=1024,
        validation_alias="FOLIO_COLBERT_QUEUE_TOKENS",
        description="tokens that may wait in one lane, half of them of one organization; calls beyond that are refused",
    )
    stream_in_flight: int = Field(
        16,
        ge=1,
        le=1024,
        validation_alias="FOLIO_COLBERT_STREAM_IN_FLIGHT",
        description="requests of one stream handled at once",
    )
    max_exact_chunks: int = Field(
        50_000,
        ge=1,
        validation_alias="FOLIO_COLBERT_MAX_EXACT_CHUNKS",
        description="most chunks that SearchExact scores; larger calls are refused",
    )
    max_encode_on_demand: int = Field(
        256,
        ge=0,
        validation_alias="FOLIO_COLBERT_MAX_ENCODE_ON_DEMAND",
        description="chunks without stored vectors that a call may have encoded, per thousand chunks",
    )

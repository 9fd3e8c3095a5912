"""Every environment variable of the crossencoder."""

from pydantic import Field, SecretStr

from services.crossencoder.models import SCORERS
from services.rpc.settings import ServerSettings


class CrossEncoderSettings(ServerSettings):
    """Settings of the crossencoder. There is no default model: without one, the service is not run."""

    listen: str = Field("127.0.0.1:7403", description="host:port to serve gRPC on")
    provider: str = Field(
        "",
        validation_alias="FOLIO_CROSSENCODER_PROVIDER",
        description=f"provider of the model: {', '.join(SCORERS)}; empty: tei if RERANKER_URL is set, else none",
    )
    reranker_url: str = Field(
        "",
        validation_alias="RERANKER_URL",
        description="address of a TEI server; for cohere and voyage: of a proxy",
    )
    model: str = Field(
        "",
        validation_alias="FOLIO_CROSSENCODER_MODEL",
        description="the provider's name for the model, or a folder",
    )
    revision: str = Field(
        "",
        validation_alias="FOLIO_CROSSENCODER_REVISION",
        description="commit of the model on its hub; empty: the newest",
    )
    cohere_api_key: SecretStr = Field(
        SecretStr(""), validation_alias="COHERE_API_KEY", description="key of Cohere"
    )
    voyage_api_key: SecretStr = Field(
        SecretStr(""), validation_alias="VOYAGE_API_KEY", description="key of Voyage"
    )
    batch_pairs: int = Field(
        0,
        ge=0,
        le=1000,
        validation_alias="FOLIO_CROSSENCODER_BATCH_PAIRS",
        description="pairs in one call to the model; 0: the provider's own limit",
    )
    attempt_seconds: float = Field(
        10.0,
        gt=0,
        le=600,
        validation_alias="FOLIO_CROSSENCODER_ATTEMPT_SECONDS",
        description="longest time of one call to the model; then it is tried again",
    )
    attempts: int = Field(
        3,
        ge=1,
        le=10,
        validation_alias="FOLIO_CROSSENCODER_ATTEMPTS",
        description="attempts of one call to the model, all inside the caller's deadline",
    )
    threads: int = Field(
        0,
        ge=0,
        le=256,
        validation_alias="FOLIO_CROSSENCODER_THREADS",
        description="threads of a local model; 0: one per core",
    )
    stream_in_flight: int = Field(
        16,
        ge=1,
        le=1024,
        validation_alias="FOLIO_CROSSENCODER_STREAM_IN_FLIGHT",
        description="requests of one stream handled at once",
    )

"""Every setting of the gateway."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar, Literal, Self

from pydantic import Field, SecretStr, field_validator, model_validator

from folio.common.v1 import step_pb2
from services.rpc.errors import FailedPrecondition
from services.rpc.settings import ServerSettings, renamed

# An empty variable means the default, so "nothing" has a value of its own: none.
NONE = "none"
# The names of rerankers, each with the step that it does.
RERANKERS = {"colbert": step_pb2.STEP_COLBERT, "crossencoder": step_pb2.STEP_CROSSENCODER}
# How pydantic reads a switch that is on.
SWITCHED_ON = ("1", "on", "t", "true", "y", "yes")
DEFAULT_CALIBRATION = Path(__file__).parent / "calibrations"


class GatewaySettings(ServerSettings):
    """Read once, at start."""

    GONE: ClassVar[Mapping[str, str]] = {
        **ServerSettings.GONE,
        "FOLIO_LOCAL_PROVIDERS": "every provider says itself whether it works inside the suite",
    }

    listen: str = Field("127.0.0.1:7400", description="host:port to serve the public API on")
    max_call_seconds: float = Field(
        1800.0,
        gt=0,
        le=3600,
        description="longest time of any call; ingesting a large file takes long",
    )
    ask_seconds: float = Field(
        60.0,
        gt=0,
        le=600,
        description="longest time of one question or search, whatever the caller allows",
    )
    max_calls_per_organization: int = Field(
        16, ge=1, description="questions, searches and ingests of one organization at once"
    )

    # Who may call.
    keys_file: Path | None = Field(
        None, description="YAML file of API keys (hashes only); read again when it changes"
    )
    jwt_algorithm: Literal["", "RS256", "ES256", "HS256"] = Field(
        "", description="algorithm that JWTs must use; empty: JWTs are not accepted"
    )
    jwt_key: SecretStr = Field(
        SecretStr(""), description="secret (HS256) or public key in PEM (RS256, ES256)"
    )
    jwt_jwks_file: Path | None = Field(
        None, description="JSON Web Key Set, instead of jwt_key; read again when it changes"
    )
    jwt_issuer: str = Field("", description="the `iss` that JWTs must carry")
    jwt_audience: str = Field("", description="the `aud` that JWTs must carry")
    jwt_organization_claim: str = Field(
        "organization_id", description="claim with the organization"
    )
    jwt_rooftop_claim: str = Field("rooftop_id", description="claim with the rooftop, if any")
    jwt_scopes_claim: str = Field("scope", description="claim with the scopes: a list, or words")

    # Where the services are.
    retriever_address: str = Field("127.0.0.1:7401", description="host:port of the retriever")
    reranker_list: str = Field(
        "colbert=127.0.0.1:7402",
        validation_alias="FOLIO_RERANKERS",
        description="rerankers in the order in which they run, colbert=host:port,crossencoder=host:port; or none",
    )
    generator_address: str = Field(
        "127.0.0.1:7404", description="host:port of the generator, or none"
    )
    encoder_address: str = Field(
        "",
        description="host:port of the encoder, which holds the embedded model for all services;"
        " empty or none: each has its own copy",
    )
    breaker_failures: int = Field(
        5, ge=1, description="failures in a row after which a service is not called for a while"
    )
    breaker_open_seconds: float = Field(
        5.0, gt=0, description="how long a service is not called before one call tries it again"
    )
    breaker_slow_seconds: float = Field(
        1.0,
        ge=0,
        description="timeouts shorter than this do not count as failures of the service",
    )

    # What a question goes through, if the request does not say.
    dense: bool = Field(True, description="search by embedding")
    sparse: bool = Field(True, description="search by words")
    typos: bool = Field(True, description="find misspelt words by trigrams")
    rewrite: bool = Field(True, description="turn a follow-up into a standalone question")
    synonyms: bool = Field(True, description="search with the organization's synonyms too")
    multi_query: bool = Field(
        False, description="search with paraphrases too (needs a language model)"
    )
    hyde: bool = Field(
        False, description="search with a hypothetical answer too (needs a language model)"
    )
    scope: bool = Field(True, description="apply a scope found in the question")
    passages: bool = Field(
        True,
        validation_alias=renamed("FOLIO_PASSAGES", former="FOLIO_PARENTS"),
        description="answer from the sections around the hits, not from the hits alone",
    )
    judge: bool = Field(
        False,
        validation_alias="FOLIO_JUDGE_ANSWERS",
        description="ask the generator's judge whether the evidence supports an answer",
    )
    web: bool = Field(False, description="allow web search where a rule in web_rules allows it")
    web_rules: Path | None = Field(
        None, description="YAML file: organizations that may search the web"
    )

    search_candidates: int = Field(100, ge=1, le=1000, description="hits of the search")
    rerank_candidates: int = Field(
        50,
        ge=1,
        le=1000,
        validation_alias=renamed("FOLIO_RERANK_CANDIDATES", former="FOLIO_COLBERT_CANDIDATES"),
        description="hits that each reranker hands on",
    )
    read_candidates: int = Field(
        10,
        ge=1,
        le=50,
        validation_alias=renamed("FOLIO_READ_CANDIDATES", former="FOLIO_CROSSENCODER_CANDIDATES"),
        description="hits whose passages are read for an answer",
    )
    max_per_document: int = Field(
        3, ge=0, description="most hits of one document while others are relevant too; 0: no limit"
    )
    max_passage_tokens: int = Field(2000, ge=50, le=32768, description="tokens of one passage")
    max_total_tokens: int = Field(8000, ge=50, le=262144, description="tokens of all passages")
    max_output_tokens: int = Field(
        1024, ge=16, le=16384, description="longest answer in tokens, if the request does not say"
    )
    scope_cache_seconds: float = Field(
        30.0,
        ge=0,
        description="how long titles and kinds are remembered before they are read again",
    )
    heartbeat_seconds: float = Field(
        3.0, gt=0, description="silence after which a stream sends a sign of life"
    )

    # When to answer.
    answer_threshold: float | None = Field(
        None,
        validation_alias="RAG_ANSWER_THRESHOLD",
        ge=0,
        le=1,
        description="probability below which to abstain; 0: leave that to the generator; unset: the calibration's own",
    )
    calibration: Path = Field(
        DEFAULT_CALIBRATION, description="folder of calibration files, one JSON per model"
    )
    judge_threshold: float = Field(
        0.5, ge=0, le=1, description="support below which a sentence fails its check"
    )

    @classmethod
    def load(cls) -> Self:
        """FailedPrecondition for FOLIO_JUDGE=true too: FOLIO_JUDGE names the generator's judge, and was this switch."""
        if (
            os.environ.get("FOLIO_JUDGE", "").lower() in SWITCHED_ON
            and "FOLIO_JUDGE_ANSWERS" not in os.environ
        ):
            raise FailedPrecondition(
                "FOLIO_JUDGE names the generator's judge; for the gateway to ask it, set FOLIO_JUDGE_ANSWERS"
            )
        return super().load()

    @field_validator("reranker_list")
    @classmethod
    def _readable(cls, value: str) -> str:
        parse_rerankers(value)
        return value

    @model_validator(mode="after")
    def _ask_seconds_are_given(self) -> "GatewaySettings":
        if self.ask_seconds > self.max_call_seconds:
            raise ValueError("FOLIO_MAX_CALL_SECONDS would cut FOLIO_ASK_SECONDS short")
        return self

    @model_validator(mode="after")
    def _jwt_is_whole(self) -> "GatewaySettings":
        if self.jwt_algorithm:
            if not self.jwt_key.get_secret_value() and self.jwt_jwks_file is None:
                raise ValueError("JWTs need FOLIO_JWT_KEY or FOLIO_JWT_JWKS_FILE")
            if not self.jwt_issuer or not self.jwt_audience:
                raise ValueError("JWTs need FOLIO_JWT_ISSUER and FOLIO_JWT_AUDIENCE")
            if self.jwt_key.get_secret_value() == self.internal_secret.get_secret_value():
                raise ValueError("FOLIO_JWT_KEY must not be the internal secret")
        return self

    @property
    def rerankers(self) -> tuple[tuple[str, str], ...]:
        """(name, address) of the rerankers there are, in the order in which they run."""
        return parse_rerankers(self.reranker_list)


def parse_rerankers(text: str) -> tuple[tuple[str, str], ...]:
    """(name, address) pairs of "colbert=host:port,crossencoder=host:port", or of "none"; else ValueError."""
    if text.strip() == NONE:
        return ()
    pairs = [part.strip().partition("=") for part in text.split(",") if part.strip()]
    names = [name for name, _, _ in pairs]
    if not all(address for _, _, address in pairs) or not set(names) <= set(RERANKERS):
        raise ValueError("must be written colbert=host:port,crossencoder=host:port")
    if len(set(names)) != len(names):
        raise ValueError("a reranker is named twice")
    return tuple((name, address) for name, _, address in pairs)

"""Settings of the generator. Every one is an environment variable; see the descriptions."""

from pathlib import Path

from pydantic import Field, SecretStr

from services.generator.judges import JUDGES
from services.generator.providers import PROVIDERS, ProviderSettings
from services.generator.websearch import WEB_SEARCHES
from services.rpc.settings import ServerSettings


class GeneratorSettings(ProviderSettings, ServerSettings):
    """Read once, at start."""

    listen: str = Field("127.0.0.1:7404", description="host:port to serve gRPC on")
    max_concurrency: int = Field(8, ge=1, le=1000, description="calls handled at once")

    generator: str = Field(
        "extractive", description=f"who answers: extractive, {', '.join(PROVIDERS)}"
    )
    generator_fallback: str = Field(
        "",
        description="who answers if FOLIO_GENERATOR is overloaded, unreachable or refuses: NAME or NAME:MODEL;"
        " empty: nobody",
    )
    model: str = Field(
        "",
        validation_alias="RAG_MODEL",
        description="id of the model, where a language model answers",
    )
    model_timeout_seconds: float = Field(
        20.0,
        gt=0,
        le=600,
        description="longest time of one small call: a rewrite, an expansion, a judgement",
    )
    max_output_tokens: int = Field(
        1024, ge=16, le=16384, description="longest answer in tokens, if the request does not say"
    )
    prices: Path | None = Field(
        None,
        description="YAML file of prices in dollars per million tokens, by model; unset: no costs are reported",
    )

    extractive_threshold: float | None = Field(
        None, ge=0, le=1, description="confidence below which the extractive generator abstains"
    )
    extractive_windows: int = Field(
        8,
        ge=1,
        le=200,
        description="passages of about 200 tokens that the extractive generator reads",
    )

    rewrite_with_model: bool = Field(
        True,
        description="rewrite follow-ups with the generator's model, if it has one; otherwise by rules",
    )
    synonyms_dir: Path | None = Field(
        None, description="folder of <organization_id>.yaml files with synonyms"
    )

    judge: str = Field(
        "", description=f"provider of the judge of support: {', '.join(JUDGES)}; empty: none"
    )
    judge_dir: Path | None = Field(
        None, description="folder of the onnx judge: model.onnx, tokenizer.json, config.json"
    )

    web_search: str = Field(
        "", description=f"provider of web search: {', '.join(WEB_SEARCHES)}; empty: none"
    )
    searxng_url: str = Field(
        "", description="address of a SearXNG server whose JSON format is enabled"
    )
    brave_api_key: SecretStr = Field(SecretStr(""), description="key of the Brave Search API")
    brave_base_url: str = Field("https://api.search.brave.com", description="Brave Search API")

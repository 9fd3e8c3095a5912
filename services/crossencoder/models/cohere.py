"""Cohere's rerank, through its own SDK."""

from collections.abc import Sequence

import cohere
import httpx
from cohere.core.api_error import ApiError

from services.crossencoder.models import PairScore, ScoreType, failure, in_order, retry_after
from services.crossencoder.settings import CrossEncoderSettings
from services.rpc.errors import FailedPrecondition, Internal, Unavailable


class CohereScorer:
    """Relevance in 0 to 1. Texts beyond the model's length are cut by Cohere, which cannot refuse."""

    provider = "cohere"
    revision = ""
    score_type = ScoreType.RELEVANCE
    concurrency = 4

    def __init__(self, key: str, model: str, url: str, batch_pairs: int) -> None:
        self.model = model
        self.batch_pairs = batch_pairs or 100
        self._client = cohere.AsyncClientV2(api_key=key, base_url=url or None)

    @classmethod
    def create(cls, settings: CrossEncoderSettings) -> "CohereScorer":
        key = settings.cohere_api_key.get_secret_value()
        if not key or not settings.model:
            raise FailedPrecondition(
                "the provider cohere needs COHERE_API_KEY and FOLIO_CROSSENCODER_MODEL"
            )
        return cls(key, settings.model, settings.reranker_url, settings.batch_pairs)

    async def start(self) -> None:
        """Nothing to load; the first call finds out whether the key is good."""

    async def score(
        self, query: str, texts: Sequence[str], *, truncate: bool, seconds: float
    ) -> list[PairScore]:
        if not truncate:
            raise FailedPrecondition(
                "cohere cannot refuse long texts; allow truncation", reason="TRUNCATES"
            )
        try:
            answer = await self._client.rerank(
                model=self.model,
                query=query,
                documents=list(texts),
                # The SDK would retry on its own and obey any Retry-After, past our deadline.
                request_options={"timeout": seconds, "max_retries": 0},
            )
        except ApiError as error:
            raise self._failure(error) from None
        except httpx.HTTPError as error:
            raise Unavailable(
                f"cohere could not be reached: {type(error).__name__}",
                reason="PROVIDER_AWAY",
            ) from None
        scored = [(item.index, item.relevance_score) for item in answer.results or ()]
        return in_order(len(texts), scored, self.provider)

    async def close(self) -> None:
        """The SDK's client closes with the process."""

    def _failure(self, error: ApiError) -> Exception:
        status = error.status_code
        # A 200 whose body the SDK could not read.
        if status is None or status < 400:
            return Internal("cohere's answer could not be read", reason="PROVIDER")
        return failure(self.provider, status, retry_after(error.headers))

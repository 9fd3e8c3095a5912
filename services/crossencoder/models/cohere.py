"""Cohere's rerank, through its own SDK."""

from collections.abc import Sequence

import cohere
import httpx
from cohere.core.api_error import ApiError

from services.crossencoder.models import PairScore, PairScorer, ScoreType, in_order
from services.crossencoder.settings import CrossEncoderSettings
from services.outbound.failures import from_status, unreachable, unreadable
from services.rpc.errors import FailedPrecondition, FolioError

_NAME = "the cohere reranker"
_ADVICE = {
    401: "check COHERE_API_KEY",
    403: "check COHERE_API_KEY",
    404: "check FOLIO_CROSSENCODER_MODEL and RERANKER_URL",
    413: "lower FOLIO_CROSSENCODER_BATCH_PAIRS",
}


class CohereScorer:
    """Relevance in 0 to 1. Texts beyond the model's length are cut by Cohere, which cannot refuse."""

    provider = "cohere"
    local = False
    revision = ""
    score_type = ScoreType.RELEVANCE
    concurrency = 4

    def __init__(self, key: str, model: str, url: str, batch_pairs: int) -> None:
        self.model = model
        self.batch_pairs = batch_pairs or 100
        self._client = cohere.AsyncClientV2(api_key=key, base_url=url or None)

    @classmethod
    def create(cls, settings: CrossEncoderSettings) -> PairScorer:
        key = settings.cohere_api_key.get_secret_value()
        if not key or not settings.model:
            raise FailedPrecondition(
                "set COHERE_API_KEY and FOLIO_CROSSENCODER_MODEL to use cohere"
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
            raise _failure(error) from None
        except httpx.TimeoutException:
            raise TimeoutError from None
        except httpx.HTTPError:
            raise unreachable(_NAME) from None
        scored = [(item.index, item.relevance_score) for item in answer.results or ()]
        return in_order(len(texts), scored, _NAME)

    async def close(self) -> None:
        """The SDK's client closes with the process."""


def _failure(error: ApiError) -> FolioError:
    # None, and any success: a body that the SDK could not read.
    if error.status_code is None or error.status_code < 300:
        return unreadable(_NAME)
    return from_status(error.status_code, _NAME, error.headers, _ADVICE)

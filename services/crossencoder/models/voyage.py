"""Voyage's rerank, through its own SDK."""

from collections.abc import Sequence

import aiohttp
from voyageai.client_async import AsyncClient
from voyageai.error import APIConnectionError, Timeout, VoyageError

from services.crossencoder.models import PairScore, PairScorer, ScoreType, in_order
from services.crossencoder.settings import CrossEncoderSettings
from services.outbound.failures import MALFORMED, from_status, unreachable, unreadable
from services.rpc.errors import FailedPrecondition, FolioError, InvalidArgument

_NAME = "the voyage reranker"
_ADVICE = {
    401: "check VOYAGE_API_KEY",
    403: "check VOYAGE_API_KEY",
    404: "check FOLIO_CROSSENCODER_MODEL and RERANKER_URL",
    413: "lower FOLIO_CROSSENCODER_BATCH_PAIRS",
}


class VoyageScorer:
    """Relevance in 0 to 1."""

    provider = "voyage"
    local = False
    revision = ""
    score_type = ScoreType.RELEVANCE
    concurrency = 4

    def __init__(self, key: str, model: str, url: str, batch_pairs: int) -> None:
        self.model = model
        self.batch_pairs = batch_pairs or 100
        # max_retries=0: our own retries, inside the caller's deadline. Time is bounded per call.
        self._client = AsyncClient(api_key=key, max_retries=0, base_url=url or None)

    @classmethod
    def create(cls, settings: CrossEncoderSettings) -> PairScorer:
        key = settings.voyage_api_key.get_secret_value()
        if not key or not settings.model:
            raise FailedPrecondition(
                "set VOYAGE_API_KEY and FOLIO_CROSSENCODER_MODEL to use voyage"
            )
        return cls(key, settings.model, settings.reranker_url, settings.batch_pairs)

    async def start(self) -> None:
        """Nothing to load; the first call finds out whether the key is good."""

    async def score(
        self, query: str, texts: Sequence[str], *, truncate: bool, seconds: float
    ) -> list[PairScore]:
        try:
            answer = await self._client.rerank(
                query=query, documents=list(texts), model=self.model, truncation=truncate
            )
        except Timeout:
            raise TimeoutError from None
        # A body that breaks off comes through the SDK as its HTTP client raised it.
        except (APIConnectionError, aiohttp.ClientError):
            raise unreachable(_NAME) from None
        except VoyageError as error:
            raise _failure(error, truncate) from None
        # The SDK looks the documents up by the answer's index, unchecked.
        except MALFORMED:
            raise unreadable(_NAME) from None
        scored = [(item.index, item.relevance_score) for item in answer.results]
        return in_order(len(texts), scored, _NAME)

    async def close(self) -> None:
        """The SDK opens a session per call."""


def _failure(error: VoyageError, truncate: bool) -> FolioError:
    status = error.http_status or 0
    if status == 400 and not truncate:
        return InvalidArgument(
            "the voyage reranker refused the request: allow truncation, or send texts that fit its model",
            reason="TOO_LONG",
        )
    if status < 300:
        return unreadable(_NAME)
    return from_status(status, _NAME, error.headers, _ADVICE)

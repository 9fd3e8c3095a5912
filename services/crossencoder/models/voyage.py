"""Voyage's rerank, through its own SDK."""

from collections.abc import Sequence

from voyageai.client_async import AsyncClient
from voyageai.error import APIConnectionError, Timeout, VoyageError

from services.crossencoder.models import PairScore, ScoreType, failure, in_order, retry_after
from services.crossencoder.settings import CrossEncoderSettings
from services.rpc.errors import FailedPrecondition, Internal, InvalidArgument, Unavailable


class VoyageScorer:
    """Relevance in 0 to 1."""

    provider = "voyage"
    revision = ""
    score_type = ScoreType.RELEVANCE
    concurrency = 4

    def __init__(self, key: str, model: str, url: str, batch_pairs: int) -> None:
        self.model = model
        self.batch_pairs = batch_pairs or 100
        # max_retries=0: our own retries, inside the caller's deadline. Time is bounded per call.
        self._client = AsyncClient(api_key=key, max_retries=0, base_url=url or None)

    @classmethod
    def create(cls, settings: CrossEncoderSettings) -> "VoyageScorer":
        key = settings.voyage_api_key.get_secret_value()
        if not key or not settings.model:
            raise FailedPrecondition(
                "the provider voyage needs VOYAGE_API_KEY and FOLIO_CROSSENCODER_MODEL"
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
        except (APIConnectionError, Timeout) as error:
            raise Unavailable(
                f"voyage could not be reached: {type(error).__name__}",
                reason="PROVIDER_AWAY",
            ) from None
        except VoyageError as error:
            raise self._failure(error, truncate) from None
        except (AttributeError, IndexError, KeyError, TypeError):
            # The SDK looks the documents up by the answer's index, unchecked.
            raise Internal("voyage's answer could not be read", reason="PROVIDER") from None
        scored = [(item.index, item.relevance_score) for item in answer.results]
        return in_order(len(texts), scored, self.provider)

    async def close(self) -> None:
        """The SDK opens a session per call."""

    def _failure(self, error: VoyageError, truncate: bool) -> Exception:
        status = error.http_status or 0
        if status == 400 and not truncate:
            return InvalidArgument(
                "voyage refused the request; without truncation, texts must fit its model",
                reason="TOO_LONG",
            )
        if status < 400:
            return Internal("voyage's answer could not be read", reason="PROVIDER")
        return failure(self.provider, status, retry_after(error.headers))

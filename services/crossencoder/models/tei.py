"""Text Embeddings Inference's /rerank (https://github.com/huggingface/text-embeddings-inference)."""

from collections.abc import Sequence
from typing import Any

import httpx

from services.crossencoder.models import PairScore, ScoreType, failure, in_order, retry_after
from services.crossencoder.settings import CrossEncoderSettings
from services.rpc.errors import FailedPrecondition, Internal, InvalidArgument, Unavailable


class TeiScorer:
    """Any server that speaks TEI's wire format. Scores are raw logits."""

    provider = "tei"
    score_type = ScoreType.LOGIT
    concurrency = 4

    def __init__(self, url: str, model: str, batch_pairs: int) -> None:
        self.model = model
        self.revision = ""
        self.batch_pairs = batch_pairs or 32
        self._fixed_batch = bool(batch_pairs)
        # Our own retries, inside the caller's deadline; the transport makes none.
        self._client = httpx.AsyncClient(
            base_url=url.rstrip("/"), transport=httpx.AsyncHTTPTransport(retries=0)
        )

    @classmethod
    def create(cls, settings: CrossEncoderSettings) -> "TeiScorer":
        if not settings.reranker_url:
            raise FailedPrecondition("the provider tei needs RERANKER_URL")
        return cls(settings.reranker_url, settings.model, settings.batch_pairs)

    async def start(self) -> None:
        """Reads the server's own account of its model. FailedPrecondition where it is no reranker."""
        info = await self._send("GET", "/info", None, 10.0)
        if not isinstance(info, dict):
            raise Internal("tei: /info is not an object", reason="PROVIDER")
        kind = info.get("model_type")
        if isinstance(kind, dict) and "reranker" not in kind:
            raise FailedPrecondition(
                f"the model behind RERANKER_URL is no reranker but: {', '.join(kind)}",
                reason="NOT_A_RERANKER",
            )
        self.model = str(info.get("model_id") or self.model or "unnamed")
        self.revision = str(info.get("model_sha") or "")
        limit = info.get("max_client_batch_size")
        if isinstance(limit, int) and limit > 0:
            self.batch_pairs = min(self.batch_pairs, limit) if self._fixed_batch else limit

    async def score(
        self, query: str, texts: Sequence[str], *, truncate: bool, seconds: float
    ) -> list[PairScore]:
        body = {
            "query": query,
            "texts": list(texts),
            "raw_scores": True,
            "return_text": False,
            "truncate": truncate,
        }
        answer = await self._send("POST", "/rerank", body, seconds)
        try:
            scored = [
                # JSON has no NaN; a server that has one sends null.
                (int(item["index"]), float("nan") if item["score"] is None else item["score"])
                for item in answer
            ]
        except (TypeError, KeyError, ValueError):
            raise Internal("tei: /rerank is not a list of scores", reason="PROVIDER") from None
        return in_order(len(texts), scored, self.provider)

    async def close(self) -> None:
        await self._client.aclose()

    async def _send(self, method: str, path: str, body: Any, seconds: float) -> Any:
        try:
            response = await self._client.request(method, path, json=body, timeout=seconds)
        except httpx.HTTPError as error:
            raise Unavailable(
                f"tei could not be reached: {type(error).__name__}",
                reason="PROVIDER_AWAY",
            ) from None
        if response.status_code in (413, 422):
            raise InvalidArgument(
                "tei refused the size of the texts; allow truncation, or send shorter ones",
                reason="TOO_LONG",
            )
        if response.status_code != 200:
            raise failure(self.provider, response.status_code, retry_after(response.headers))
        try:
            return response.json()
        except ValueError:
            raise Internal(f"tei: {path} is not JSON", reason="PROVIDER") from None

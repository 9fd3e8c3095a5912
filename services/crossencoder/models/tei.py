"""Text Embeddings Inference's /rerank (https://github.com/huggingface/text-embeddings-inference)."""

import math
from collections.abc import Sequence

from services.crossencoder.models import PairScore, PairScorer, ScoreType, in_order
from services.crossencoder.settings import CrossEncoderSettings
from services.outbound.failures import unreadable
from services.outbound.json_api import JsonApi
from services.outbound.retries import retrying
from services.rpc.deadline import Deadline
from services.rpc.errors import FailedPrecondition, FolioError, InvalidArgument

_NAME = "the tei reranker"
_ADVICE = {
    404: "check RERANKER_URL",
    413: "lower FOLIO_CROSSENCODER_BATCH_PAIRS",
}
_START_S = 10.0


class TeiScorer:
    """Any server that speaks TEI's wire format. Scores are raw logits."""

    provider = "tei"
    local = False
    score_type = ScoreType.LOGIT
    concurrency = 4

    def __init__(self, url: str, model: str, batch_pairs: int) -> None:
        self.model = model
        self.revision = ""
        self.batch_pairs = batch_pairs or 32
        self._fixed_batch = bool(batch_pairs)
        self._api = JsonApi(_NAME, url, advice=_ADVICE)

    @classmethod
    def create(cls, settings: CrossEncoderSettings) -> PairScorer:
        if not settings.reranker_url:
            raise FailedPrecondition("set RERANKER_URL to use tei")
        return cls(settings.reranker_url, settings.model, settings.batch_pairs)

    async def start(self) -> None:
        """Reads the server's own account of its model. FailedPrecondition where it is no reranker."""
        info, _ = await retrying(
            _NAME, lambda seconds: self._api.get("/info"), Deadline.after(_START_S)
        )
        if not isinstance(info, dict):
            raise unreadable(_NAME, "a description of itself that is not a JSON object")
        kind = info.get("model_type")
        if isinstance(kind, dict) and "reranker" not in kind:
            raise FailedPrecondition(
                f"the model at RERANKER_URL is not a reranker but: {', '.join(kind)}",
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
        answer, _ = await self._api.post("/rerank", body, None if truncate else _too_long)
        try:
            scored = [
                # JSON has no NaN; a server that has one sends null.
                (int(item["index"]), math.nan if item["score"] is None else float(item["score"]))
                for item in answer
            ]
        except (TypeError, KeyError, ValueError, OverflowError):
            raise unreadable(_NAME, "something other than a list of scores") from None
        return in_order(len(texts), scored, _NAME)

    async def close(self) -> None:
        await self._api.close()


def _too_long(status: int) -> FolioError | None:
    """What TEI says, without truncation, of texts that its model cannot read whole."""
    if status not in (413, 422):
        return None
    return InvalidArgument(
        "a text is longer than the tei reranker's model reads: allow truncation, or send shorter texts",
        reason="TOO_LONG",
    )

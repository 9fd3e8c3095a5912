"""A cross-encoder through sentence-transformers, from a folder or the hub; it brings PyTorch."""

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch
from sentence_transformers import CrossEncoder

from services.crossencoder.models import PairScore, PairScorer, ScoreType
from services.crossencoder.settings import CrossEncoderSettings
from services.rpc.errors import FailedPrecondition, InvalidArgument


class SentenceTransformersScorer:
    """Scores are raw logits, in fp32 (half precision gives NaN on some CPUs)."""

    provider = "sentence-transformers"
    local = True
    score_type = ScoreType.LOGIT
    concurrency = 1

    def __init__(self, model: Any, name: str, revision: str, batch_pairs: int) -> None:
        self.model = name
        self.revision = revision
        self.batch_pairs = batch_pairs or 32
        self._model = model
        self._executor = ThreadPoolExecutor(1, "crossencoder")

    @classmethod
    def create(cls, settings: CrossEncoderSettings) -> PairScorer:
        """FailedPrecondition where the model gives more than one number a pair."""
        if not settings.model:
            raise FailedPrecondition("set FOLIO_CROSSENCODER_MODEL to use sentence-transformers")
        if settings.threads:
            torch.set_num_threads(settings.threads)
        model = CrossEncoder(settings.model, revision=settings.revision or None)
        labels = model.config.num_labels
        if labels != 1:
            raise FailedPrecondition(
                f"the model gives {labels} numbers for each pair; a reranker gives one",
                reason="NOT_A_RERANKER",
            )
        return cls(model, settings.model, settings.revision, settings.batch_pairs)

    async def start(self) -> None:
        """A first inference, so that no caller waits for memory to be allocated."""
        await self.score("warm up", ["warm up"], truncate=True, seconds=60)

    async def score(
        self, query: str, texts: Sequence[str], *, truncate: bool, seconds: float
    ) -> list[PairScore]:
        return await asyncio.get_running_loop().run_in_executor(
            self._executor, self._score, query, texts, truncate
        )

    async def close(self) -> None:
        await asyncio.to_thread(self._executor.shutdown)

    def _score(self, query: str, texts: Sequence[str], truncate: bool) -> list[PairScore]:
        pairs = [(query, text) for text in texts]
        read = self._model.tokenizer([query] * len(texts), list(texts), verbose=False)["input_ids"]
        limit = self._model.max_length or self._model.tokenizer.model_max_length
        truncated = [len(ids) > limit for ids in read]
        if not truncate and any(truncated):
            raise InvalidArgument.field(
                f"texts.texts[{truncated.index(True)}]",
                f"is longer than the {limit} tokens that the model reads of a pair",
            )
        scores = self._model.predict(
            pairs,
            batch_size=self.batch_pairs,
            activation_fn=torch.nn.Identity(),
            show_progress_bar=False,
        )
        return [
            PairScore(float(score), was_cut)
            for score, was_cut in zip(scores, truncated, strict=True)
        ]

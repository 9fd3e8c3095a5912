"""The OpenAI embeddings format, which most servers speak: POST /embeddings {"model": ..., "input": [...]}.

The answer is {"data": [{"index": 0, "embedding": [...]}, ...]}; the rows are put in order by `index`.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from services.retriever.embedders import Vectors, normalised
from services.retriever.embedders.http import HttpProvider, batches
from services.retriever.embedders.wordpieces import approximate_offsets
from services.retriever.settings import RetrieverSettings
from services.rpc.errors import Internal


class OpenAICompatibleEmbedder:
    """A server at EMBEDDINGS_URL (which ends in /v1, usually) with the model EMBEDDINGS_MODEL."""

    provider = "openai_compatible"

    def __init__(self, settings: RetrieverSettings) -> None:
        settings.require_remote_embeddings()
        self._http = HttpProvider(
            settings.embeddings_url, settings.embeddings_api_key.get_secret_value()
        )
        self._batch_tokens = settings.embeddings_batch_tokens
        self._batch_texts = settings.embeddings_batch_texts
        self._query_prefix = settings.embeddings_query_prefix
        self.model = settings.embeddings_model
        self.revision = settings.embeddings_revision
        self.dim = settings.embeddings_dim
        self.max_tokens = settings.embeddings_max_tokens or 512

    def offsets(self, text: str) -> Sequence[tuple[int, int]]:
        """Word pieces as any tokenizer would roughly cut them; the server's own tokenizer is not here."""
        return approximate_offsets(text)

    async def embed(self, texts: Sequence[str], *, query: bool = False) -> Vectors:
        """In batches by tokens; the order is the caller's."""
        prefix = self._query_prefix if query else ""
        result = np.empty((len(texts), self.dim), np.float32)
        lengths = [len(approximate_offsets(text)) for text in texts]
        for batch in batches(lengths, self._batch_tokens, self._batch_texts):
            answer = await self._http.post(
                "/embeddings",
                {
                    "model": self.model,
                    "input": [prefix + texts[i] for i in batch],
                    "encoding_format": "float",
                },
            )
            result[batch.start : batch.stop] = normalised(
                _rows(answer, len(batch)), len(batch), self.dim
            )
        return result

    async def close(self) -> None:
        """Ends the connections."""
        await self._http.close()


def _rows(answer: Any, count: int) -> list[Any]:
    try:
        rows = {int(item["index"]): item["embedding"] for item in answer["data"]}
    except (TypeError, KeyError, ValueError):
        raise Internal(
            "the embedding provider's answer has no data with index and embedding"
        ) from None
    if sorted(rows) != list(range(count)) or len(answer["data"]) != count:
        raise Internal(
            f"the embedding provider sent {len(answer['data'])} vectors for {count} texts"
        )
    return [rows[index] for index in range(count)]

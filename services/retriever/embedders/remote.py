"""What every embedder behind a URL shares: settings, batches by tokens, order, checks. A provider adds its format."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from services.retriever.embedders import Vectors, normalised
from services.retriever.embedders.http import HttpProvider, batches
from services.retriever.embedders.wordpieces import approximate_offsets
from services.retriever.settings import RetrieverSettings


class RemoteEmbedder(ABC):
    """A server at EMBEDDINGS_URL with the model EMBEDDINGS_MODEL."""

    provider: str

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

    @abstractmethod
    async def _rows(self, texts: list[str]) -> Any:
        """One request: a vector for each text, in their order. What came is checked by the caller."""

    def offsets(self, text: str) -> Sequence[tuple[int, int]]:
        """Word pieces as any tokenizer would roughly cut them; the server's own tokenizer is not here."""
        return approximate_offsets(text)

    async def embed(self, texts: Sequence[str], *, query: bool = False) -> Vectors:
        """In batches by tokens; the order is the caller's."""
        prefix = self._query_prefix if query else ""
        result = np.empty((len(texts), self.dim), np.float32)
        lengths = [len(approximate_offsets(text)) for text in texts]
        for batch in batches(lengths, self._batch_tokens, self._batch_texts):
            rows = await self._rows([prefix + texts[position] for position in batch])
            result[batch.start : batch.stop] = normalised(rows, len(batch), self.dim)
        return result

    async def close(self) -> None:
        """Ends the connections."""
        await self._http.close()

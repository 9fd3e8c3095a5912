"""text-embeddings-inference: POST /embed {"inputs": [...], "truncate": true} gives [[...], ...]."""

from collections.abc import Sequence

import numpy as np

from services.retriever.embedders import Vectors, normalised
from services.retriever.embedders.http import HttpProvider, batches
from services.retriever.embedders.wordpieces import approximate_offsets
from services.retriever.settings import RetrieverSettings


class TEIEmbedder:
    """A TEI server at EMBEDDINGS_URL. It serves one model; EMBEDDINGS_MODEL says which, for our records."""

    provider = "tei"

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
            rows = await self._http.post(
                "/embed",
                {"inputs": [prefix + texts[i] for i in batch], "truncate": True, "normalize": True},
            )
            result[batch.start : batch.stop] = normalised(rows, len(batch), self.dim)
        return result

    async def close(self) -> None:
        """Ends the connections."""
        await self._http.close()

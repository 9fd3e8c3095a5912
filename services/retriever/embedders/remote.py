"""What every embedder behind a URL shares: settings, batches by tokens, order, checks. A provider adds its format."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from services.outbound.json_api import JsonApi
from services.outbound.retries import retrying
from services.retriever.embedders import Embedder, Vectors, normalised
from services.retriever.embedders.wordpieces import approximate_offsets
from services.retriever.settings import RetrieverSettings
from services.rpc import deadline

NAME = "the embeddings server"
# One try; an ingest has minutes, and a server that hangs should not have them all.
LONGEST_TRY_S = 30.0
# JSON's price of a float32 with its comma, and of a row around its numbers, on the side of too much.
_BYTES_PER_NUMBER = 32
_BYTES_PER_ROW = 256
_CHECK_BOTH = "check EMBEDDINGS_URL and EMBEDDINGS_MODEL"
_ADVICE = {
    400: _CHECK_BOTH,
    401: "check EMBEDDINGS_API_KEY",
    403: "check EMBEDDINGS_API_KEY",
    404: _CHECK_BOTH,
    405: _CHECK_BOTH,
    413: "lower EMBEDDINGS_BATCH_TEXTS, EMBEDDINGS_BATCH_TOKENS or FOLIO_CHUNK_TOKENS",
    422: "a text may be too long for the model: lower FOLIO_CHUNK_TOKENS",
}


class RemoteEmbedder(ABC):
    """A server at EMBEDDINGS_URL with the model EMBEDDINGS_MODEL."""

    provider: str
    local = False

    def __init__(self, settings: RetrieverSettings) -> None:
        row = settings.embeddings_dim * _BYTES_PER_NUMBER + _BYTES_PER_ROW
        key = settings.embeddings_api_key.get_secret_value()
        self._api = JsonApi(
            NAME,
            settings.embeddings_url,
            headers={"authorization": f"Bearer {key}"} if key else {},
            advice=_ADVICE,
            max_bytes=settings.embeddings_batch_texts * row + 2**16,
            trust_env=False,
        )
        self._batch_tokens = settings.embeddings_batch_tokens
        self.batch_texts = settings.embeddings_batch_texts
        self._query_prefix = settings.embeddings_query_prefix
        self.model = settings.embeddings_model
        self.revision = settings.embeddings_revision
        self.dim = settings.embeddings_dim
        self.max_tokens = settings.embeddings_max_tokens or 512

    @classmethod
    def create(cls, settings: RetrieverSettings) -> Embedder:
        """FailedPrecondition names the settings that are missing."""
        settings.require_remote_embeddings()
        return cls(settings)

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
        for batch in batches(lengths, self._batch_tokens, self.batch_texts):
            rows = await self._rows([prefix + texts[position] for position in batch])
            result[batch.start : batch.stop] = normalised(rows, len(batch), self.dim)
        return result

    async def warm_up(self) -> None:
        """One call, which finds out whether the settings are right."""
        await self.embed(["warm"], query=True)

    async def close(self) -> None:
        """Ends the connections."""
        await self._api.close()

    async def _post(self, path: str, body: dict[str, Any]) -> Any:
        """The decoded answer, in tries inside the caller's deadline. Raises FolioError."""
        answer = await retrying(
            NAME,
            lambda seconds: self._api.post(path, body),
            deadline.current(),
            longest_s=LONGEST_TRY_S,
        )
        return answer.value


def batches(lengths: Sequence[int], most_tokens: int, most_texts: int) -> Iterator[range]:
    """Runs of texts, in order, of at most `most_tokens` in all and `most_texts`; a longer text is alone."""
    start, total = 0, 0
    for index, length in enumerate(lengths):
        if index > start and (total + length > most_tokens or index - start == most_texts):
            yield range(start, index)
            start, total = index, 0
        total += length
    if start < len(lengths):
        yield range(start, len(lengths))

"""The embedded default: all-MiniLM-L6-v2, in this process or in the encoder that all services share."""

import asyncio
from collections.abc import Sequence

import numpy as np
from tokenizers import Encoding

from services.minilm.encoder import TextEncoder, open_encoder
from services.retriever.embedders import Embedder, Vectors, normalised
from services.retriever.settings import RetrieverSettings
from services.rpc.lanes import Lane

UNKNOWN = "[UNK]"


class MiniLMEmbedder:
    """Questions before ingests, whoever asks."""

    provider = "minilm"
    local = True
    # A second of the model's time: an ingest tells how far it is after each.
    batch_texts = 8

    def __init__(self, encoder: TextEncoder, max_tokens: int) -> None:
        self._encoder = encoder
        self.model = encoder.model_id
        self.revision = encoder.revision
        self.dim = encoder.dim
        self.max_tokens = min(max_tokens, encoder.max_positions)

    @classmethod
    def create(cls, settings: RetrieverSettings) -> Embedder:
        """Reads the model's files."""
        encoder = open_encoder(settings)
        return cls(encoder, settings.embeddings_max_tokens or encoder.max_positions)

    def offsets(self, text: str) -> Sequence[tuple[int, int]]:
        """WordPiece tokens."""
        return [(int(start), int(end)) for start, end in self._encoding(text).offsets]

    async def embed(self, texts: Sequence[str], *, query: bool = False) -> Vectors:
        """Queries and documents alike: the model knows no difference.

        A query in which the vocabulary has no word gets NaN, so no search: [UNK] alone is near to any other [UNK].
        """
        lane = Lane.QUERY if query else Lane.BULK
        rows = await self._encoder.sentences(texts, self.max_tokens, lane)
        result = normalised(rows, len(texts), self.dim)
        if query:
            known = await asyncio.to_thread(lambda: [self._knows(text) for text in texts])
            result[[not knows for knows in known]] = np.nan
        return result

    def _knows(self, text: str) -> bool:
        return any(token != UNKNOWN for token in self._encoding(text).tokens)

    def _encoding(self, text: str) -> Encoding:
        clean = text.encode("utf-8", "replace").decode()
        return self._encoder.reader.tokenizer.encode(clean, add_special_tokens=False)

    async def warm_up(self) -> None:
        await self._encoder.warm_up()

    async def close(self) -> None:
        """Lets the running inference end."""
        await self._encoder.close()

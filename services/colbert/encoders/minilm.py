"""all-MiniLM-L6-v2's token vectors, as they are: no training for late interaction, no prefixes."""

from collections.abc import Sequence

import numpy as np

from services.colbert.encoders import Encoded, Encoder
from services.colbert.settings import ColbertSettings
from services.minilm.encoder import TextEncoder, open_encoder
from services.rpc.lanes import Lane

UNKNOWN = "[UNK]"
SPECIAL = 2


class MiniLMEncoder:
    """The embedded default. [CLS] and [SEP] count as tokens, as in ColBERT: without them NDCG@10 was
    lower on each of three collections (docs/results/token-compression.md). A text that holds nothing
    else has no token.
    """

    provider = "minilm"
    local = True

    def __init__(self, encoder: TextEncoder, query_length: int, document_length: int) -> None:
        self._encoder = encoder
        self.model = encoder.model_id
        self.revision = encoder.revision
        self.dim = encoder.dim
        self.query_length = min(query_length, encoder.max_positions)
        self.document_length = min(document_length, encoder.max_positions)

    @classmethod
    def create(cls, settings: ColbertSettings) -> Encoder:
        encoder = open_encoder(
            settings, batch_tokens=settings.batch_tokens, queue_tokens=settings.queue_tokens
        )
        return cls(encoder, settings.query_length or 256, settings.document_length or 512)

    async def encode_queries(self, texts: Sequence[str]) -> list[Encoded]:
        """All words that the vocabulary lacks are one token, so that any of them would match any other: theirs are
        rows of zeros, which match nothing. So is all of a query in which no word is known.
        """
        encoded = await self._encode(texts, self.query_length, Lane.QUERY)
        for item in encoded:
            unknown = np.array([token == UNKNOWN for token in item.tokens], bool)
            if unknown.any():
                item.vectors[unknown if unknown.sum() < len(unknown) - SPECIAL else slice(None)] = 0
        return encoded

    async def encode_documents(self, texts: Sequence[str], *, bulk: bool = False) -> list[Encoded]:
        lane = Lane.BULK if bulk else Lane.DOCUMENT
        return await self._encode(texts, self.document_length, lane)

    async def _encode(self, texts: Sequence[str], length: int, lane: Lane) -> list[Encoded]:
        return [
            Encoded(item.vectors, item.tokens, item.truncated)
            if len(item.tokens) > SPECIAL
            else Encoded(item.vectors[:0])
            for item in await self._encoder.encode(texts, length, lane, special=True)
        ]

    async def warm_up(self) -> None:
        await self._encoder.warm_up()

    async def close(self) -> None:
        await self._encoder.close()

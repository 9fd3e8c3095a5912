"""all-MiniLM-L6-v2's token vectors, as they are: no training for late interaction, no prefixes."""

from collections.abc import Sequence

import numpy as np

from services.colbert.encoders import Encoded, Encoder
from services.colbert.settings import ColbertSettings
from services.minilm.model import MiniLM
from services.minilm.settings import MiniLMSettings

UNKNOWN = "[UNK]"
SPECIAL = 2


class MiniLMEncoder:
    """The embedded default. [CLS] and [SEP] count as tokens, as in ColBERT: without them NDCG@10 was
    lower on each of three collections (docs/results/token-compression.md). A text that holds nothing
    else has no token.
    """

    provider = "minilm"
    local = True

    def __init__(self, model: MiniLM, query_length: int, document_length: int) -> None:
        self._model = model
        self.model = model.model_id
        self.revision = model.revision
        self.dim = model.dim
        self.query_length = min(query_length, model.max_positions)
        self.document_length = min(document_length, model.max_positions)

    @classmethod
    def create(cls, settings: ColbertSettings) -> Encoder:
        model = MiniLM.load(MiniLMSettings())
        return cls(model, settings.query_length or 256, settings.document_length or 512)

    def encode_queries(self, texts: Sequence[str]) -> list[Encoded]:
        """All words that the vocabulary lacks are one token, so that any of them would match any other: theirs are
        rows of zeros, which match nothing. So is all of a query in which no word is known.
        """
        encoded = self._encode(texts, self.query_length)
        for item in encoded:
            unknown = np.array([token == UNKNOWN for token in item.tokens], bool)
            if unknown.any():
                item.vectors[unknown if unknown.sum() < len(unknown) - SPECIAL else slice(None)] = 0
        return encoded

    def encode_documents(self, texts: Sequence[str]) -> list[Encoded]:
        return self._encode(texts, self.document_length)

    def _encode(self, texts: Sequence[str], length: int) -> list[Encoded]:
        return [
            Encoded(item.vectors, item.tokens, item.truncated)
            if len(item.tokens) > SPECIAL
            else Encoded(item.vectors[:0])
            for item in self._model.encode(texts, length, special=True)
        ]

"""The token vectors of the texts read last (LRU): the same pages are the sources of many questions."""

import hashlib
from collections import OrderedDict
from collections.abc import Sequence

from services.generator.extractive.features import Encoder
from services.minilm.model import TokenVectors
from services.rpc import identity

# About 200 tokens of 384 float32 each: 75 MiB.
MAX_TEXTS = 256


class CachedEncoder:
    """An Encoder with the last texts in memory. Not for use by two threads at once.

    The key holds the organization, so that nobody learns from the time that an answer takes what another one read.
    """

    def __init__(self, encoder: Encoder, limit: int = MAX_TEXTS) -> None:
        self._encoder = encoder
        self._limit = limit
        self._known: OrderedDict[bytes, TokenVectors] = OrderedDict()

    def encode(self, texts: Sequence[str], max_tokens: int | None = None) -> list[TokenVectors]:
        """See MiniLM.encode; only what is not remembered is encoded."""
        keys = [_key(text, max_tokens) for text in texts]
        new = {key: text for key, text in zip(keys, texts, strict=True) if key not in self._known}
        made = dict(
            zip(new, self._encoder.encode(list(new.values()), max_tokens), strict=True)
            if new
            else ()
        )
        found = []
        for key in keys:
            vectors = made[key] if key in made else self._known[key]
            self._known[key] = vectors
            self._known.move_to_end(key)
            found.append(vectors)
        while len(self._known) > self._limit:
            self._known.popitem(last=False)
        return found


def _key(text: str, max_tokens: int | None) -> bytes:
    return hashlib.blake2b(
        f"{identity.organization()}\n{max_tokens}\n{text}".encode("utf-8", "replace"),
        digest_size=16,
    ).digest()

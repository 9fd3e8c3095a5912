"""Texts to vectors. A provider is one file with one class, and one line in EMBEDDERS."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from services.rpc.errors import Internal
from services.rpc.providers import Worker

Vectors = NDArray[np.float32]

# Name in FOLIO_EMBEDDER -> class; each is made by its `create(settings)`.
EMBEDDERS = {
    "minilm": "services.retriever.embedders.minilm:MiniLMEmbedder",
    "tei": "services.retriever.embedders.tei:TEIEmbedder",
    "openai_compatible": "services.retriever.embedders.openai_compatible:OpenAICompatibleEmbedder",
}


class Embedder(Worker, Protocol):
    """`model` and `revision` name the space that the vectors live in; vectors of two spaces are never compared."""

    revision: str
    dim: int
    # The longest text, in tokens, that is read to its end.
    max_tokens: int
    # Texts that an ingest has embedded at once, before it tells how far it is.
    batch_texts: int

    def offsets(self, text: str) -> Sequence[tuple[int, int]]:
        """The characters of every token of `text`, end exclusive: no special tokens, nothing truncated."""
        ...

    async def embed(self, texts: Sequence[str], *, query: bool = False) -> Vectors:
        """(n, dim), one row per text in order; rows of length 1, or of NaN where the model gave no usable vector.

        Raises ResourceExhausted (busy, or a batch too large), Unavailable (away or too slow), FailedPrecondition
        (refuses the key or the request), DeadlineExceeded, and Internal for an answer that makes no sense.
        """
        ...

    async def warm_up(self) -> None:
        """Before the first caller comes."""
        ...

    async def close(self) -> None:
        """Ends connections and threads."""
        ...


def normalised(vectors: object, count: int, dim: int) -> Vectors:
    """Checked rows of length 1; a row that is not finite or has no length becomes NaN.

    Raises Internal if there are not `count` rows of `dim`: a provider that miscounts would give texts each other's
    vectors.
    """
    try:
        with np.errstate(over="ignore"):
            rows = np.asarray(vectors, np.float32)
    except (TypeError, ValueError, OverflowError):
        raise Internal("the embedding model gave rows of unequal length or no numbers") from None
    if rows.shape != (count, dim):
        raise Internal(
            f"the embedding model gave an array of shape {rows.shape}, expected ({count}, {dim}); "
            "is EMBEDDINGS_MODEL the model that the index was made with?"
        )
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        lengths = np.linalg.norm(rows.astype(np.float64), axis=1, keepdims=True)
        unit: Vectors = (rows / lengths).astype(np.float32)
    unit[~(np.isfinite(unit).all(axis=1) & (lengths[:, 0] > 1e-12))] = np.nan
    return unit

"""The embedded default: all-MiniLM-L6-v2 on ONNX Runtime, in this process."""

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from tokenizers import Encoding

from services.minilm.model import MiniLM
from services.retriever.embedders import Embedder, Vectors, normalised
from services.retriever.settings import RetrieverSettings

UNKNOWN = "[UNK]"


class MiniLMEmbedder:
    """One inference at a time, in a thread: the model uses the cores by itself."""

    provider = "minilm"
    local = True

    def __init__(self, model: MiniLM) -> None:
        self._model = model
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="minilm")
        self.model = MiniLM.model_id
        self.revision = MiniLM.revision
        self.dim = MiniLM.dim
        self.max_tokens = model.max_tokens

    @classmethod
    def create(cls, settings: RetrieverSettings) -> Embedder:
        """Reads the model's files."""
        return cls(MiniLM.load(max_tokens=settings.embeddings_max_tokens or MiniLM.max_positions))

    def offsets(self, text: str) -> Sequence[tuple[int, int]]:
        """WordPiece tokens."""
        return [(int(start), int(end)) for start, end in self._encoding(text).offsets]

    async def embed(self, texts: Sequence[str], *, query: bool = False) -> Vectors:
        """Queries and documents alike: the model knows no difference.

        A query in which the vocabulary has no word gets NaN, so no search: [UNK] alone is near to any other [UNK].
        """
        if not texts:
            return np.empty((0, self.dim), np.float32)
        work = self._embed_queries if query else self._embed
        return await asyncio.get_running_loop().run_in_executor(self._thread, work, list(texts))

    def _embed(self, texts: list[str]) -> Vectors:
        return normalised(self._model.embed(texts), len(texts), self.dim)

    def _embed_queries(self, texts: list[str]) -> Vectors:
        result = self._embed(texts)
        result[[not self._knows(text) for text in texts]] = np.nan
        return result

    def _knows(self, text: str) -> bool:
        return any(token != UNKNOWN for token in self._encoding(text).tokens)

    def _encoding(self, text: str) -> Encoding:
        clean = text.encode("utf-8", "replace").decode()
        return self._model.tokenizer.encode(clean, add_special_tokens=False)

    async def close(self) -> None:
        """Lets the running inference end."""
        self._thread.shutdown(wait=False, cancel_futures=True)

"""all-MiniLM-L6-v2: texts in, sentence vectors or token vectors out."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from services.minilm import weights
from services.minilm.engines import Engine, open_engine
from services.minilm.settings import MiniLMSettings
from services.minilm.tokens import TokenReader, Tokens

Vectors = NDArray[np.float32]

# Tokens, padding included, of one inference: larger batches are no faster on a CPU, hold up whoever is
# next, and need more memory (attention alone 12 heads x batch x length^2 floats).
BATCH_TOKENS = 1024


@dataclass(frozen=True)
class TokenVectors:
    """One text as its tokens. Rows of `vectors` (n, 384) have length 1.

    `offsets` are the characters of each token in the text, end exclusive; (0, 0) for [CLS] and
    [SEP]. `truncated` says that the text had more tokens than were read.
    """

    vectors: Vectors
    tokens: tuple[str, ...]
    offsets: tuple[tuple[int, int], ...]
    truncated: bool

    @classmethod
    def of(cls, read: Tokens, vectors: Vectors, *, special: bool) -> "TokenVectors":
        """`vectors` are those of all tokens; `special` keeps [CLS] and [SEP]."""
        kept = slice(None) if special else slice(1, -1)
        return cls(
            vectors[kept], tuple(read.tokens[kept]), tuple(read.offsets[kept]), read.truncated
        )


class MiniLM:
    """The model in memory. Its methods block (run them in an executor) and may run in parallel.

    A text's result does not depend on what else is in the call: padding is masked exactly, and
    what differs is the rounding of matrix products of another shape (cosine >= 0.9999).
    """

    dim = 384
    # Positions that the weights have. `max_tokens`, for sentence vectors, is 256: where its authors
    # cut, in training and use.
    max_positions = 512
    model_id = weights.MODEL_ID
    revision = weights.REVISION

    def __init__(self, engine: Engine, reader: TokenReader, max_tokens: int = 256) -> None:
        self.engine = engine
        self.reader = reader
        self.max_tokens = max_tokens

    @classmethod
    def load(
        cls,
        settings: MiniLMSettings | None = None,
        *,
        max_tokens: int = 256,
        directory: Path | None = None,
    ) -> "MiniLM":
        """Loads the model, converting it on the first call of a machine (about a second).

        `directory` holds model.safetensors and tokenizer.json; the installed package's by default.
        Raises FailedPrecondition (not installed) and DataLoss (a byte was altered).
        """
        settings = settings or MiniLMSettings()
        directory = directory or weights.model_dir()
        reader = TokenReader.load(directory)
        graph = weights.graph_file(directory, settings.cache_dir)
        return cls(open_engine(graph, settings), reader, max_tokens)

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Sentence vectors (n, 384): the mean over all tokens, [CLS] and [SEP] included as the
        model was trained, scaled to length 1. An empty text has a vector too: that of no words.
        """
        read = self.reader.read(texts, self.max_tokens)
        result = np.empty((len(read), self.dim), np.float32)
        for index, states in self._infer([item.ids for item in read]):
            result[index] = sentence(states)
        return result

    def token_vectors(self, texts: Sequence[str], max_tokens: int | None = None) -> list[Vectors]:
        """Per text, one vector of length 1 for each of its tokens: (n_i, 384).

        [CLS] and [SEP] take part in the encoding and are left out of the result, so that every row
        stands for characters of the text. A text without words gives (0, 384).
        """
        return [item.vectors for item in self.encode(texts, max_tokens)]

    def encode(
        self, texts: Sequence[str], max_tokens: int | None = None, *, special: bool = False
    ) -> list[TokenVectors]:
        """token_vectors with each token's text and place; `special` keeps [CLS] and [SEP]."""
        read = self.reader.read(texts, min(max_tokens or self.max_tokens, self.max_positions))
        states = self.states([item.ids for item in read])
        return [
            TokenVectors.of(item, normalised(rows), special=special)
            for item, rows in zip(read, states, strict=True)
        ]

    def states(self, ids: Sequence[Sequence[int]]) -> list[Vectors]:
        """The last hidden states of each text's ids, (tokens, 384)."""
        found: list[Vectors] = [np.empty((0, self.dim), np.float32)] * len(ids)
        for index, rows in self._infer(ids):
            found[index] = rows
        return found

    def _infer(self, texts: Sequence[Sequence[int]]) -> Iterator[tuple[int, Vectors]]:
        """Hidden states by the index of their text, in no particular order."""
        for batch in _batches([len(ids) for ids in texts]):
            longest = len(texts[batch[0]])
            ids = np.zeros((len(batch), longest), np.int32)
            mask = np.zeros((len(batch), longest), np.int32)
            for row, index in enumerate(batch):
                length = len(texts[index])
                ids[row, :length] = texts[index]
                mask[row, :length] = 1
            states = self.engine.run(ids, mask)
            for row, index in enumerate(batch):
                yield index, states[row, : len(texts[index])]


def _batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Indices in groups of like length, longest first, each within the token budget."""
    order = sorted(range(len(lengths)), key=lambda index: (-lengths[index], index))
    while order:
        size = max(1, BATCH_TOKENS // lengths[order[0]])
        yield order[:size]
        order = order[size:]


def sentence(states: Vectors) -> Vectors:
    """The sentence vector (384,) of a text's hidden states."""
    return normalised(states.mean(axis=0))


def normalised(vectors: Vectors) -> Vectors:
    """Rows of length 1."""
    norms = np.linalg.norm(vectors, axis=-1, keepdims=True)
    result: Vectors = vectors / np.maximum(norms, np.float32(1e-12))
    return result

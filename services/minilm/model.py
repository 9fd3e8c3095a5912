"""all-MiniLM-L6-v2: texts in, sentence vectors or token vectors out."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnxruntime  # type: ignore[import-untyped]
from numpy.typing import NDArray
from tokenizers import Encoding, Tokenizer

from services.minilm import weights
from services.minilm.settings import MiniLMSettings

Vectors = NDArray[np.float32]

# Tokens, padding included, of one inference: larger batches are no faster on a CPU and need more
# memory (attention alone 12 heads x batch x length^2 floats).
_BATCH_TOKENS = 2048


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


@dataclass(frozen=True)
class _Input:
    ids: list[int]
    tokens: list[str]
    offsets: list[tuple[int, int]]
    truncated: bool


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

    def __init__(
        self, session: onnxruntime.InferenceSession, tokenizer: Tokenizer, max_tokens: int
    ) -> None:
        self._session = session
        self.tokenizer = tokenizer
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
        tokenizer = Tokenizer.from_str(weights.checked(directory, "tokenizer.json").decode())
        tokenizer.no_padding()
        tokenizer.no_truncation()
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = settings.model_threads
        # Threads that spin between inferences take the cores from MaxSim and from PostgreSQL.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        session = onnxruntime.InferenceSession(
            str(weights.graph_file(directory, settings.cache_dir)),
            options,
            providers=["CPUExecutionProvider"],
        )
        return cls(session, tokenizer, max_tokens)

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Sentence vectors (n, 384): the mean over all tokens, [CLS] and [SEP] included as the
        model was trained, scaled to length 1. An empty text has a vector too: that of no words.
        """
        inputs = [self._read(encoding, self.max_tokens) for encoding in self._tokenize(texts)]
        result = np.empty((len(inputs), self.dim), np.float32)
        for index, states in self._infer(inputs):
            result[index] = _normalised(states.mean(axis=0))
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
        limit = min(max_tokens or self.max_tokens, self.max_positions)
        inputs = [self._read(encoding, limit) for encoding in self._tokenize(texts)]
        states: list[Vectors] = [np.empty((0, self.dim), np.float32)] * len(inputs)
        for index, rows in self._infer(inputs):
            states[index] = _normalised(rows if special else rows[1:-1])
        kept = slice(None) if special else slice(1, -1)
        return [
            TokenVectors(
                vectors, tuple(item.tokens[kept]), tuple(item.offsets[kept]), item.truncated
            )
            for item, vectors in zip(inputs, states, strict=True)
        ]

    def _tokenize(self, texts: Sequence[str]) -> list[Encoding]:
        # A lone surrogate is a TypeError to the tokenizer; "?" keeps the offsets of the others.
        clean = [text.encode("utf-8", "replace").decode() for text in texts]
        return self.tokenizer.encode_batch(clean)

    def _read(self, encoding: Encoding, limit: int) -> _Input:
        ids, tokens, offsets = encoding.ids, encoding.tokens, encoding.offsets
        if len(ids) <= limit:
            return _Input(ids, tokens, offsets, truncated=False)
        cut = limit - 1
        return _Input(
            [*ids[:cut], ids[-1]], [*tokens[:cut], tokens[-1]], [*offsets[:cut], offsets[-1]], True
        )

    def _infer(self, inputs: Sequence[_Input]) -> Iterator[tuple[int, Vectors]]:
        """The last hidden states of each input, (tokens, 384), in no particular order."""
        for batch in _batches([len(item.ids) for item in inputs]):
            longest = len(inputs[batch[0]].ids)
            ids = np.zeros((len(batch), longest), np.int32)
            mask = np.zeros((len(batch), longest), np.int32)
            for row, index in enumerate(batch):
                length = len(inputs[index].ids)
                ids[row, :length] = inputs[index].ids
                mask[row, :length] = 1
            (states,) = self._session.run(None, {"input_ids": ids, "attention_mask": mask})
            for row, index in enumerate(batch):
                yield index, states[row, : len(inputs[index].ids)]


def _batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Indices in groups of like length, longest first, each within the token budget."""
    order = sorted(range(len(lengths)), key=lambda index: (-lengths[index], index))
    while order:
        size = max(1, _BATCH_TOKENS // lengths[order[0]])
        yield order[:size]
        order = order[size:]


def _normalised(vectors: Vectors) -> Vectors:
    norms = np.linalg.norm(vectors, axis=-1, keepdims=True)
    result: Vectors = vectors / np.maximum(norms, np.float32(1e-12))
    return result

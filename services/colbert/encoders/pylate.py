"""Any ColBERT checkpoint through PyLate (extra `pylate`): a folder or a hub id.

The checkpoint's own configuration says its prefixes ("[Q] ", "[D] "), the query's [MASK] expansion,
the words that documents skip, and both lengths. Chaffin and Sourty, "PyLate", 2025.
"""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from pylate.models import ColBERT

from services.colbert.encoders import Encoded, Encoder
from services.colbert.encoders.batched import BatchedEncoder
from services.colbert.settings import ColbertSettings
from services.rpc.errors import FailedPrecondition


class PyLateEncoder:
    """A ColBERT on the CPU, in fp32, or on a GPU where PyTorch finds one."""

    provider = "pylate"
    local = True

    def __init__(self, model: Any, name: str, revision: str) -> None:
        self._model = model
        self.model = name
        self.revision = revision
        self.dim = int(model.get_sentence_embedding_dimension())
        self.query_length = int(model.query_length)
        self.document_length = int(model.document_length)

    @classmethod
    def create(cls, settings: ColbertSettings) -> Encoder:
        """See load."""
        return BatchedEncoder(cls.load(settings), settings)

    @classmethod
    def load(cls, settings: ColbertSettings) -> "PyLateEncoder":
        """FailedPrecondition where no checkpoint is named or its vectors do not suit the kernel."""
        if not settings.model:
            raise FailedPrecondition("the encoder pylate needs FOLIO_COLBERT_MODEL")
        model = ColBERT(
            settings.model,
            revision=settings.revision or None,
            query_length=settings.query_length or None,
            document_length=settings.document_length or None,
        )
        folder = Path(settings.model)
        # Two checkpoints of one folder must not share stored vectors.
        revision = _digest(folder) if folder.is_dir() else settings.revision
        encoder = cls(model, folder.name if folder.is_dir() else settings.model, revision)
        if encoder.dim % 4:
            raise FailedPrecondition(
                f"the checkpoint's vectors have {encoder.dim} dimensions; expected a multiple of 4"
            )
        return encoder

    def encode_queries(self, texts: Sequence[str]) -> list[Encoded]:
        return self._encode(texts, is_query=True)

    def encode_documents(self, texts: Sequence[str]) -> list[Encoded]:
        return self._encode(texts, is_query=False)

    def _encode(self, texts: Sequence[str], *, is_query: bool) -> list[Encoded]:
        clean = [text.encode("utf-8", "replace").decode() for text in texts]
        matrices = self._model.encode(
            clean, batch_size=32, is_query=is_query, show_progress_bar=False
        )
        limit = self.query_length if is_query else self.document_length
        lengths = [len(ids) for ids in self._model.tokenizer(clean, verbose=False)["input_ids"]]
        encoded = []
        for text, matrix, length in zip(clean, matrices, lengths, strict=True):
            rows = np.ascontiguousarray(matrix, np.float32)
            # [CLS], [SEP] and a prefix are no text.
            blank = not text.strip()
            tokens = self._tokens(text, len(rows)) if is_query else ()
            # The prefix takes one place more than the tokenizer counts.
            encoded.append(Encoded(rows[:0] if blank else rows, tokens, length + 1 > limit))
        return encoded

    def _tokens(self, text: str, rows: int) -> tuple[str, ...]:
        """The query's tokens as the model saw them, [MASK] expansion included."""
        ids = self._model.tokenize([text], is_query=True)["input_ids"][0].tolist()
        tokens = self._model.tokenizer.convert_ids_to_tokens(ids)
        return tuple(tokens) if len(tokens) == rows else ()


def _digest(folder: Path) -> str:
    """Twelve hexadecimal digits of all of a checkpoint's weights and configuration."""
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.suffix in (".safetensors", ".bin", ".json") and path.is_file():
            digest.update(path.name.encode())
            with path.open("rb") as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()[:12]

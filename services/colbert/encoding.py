"""Texts to what is scored: query vectors, and documents as tiles in the form that is stored."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from native.maxsim import Tiles
from services.colbert.compression import Projection, pool
from services.colbert.encoders import Encoded, Encoder
from services.colbert.settings import ColbertSettings
from services.rpc.errors import Internal

Matrix = NDArray[np.float32]


@dataclass(frozen=True)
class Document:
    """A document's token vectors as int8 tiles; None where the model gave no finite ones."""

    tiles: Tiles | None
    truncated: bool = False


@dataclass(frozen=True)
class Query:
    """A query's token vectors (n, dim), and its tokens as text where they are known."""

    vectors: Matrix
    tokens: tuple[str, ...] = ()
    truncated: bool = False


class Encoding:
    """The encoder with everything around it: projection, pooling, quantisation."""

    def __init__(self, encoder: Encoder, settings: ColbertSettings) -> None:
        self.encoder = encoder
        self.pool_factor = settings.pool_factor
        self.projection = (
            Projection.load(settings.projection, encoder.dim) if settings.projection else None
        )
        self.dim = len(self.projection.matrix) if self.projection else encoder.dim

    @property
    def key(self) -> str:
        """Names what decides a stored vector: the model, its revision, length and compression."""
        parts = [f"{self.encoder.model}@{self.encoder.revision}", str(self.encoder.document_length)]
        if self.projection:
            parts.append(self.projection.name)
        if self.pool_factor > 1:
            parts.append(f"pool{self.pool_factor}")
        return ":".join([*parts, "int8"])

    async def query(self, text: str) -> Query:
        """Raises Internal where the model fails on it."""
        (encoded,) = await self.encoder.encode_queries([text])
        if encoded is None or not np.isfinite(encoded.vectors).all():
            raise Internal("the model gave no finite vectors for this query", reason="MODEL")
        vectors = self.projection(encoded.vectors) if self.projection else encoded.vectors
        return Query(vectors, encoded.tokens, encoded.truncated)

    async def documents(
        self, texts: Sequence[str], *, bulk: bool = False, lossless: bool = False
    ) -> list[Document]:
        """In the order of the texts. `lossless` leaves pooling out (the rows are the text's tokens)."""
        encoded = await self.encoder.encode_documents(texts, bulk=bulk)
        factor = 1 if lossless else self.pool_factor
        return await asyncio.to_thread(lambda: [self._tile(item, factor) for item in encoded])

    async def matrices(self, texts: Sequence[str]) -> list[Encoded | None]:
        """Documents' token vectors before pooling and quantisation, projected."""
        encoded = await self.encoder.encode_documents(texts)
        if self.projection is None:
            return list(encoded)
        return [
            item and Encoded(self.projection(item.vectors), item.tokens, item.truncated)
            for item in encoded
        ]

    def _tile(self, encoded: Encoded | None, factor: int) -> Document:
        if encoded is None or not np.isfinite(encoded.vectors).all():
            return Document(None, encoded.truncated if encoded else False)
        vectors = self.projection(encoded.vectors) if self.projection else encoded.vectors
        if factor > 1:
            vectors = pool(vectors, factor)
        return Document(Tiles.from_matrix(vectors, "int8"), encoded.truncated)

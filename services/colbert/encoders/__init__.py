"""Models that turn a text into one vector per token. One file each; add it to ENCODERS."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from services.rpc.providers import Worker

Matrix = NDArray[np.float32]


@dataclass(frozen=True)
class Encoded:
    """One text: `vectors` (n, dim), rows of length 1 (a query's may be zeros); n is 0 where nothing is left to encode.

    `tokens` are what the rows stand for; documents may leave them empty. `truncated` says that the
    text was longer than the model reads.
    """

    vectors: Matrix
    tokens: tuple[str, ...] = ()
    truncated: bool = False


class Encoder(Worker, Protocol):
    """A late-interaction model. None for a text that it failed on; ResourceExhausted where too much waits."""

    revision: str
    dim: int
    # Tokens that are read of a query and of a document, special tokens included.
    query_length: int
    document_length: int

    async def encode_queries(self, texts: Sequence[str]) -> Sequence[Encoded | None]: ...

    async def encode_documents(
        self, texts: Sequence[str], *, bulk: bool = False
    ) -> Sequence[Encoded | None]:
        """`bulk`: for an ingest, which waits for everybody else."""
        ...

    async def warm_up(self) -> None:
        """The first inference allocates the model's memory; no caller should wait for that."""
        ...

    async def close(self) -> None: ...


# Name in FOLIO_COLBERT_ENCODER -> class; each is constructed by its `create(settings)`.
ENCODERS: Mapping[str, str] = {
    "minilm": "services.colbert.encoders.minilm:MiniLMEncoder",
    "pylate": "services.colbert.encoders.pylate:PyLateEncoder",
}

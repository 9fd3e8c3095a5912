"""The embedded model as services use it: here in this process, or in the encoder that all of them share."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np

from services.minilm.model import BATCH_TOKENS, MiniLM, TokenVectors, Vectors, normalised, sentence
from services.minilm.settings import MiniLMSettings
from services.minilm.tokens import TokenReader, Tokens
from services.rpc import identity
from services.rpc.errors import Internal
from services.rpc.lanes import Lane, Lanes
from services.rpc.settings import ServerSettings

# Characters that are read in the event loop: about a millisecond.
_READ_IN_PLACE = 4000


class TextEncoder(ABC):
    """Texts in, vectors out. Texts are cut at `max_tokens` tokens, [CLS] and [SEP] included.

    Raises ResourceExhausted where too much waits in the lane, and from afar Unavailable, DeadlineExceeded.
    """

    model_id = MiniLM.model_id
    revision = MiniLM.revision
    dim = MiniLM.dim
    max_positions = MiniLM.max_positions

    def __init__(self, reader: TokenReader) -> None:
        self.reader = reader

    async def sentences(self, texts: Sequence[str], max_tokens: int, lane: Lane) -> Vectors:
        """(n, 384), rows of length 1: see MiniLM.embed."""
        if not texts:
            return np.empty((0, self.dim), np.float32)
        return await self._sentences(await self._read(texts, max_tokens), lane)

    async def encode(
        self, texts: Sequence[str], max_tokens: int, lane: Lane, *, special: bool = False
    ) -> list[TokenVectors]:
        """See MiniLM.encode."""
        if not texts:
            return []
        read = await self._read(texts, max_tokens)
        vectors = await self._tokens(read, lane)
        return [
            TokenVectors.of(item, rows, special=special)
            for item, rows in zip(read, vectors, strict=True)
        ]

    async def _read(self, texts: Sequence[str], max_tokens: int) -> list[Tokens]:
        limit = min(max_tokens, self.max_positions)
        if sum(map(len, texts)) <= _READ_IN_PLACE:
            return self.reader.read(texts, limit)
        return await asyncio.to_thread(self.reader.read, texts, limit)

    @abstractmethod
    async def _sentences(self, read: Sequence[Tokens], lane: Lane) -> Vectors: ...

    @abstractmethod
    async def _tokens(self, read: Sequence[Tokens], lane: Lane) -> list[Vectors]: ...

    @abstractmethod
    async def warm_up(self) -> None:
        """Before the first caller comes. Waits for nobody else's service."""

    @abstractmethod
    async def close(self) -> None:
        """Ends threads and connections."""


class LocalEncoder(TextEncoder):
    """The model in this process, one batch at a time, in lanes."""

    def __init__(
        self,
        model: MiniLM,
        *,
        batch_tokens: int = BATCH_TOKENS,
        queue_tokens: int = 1_000_000,
        wait_s: float = 0.0,
    ) -> None:
        super().__init__(model.reader)
        self._lanes: Lanes[list[int], Vectors] = Lanes(
            dict.fromkeys(Lane, model.states),
            batch=batch_tokens,
            queue=queue_tokens,
            wait_s=wait_s,
        )

    async def _sentences(self, read: Sequence[Tokens], lane: Lane) -> Vectors:
        return np.stack([sentence(states) for states in await self._states(read, lane)])

    async def _tokens(self, read: Sequence[Tokens], lane: Lane) -> list[Vectors]:
        states = await self._states(read, lane)
        return await asyncio.to_thread(lambda: [normalised(rows) for rows in states])

    async def _states(self, read: Sequence[Tokens], lane: Lane) -> list[Vectors]:
        ids = [item.ids for item in read]
        found = await self._lanes.run(
            lane, ids, [len(item) for item in ids], identity.organization()
        )
        return [_given(states) for states in found]

    async def warm_up(self) -> None:
        await self.sentences(["warm up"], self.max_positions, Lane.QUERY)

    async def close(self) -> None:
        await self._lanes.close()


def open_encoder(
    settings: ServerSettings, *, batch_tokens: int = BATCH_TOKENS, queue_tokens: int = 1_000_000
) -> TextEncoder:
    """The encoder at FOLIO_ENCODER_ADDRESS, or the model here, with these lanes. Blocks."""
    minilm = MiniLMSettings()
    if minilm.encoder:
        # Here, so that who runs the model itself needs no contract of the encoder.
        from services.minilm.remote import RemoteEncoder

        return RemoteEncoder(minilm.encoder, settings)
    model = MiniLM.load(minilm)
    return LocalEncoder(model, batch_tokens=batch_tokens, queue_tokens=queue_tokens)


def _given(states: Vectors | None) -> Vectors:
    if states is None:
        raise Internal("the embedded model failed on a text", reason="MODEL")
    return states

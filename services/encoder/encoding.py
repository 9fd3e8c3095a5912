"""Tokens to vectors: from what is kept where it is, else from the model."""

import asyncio
from collections.abc import Sequence

import numpy as np
from prometheus_client import Counter

from services.encoder.kept import Encoded, Key, Memory, Spool, key
from services.minilm.model import MiniLM, normalised, sentence
from services.rpc.errors import Internal
from services.rpc.lanes import Lane, Lanes

TEXTS = Counter(
    "folio_encoder_texts_total", "Texts asked for, by lane and by where from.", ["lane", "source"]
)


class Encoding:
    """The model behind lanes, and the vectors that another service will ask for.

    Questions are kept in memory: the retriever asks for their sentence vectors, colbert and the generator for their
    token vectors. Token vectors of an ingest go to the spool, for colbert to take. Other texts are not kept.
    """

    def __init__(
        self,
        model: MiniLM,
        memory: Memory,
        spool: Spool | None,
        *,
        batch_tokens: int,
        queue_tokens: int,
    ) -> None:
        self._model, self._memory, self._spool = model, memory, spool
        self._lanes: Lanes[Sequence[int], Encoded] = Lanes(
            dict.fromkeys(Lane, self._encode), batch=batch_tokens, queue=queue_tokens
        )

    async def encode(
        self,
        organization_id: int,
        texts: Sequence[Sequence[int]],
        lane: Lane,
        *,
        sentences: bool,
        tokens: bool,
    ) -> list[Encoded]:
        """Vectors of each text, of the kinds that are asked for; the other kind may be missing."""
        keys = [key(organization_id, ids) for ids in texts]
        found = {one: kept for one in keys if (kept := self._memory.get(one)) is not None}
        if tokens and not sentences and self._spool is not None:
            found |= await asyncio.to_thread(self._take, [one for one in keys if one not in found])
        missing = {one: ids for one, ids in zip(keys, texts, strict=True) if one not in found}
        made = await self._lanes.run(
            lane, list(missing.values()), [len(ids) for ids in missing.values()], organization_id
        )
        for one, encoded in zip(missing, made, strict=True):
            if encoded is None:
                raise Internal("the embedded model failed on a text", reason="MODEL")
            found[one] = encoded
            if lane is Lane.QUERY:
                self._memory.put(one, encoded)
        if lane is Lane.BULK and not tokens and self._spool is not None:
            await asyncio.to_thread(self._keep, {one: found[one] for one in missing})
        TEXTS.labels(lane.name.lower(), "kept").inc(len(keys) - len(missing))
        TEXTS.labels(lane.name.lower(), "model").inc(len(missing))
        return [found[one] for one in keys]

    def _encode(self, texts: Sequence[Sequence[int]]) -> list[Encoded]:
        """Blocks."""
        return [
            Encoded(sentence(states), normalised(states).astype(np.float16))
            for states in self._model.states(texts)
        ]

    def _take(self, keys: Sequence[Key]) -> dict[Key, Encoded]:
        """Blocks. Token vectors only."""
        assert self._spool is not None
        taken = {one: self._spool.take(one) for one in dict.fromkeys(keys)}
        nothing = np.empty(0, np.float32)
        return {one: Encoded(nothing, rows) for one, rows in taken.items() if rows is not None}

    def _keep(self, encoded: dict[Key, Encoded]) -> None:
        """Blocks."""
        assert self._spool is not None
        for one, vectors in encoded.items():
            self._spool.put(one, vectors.tokens)

    async def close(self) -> None:
        await self._lanes.close()

"""The OpenAI embeddings format, which most servers speak: POST /embeddings {"model": ..., "input": [...]}.

The answer is {"data": [{"index": 0, "embedding": [...]}, ...]}; the rows are put in order by `index`.
"""

from typing import Any

from services.outbound.failures import unreadable
from services.retriever.embedders.remote import NAME, RemoteEmbedder


class OpenAICompatibleEmbedder(RemoteEmbedder):
    """A server whose address ends in /v1, usually."""

    provider = "openai_compatible"

    async def _rows(self, texts: list[str]) -> Any:
        answer = await self._post(
            "/embeddings", {"model": self.model, "input": texts, "encoding_format": "float"}
        )
        try:
            rows = {int(item["index"]): item["embedding"] for item in answer["data"]}
        except (TypeError, KeyError, ValueError):
            raise unreadable(
                NAME, "an answer without the index and the embedding of each text"
            ) from None
        if sorted(rows) != list(range(len(texts))) or len(answer["data"]) != len(texts):
            raise unreadable(NAME, f"{len(answer['data'])} vectors for {len(texts)} texts")
        return [rows[index] for index in range(len(texts))]

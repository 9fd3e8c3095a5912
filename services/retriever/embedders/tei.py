"""text-embeddings-inference: POST /embed {"inputs": [...], "truncate": true} gives [[...], ...]."""

from typing import Any

from services.retriever.embedders.remote import RemoteEmbedder


class TEIEmbedder(RemoteEmbedder):
    """A TEI server. It serves one model; EMBEDDINGS_MODEL says which, for our records."""

    provider = "tei"

    async def _rows(self, texts: list[str]) -> Any:
        return await self._post("/embed", {"inputs": texts, "truncate": True, "normalize": True})

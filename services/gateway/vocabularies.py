"""What each organization's questions may name: collections, kinds, titles; kept for a while."""

import time

from folio.gateway.v1 import gateway_pb2
from folio.retriever.v1 import retriever_pb2
from services.gateway.request import Call
from services.gateway.scope import KnownDocument, Vocabulary
from services.rpc import identity
from services.rpc.errors import FolioError

PART = 0.1
# Organizations whose vocabulary is kept; beyond, the oldest goes.
MAX_KEPT = 256


class Vocabularies:
    """Vocabularies by tenant, each read again after a while. The key is the tenant, so nobody sees another's titles."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._kept: dict[tuple[int, int | None], tuple[float, Vocabulary]] = {}

    async def current(self, call: Call) -> Vocabulary:
        """The caller's vocabulary. Raises FolioError where the retriever does not tell it."""
        principal = identity.current()
        key = (principal.organization_id, principal.rooftop_id)
        kept = self._kept.get(key)
        if kept is not None and time.monotonic() - kept[0] < self._seconds:
            return kept[1]
        retriever = call.clients.retriever
        reply = await retriever.call(
            retriever.stub.GetVocabulary,
            retriever_pb2.GetVocabularyRequest(),
            call.deadline.share(PART),
        )
        vocabulary = Vocabulary(
            collections=tuple(reply.collections),
            kinds=tuple(reply.kinds),
            documents=tuple(
                KnownDocument(document.id, document.title, document.published_on)
                for document in reply.documents
            ),
        )
        self._kept.pop(key, None)
        self._kept[key] = (time.monotonic(), vocabulary)
        while len(self._kept) > MAX_KEPT:
            self._kept.pop(next(iter(self._kept)))
        return vocabulary

    async def why_nothing(self, call: Call, hits: int) -> "gateway_pb2.AbstainReason.ValueType":
        """Why there is nothing to answer from: hits that are too improbable, no hits, or no documents at all."""
        if hits:
            return gateway_pb2.ABSTAIN_REASON_BELOW_THRESHOLD
        try:
            vocabulary = await self.current(call)
        except FolioError:
            return gateway_pb2.ABSTAIN_REASON_NO_HITS
        if vocabulary.documents:
            return gateway_pb2.ABSTAIN_REASON_NO_HITS
        return gateway_pb2.ABSTAIN_REASON_NO_DOCUMENTS

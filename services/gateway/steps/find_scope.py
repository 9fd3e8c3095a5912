"""Looks for a scope in the question, among the titles, kinds and collections of the organization."""

import time
from dataclasses import dataclass

from folio.common.v1 import step_pb2
from folio.retriever.v1 import retriever_pb2
from services.gateway.request import Call
from services.gateway.scope import (
    KnownDocument,
    Restriction,
    Scope,
    Vocabulary,
    combine,
    find,
)
from services.gateway.stages import Retriever
from services.rpc import identity

PART = 0.1
# Organizations whose vocabulary is kept; beyond, the oldest goes.
MAX_KEPT = 256


@dataclass(frozen=True)
class Scoped:
    """The restriction to search with, and the scope that is in it, if any."""

    restriction: Restriction
    scope: Scope | None = None


class Vocabularies:
    """Vocabularies by tenant, each read again after a while. The key is the tenant, so nobody sees another's titles."""

    def __init__(self, retriever: Retriever, seconds: float) -> None:
        self._retriever, self._seconds = retriever, seconds
        self._kept: dict[tuple[int, int | None], tuple[float, Vocabulary]] = {}

    async def current(self, call: Call) -> Vocabulary:
        principal = identity.current()
        key = (principal.organization_id, principal.rooftop_id)
        kept = self._kept.get(key)
        if kept is not None and time.monotonic() - kept[0] < self._seconds:
            return kept[1]
        reply = await self._retriever.call(
            self._retriever.stub.GetVocabulary,
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


async def find_scope(
    call: Call, vocabularies: Vocabularies, question: str, caller: Restriction
) -> Scoped:
    """The caller's restriction with the scope found in the question, where the caller set nothing."""
    if not call.plan.scope:
        call.account.report.skip(step_pb2.STEP_SCOPE, "switched off")
        return Scoped(caller)
    result = Scoped(caller)
    with call.account.report.step(step_pb2.STEP_SCOPE) as step:
        scope = find(question, await vocabularies.current(call))
        if scope is not None:
            both, yields = combine(scope.restriction, caller)
            if both != caller:
                result = Scoped(both, scope)
            if yields:
                step.reason = "the caller's filter goes before a scope found in the question"
    return result

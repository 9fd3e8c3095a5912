"""Looks for a scope in the question, among the titles, kinds and collections of the organization."""

from folio.common.v1 import step_pb2
from services.gateway.request import Call
from services.gateway.scope import Scoped, combine, find
from services.gateway.vocabularies import Vocabularies


async def find_scope(call: Call, vocabularies: Vocabularies, question: str) -> Scoped:
    """The caller's filter with the scope found in the question, where the caller set nothing."""
    caller = call.plan.filter
    if not call.plan.scope:
        call.report.skip(step_pb2.STEP_SCOPE, "switched off")
        return Scoped(caller)
    result = Scoped(caller)
    with call.report.step(step_pb2.STEP_SCOPE) as step:
        scope = find(question, await vocabularies.current(call))
        if scope is not None:
            both, yields = combine(scope.filter, caller)
            if both != caller:
                result = Scoped(both, scope)
            if yields:
                step.reason = "the caller's filter goes before a scope found in the question"
    return result


def drop_scope(call: Call) -> Scoped:
    """A scope in which nothing is found hides the answer: the caller's own filter again, and the report says so."""
    with call.report.step(step_pb2.STEP_SCOPE) as step:
        step.reason = "nothing was found within the scope of the question; searched without it"
    return Scoped(call.plan.filter)

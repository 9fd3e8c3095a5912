"""Searches the web, where a rule of the operator allows it. Its results are labelled and never mixed with documents."""

from folio.common.v1 import document_pb2, service_pb2, step_pb2
from folio.gateway.v1 import gateway_pb2
from folio.generator.v1 import generator_pb2
from services.gateway.grounding.text import neutralise
from services.gateway.ledger import providers_of
from services.gateway.request import Call
from services.gateway.web_rules import WebRules
from services.rpc import identity
from services.rpc.errors import FailedPrecondition
from services.rpc.rules import max_bytes

PART = 0.8
RESULTS = 5
MAX_QUERY_BYTES = max_bytes(generator_pb2.SearchWebRequest, "query")


async def search_web(
    call: Call, rules: WebRules, question: str, within: document_pb2.Filter
) -> gateway_pb2.WebAnswer | None:
    """Web results, or None if there are none or the web may not be searched for this question."""
    generator, reason = call.clients.generator, _why_not(call, rules, within)
    if reason or generator is None:
        call.report.skip(step_pb2.STEP_WEB, reason)
        return None
    answer = None
    with call.report.step(step_pb2.STEP_WEB) as step:
        if not (await generator.about(call.deadline.share(PART))).searches_web:
            raise FailedPrecondition("the generator has no web search configured")
        provider, *_ = await providers_of(
            generator, service_pb2.PURPOSE_SEARCH_WEB, call.deadline.share(PART)
        )
        query = question.encode()[:MAX_QUERY_BYTES]
        sent = len(query)
        try:
            reply = await generator.call(
                generator.stub.SearchWeb,
                generator_pb2.SearchWebRequest(query=query.decode(errors="ignore"), limit=RESULTS),
                call.deadline.share(PART),
            )
            sent = reply.bytes_sent
        finally:
            # Whatever became of the call, the question may have left the suite.
            call.ledger.record(provider, sent)
        call.spend(reply.usage)
        results = [
            gateway_pb2.WebResult(
                title=neutralise(result.title),
                url=neutralise(result.url),
                snippet=neutralise(result.snippet),
            )
            for result in reply.results
            if result.url.startswith(("http://", "https://"))
        ]
        if results:
            answer = gateway_pb2.WebAnswer(provider=reply.provider, results=results)
        else:
            step.reason = "nothing was found"
    return answer


def _why_not(call: Call, rules: WebRules, within: document_pb2.Filter) -> str:
    """Why the web may not be searched for this question; empty if it may."""
    if not call.settings.web:
        return "switched off in the settings"
    if not call.plan.web:
        return "switched off in the request"
    if call.clients.generator is None:
        return "no generator is configured"
    if not rules.allow(identity.current().organization_id, within.collections):
        return "no rule allows it for this organization and collection"
    return ""

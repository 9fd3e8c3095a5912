"""Adds other wordings of the question for the search."""

from folio.generator.v1 import generator_pb2
from folio.retriever.v1 import retriever_pb2
from services.gateway.egress import Ledger
from services.gateway.request import Call
from services.gateway.stages import Generator

PART = 0.15
MAX_VARIANTS = 3

_KINDS = {
    generator_pb2.EXPANSION_METHOD_SYNONYMS: retriever_pb2.QUERY_KIND_SYNONYMS,
    generator_pb2.EXPANSION_METHOD_MULTI_QUERY: retriever_pb2.QUERY_KIND_PARAPHRASE,
    generator_pb2.EXPANSION_METHOD_HYDE: retriever_pb2.QUERY_KIND_HYPOTHETICAL,
}
_WITH_MODEL = (
    generator_pb2.EXPANSION_METHOD_MULTI_QUERY,
    generator_pb2.EXPANSION_METHOD_HYDE,
)


async def expand(
    call: Call, generator: Generator | None, ledger: Ledger, question: str
) -> list[retriever_pb2.Query]:
    """The queries to search: the question first, then at most three variants."""
    queries = [retriever_pb2.Query(text=question, kind=retriever_pb2.QUERY_KIND_QUESTION)]
    wanted = {
        generator_pb2.EXPANSION_METHOD_SYNONYMS: call.plan.synonyms,
        generator_pb2.EXPANSION_METHOD_MULTI_QUERY: call.plan.multi_query,
        generator_pb2.EXPANSION_METHOD_HYDE: call.plan.hyde,
    }
    methods = [method for method, on in wanted.items() if on]
    if not methods or call.plan.exact:
        reason = "exact search reads the question alone" if methods else "switched off"
        call.account.skip("expand", reason)
        return queries
    if generator is None:
        call.account.skip("expand", "no generator is configured")
        return queries
    with call.account.step("expand") as step:
        request = generator_pb2.ExpandRequest(
            question=question, methods=methods, max_variants=MAX_VARIANTS
        )
        if any(method in methods for method in _WITH_MODEL):
            await ledger.note(call.account, generator, "expand", request)
        reply = await generator.call(generator.stub.Expand, request, call.deadline.share(PART))
        call.account.spend(reply.usage)
        step.model = reply.usage.model
        if reply.degraded_reason:
            step.degrade(reply.degraded_reason)
        for variant in reply.variants[:MAX_VARIANTS]:
            if variant.text.strip() and variant.text != question and variant.method in _KINDS:
                queries.append(retriever_pb2.Query(text=variant.text, kind=_KINDS[variant.method]))
    return queries

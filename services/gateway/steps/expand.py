"""Adds other wordings of the question for the search."""

from folio.common.v1 import query_pb2, service_pb2, step_pb2
from folio.generator.v1 import generator_pb2
from folio.retriever.v1 import retriever_pb2
from services.gateway.request import Call
from services.rpc import rules

PART = 0.15
MAX_VARIANTS = rules.most(generator_pb2.ExpandRequest, "max_variants")


async def expand(call: Call, question: str) -> list[retriever_pb2.Query]:
    """The queries to search: the question first, then at most three variants."""
    queries = [retriever_pb2.Query(text=question, kind=query_pb2.QUERY_KIND_QUESTION)]
    wanted = {
        query_pb2.QUERY_KIND_SYNONYMS: call.plan.synonyms,
        query_pb2.QUERY_KIND_MULTI_QUERY: call.plan.multi_query,
        query_pb2.QUERY_KIND_HYDE: call.plan.hyde,
    }
    kinds = [kind for kind, on in wanted.items() if on]
    if not kinds or call.plan.exact:
        reason = "exact search reads the question alone" if kinds else "switched off"
        call.report.skip(step_pb2.STEP_EXPAND, reason)
        return queries
    generator = call.clients.generator
    if generator is None:
        call.report.skip(step_pb2.STEP_EXPAND, "no generator is configured")
        return queries
    with call.report.step(step_pb2.STEP_EXPAND) as step:
        request = generator_pb2.ExpandRequest(
            question=question, kinds=kinds, max_variants=MAX_VARIANTS
        )
        if kinds != [query_pb2.QUERY_KIND_SYNONYMS]:
            await call.ledger.note(
                generator, service_pb2.PURPOSE_EXPAND, request, call.deadline.share(PART)
            )
        reply = await generator.call(generator.stub.Expand, request, call.deadline.share(PART))
        call.spend(reply.usage)
        step.model = reply.usage.model
        if reply.degraded_reason:
            step.degrade(reply.degraded_reason)
        for variant in reply.variants[:MAX_VARIANTS]:
            if variant.text.strip() and variant.text != question and variant.kind in kinds:
                queries.append(retriever_pb2.Query(text=variant.text, kind=variant.kind))
    return queries

"""Finds where on the page the quotes of an answer stand, for viewers that highlight them."""

from collections.abc import Sequence

from folio.common.v1 import step_pb2
from folio.gateway.v1 import gateway_pb2
from folio.retriever.v1 import retriever_pb2
from services.gateway.request import Call
from services.rpc import rules

PART = 0.7
MAX_SPANS = rules.max_items(retriever_pb2.LocateQuotesRequest, "spans")


async def locate(call: Call, sentences: Sequence[gateway_pb2.Sentence]) -> None:
    """Fills in `located` and `regions`. What cannot be located stays so: the quote holds all the same."""
    cited = [citation for sentence in sentences for citation in sentence.citations][:MAX_SPANS]
    if not cited:
        return
    with call.report.step(step_pb2.STEP_LOCATE):
        retriever = call.clients.retriever
        reply = await retriever.call(
            retriever.stub.LocateQuotes,
            retriever_pb2.LocateQuotesRequest(
                spans=[
                    retriever_pb2.QuoteSpan(
                        document_id=citation.document_id,
                        char_start=citation.char_start,
                        char_end=citation.char_end,
                    )
                    for citation in cited
                ]
            ),
            call.deadline.share(PART),
        )
        for citation, place in zip(cited, reply.quotes, strict=False):
            citation.located = place.located
            citation.regions.extend(place.regions)

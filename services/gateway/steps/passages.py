"""Fetches what the generator reads: the sections around the hits, or the chunks themselves."""

from folio.common.v1 import document_pb2, step_pb2
from folio.retriever.v1 import retriever_pb2
from services.gateway.hits import Hits
from services.gateway.request import Call
from services.gateway.settings import GatewaySettings
from services.gateway.stages import Retriever

PART = 0.4


async def passages(
    call: Call, retriever: Retriever, settings: GatewaySettings, hits: Hits
) -> list[retriever_pb2.Passage]:
    """Passages, ranked by their best hit. If they cannot be had, the chunks stand in for them."""
    found: list[retriever_pb2.Passage] = []
    with call.account.report.step(step_pb2.STEP_PASSAGES) as step:
        reply = await retriever.call(
            retriever.stub.GetPassages,
            retriever_pb2.GetPassagesRequest(
                chunk_ids=[hit.chunk.id for hit in hits.items],
                max_passage_tokens=settings.max_passage_tokens,
                max_total_tokens=settings.max_total_tokens,
                hits_only=not call.plan.passages,
            ),
            call.deadline.share(PART),
        )
        found = [passage for passage in reply.passages if passage.text.strip() and passage.hits]
        if not call.plan.passages:
            step.reason = "switched off: the hits alone are read"
    return found or [_alone(hit.chunk) for hit in hits.items if hit.chunk.body.strip()]


def _alone(chunk: document_pb2.Chunk) -> retriever_pb2.Passage:
    """A chunk as a passage of its own; its page is the one it starts on."""
    return retriever_pb2.Passage(
        document_id=chunk.document_id,
        section_id=chunk.section_id,
        title=chunk.title,
        file_name=chunk.file_name,
        section_path=chunk.section_path,
        text=chunk.body,
        char_start=chunk.char_start,
        char_end=chunk.char_end,
        pages=[
            retriever_pb2.PageStart(
                char_offset=0, page=chunk.page_start, page_label=chunk.page_label
            )
        ],
        hits=[chunk],
        token_count=chunk.token_count,
        sha256=chunk.sha256,
        kind=chunk.kind,
        published_on=chunk.published_on,
        collection=chunk.collection,
    )

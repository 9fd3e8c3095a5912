"""Fetches what the generator reads: the sections around the hits, or the hits themselves."""

from dataclasses import dataclass
from functools import cached_property

from folio.common.v1 import document_pb2, step_pb2
from folio.retriever.v1 import retriever_pb2
from services.gateway.grounding.quotes import SourceText
from services.gateway.hits import Hits
from services.gateway.request import Call
from services.gateway.slices import source_text

PART = 0.4


@dataclass(frozen=True)
class Read:
    """A passage, and the probability that the best of its hits answers."""

    passage: retriever_pb2.Passage
    relevance: float

    @cached_property
    def text(self) -> SourceText:
        """The passage as grounding reads it."""
        return source_text(self.passage)


async def passages(call: Call, hits: Hits) -> list[Read]:
    """Passages, ranked by their best hit. If they cannot be had, the hits stand in for them."""
    found: list[retriever_pb2.Passage] = []
    with call.report.step(step_pb2.STEP_PASSAGES) as step:
        retriever = call.clients.retriever
        reply = await retriever.call(
            retriever.stub.GetPassages,
            retriever_pb2.GetPassagesRequest(
                chunk_ids=[chunk.id for hit in hits.items for chunk in (*hit.rows[:1], hit.chunk)],
                max_passage_tokens=call.settings.max_passage_tokens,
                max_total_tokens=call.settings.max_total_tokens,
                hits_only=not call.plan.passages,
            ),
            call.deadline.share(PART),
        )
        found = [passage for passage in reply.passages if passage.text.strip() and passage.hits]
        if not call.plan.passages:
            step.reason = "switched off: the hits alone are read"
    found = found or [_alone(hit.chunk) for hit in hits.items if hit.chunk.body.strip()]
    probability = {
        chunk.id: hit.probability for hit in hits.items for chunk in (hit.chunk, *hit.rows)
    }
    return [
        Read(passage, max(probability.get(hit.id, 0.0) for hit in passage.hits))
        for passage in found
    ]


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
        page_kind=chunk.page_kind,
    )

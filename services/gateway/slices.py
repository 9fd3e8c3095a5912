"""A passage and the document it is from: where a character of the one stands in the other."""

from folio.retriever.v1 import retriever_pb2
from services.gateway.grounding.quotes import SourceText, Span
from services.rpc import tables


def slices(passage: retriever_pb2.Passage) -> list[retriever_pb2.Slice]:
    """The parts of the document that a passage is made of, at least one."""
    whole = retriever_pb2.Slice(length=len(passage.text), char_start=passage.char_start)
    return list(passage.slices) or [whole]


def in_document(passage: retriever_pb2.Passage, span: Span) -> Span:
    """Characters of the passage as characters of the document; a span begins and ends in one slice."""
    found = slices(passage)[0]
    for each in slices(passage):
        if each.char_offset <= span.start:
            found = each
    start = found.char_start + span.start - found.char_offset
    return Span(start, start + span.end - span.start)


def in_passage(passage: retriever_pb2.Passage, span: Span) -> Span | None:
    """Characters of the document as characters of the passage: what stands in its first slice that has any."""
    for each in slices(passage):
        start = max(span.start, each.char_start)
        end = min(span.end, each.char_start + each.length)
        if start < end:
            moved = each.char_offset - each.char_start
            return Span(start + moved, end + moved)
    return None


def source_text(passage: retriever_pb2.Passage) -> SourceText:
    """A passage as grounding reads it."""
    found = slices(passage)
    ends = [each.char_offset + each.length for each in found]
    starts = [each.char_offset for each in found[1:]]
    return SourceText(
        passage.text,
        passage.char_start,
        tuple(tables.unpack(table, len(passage.text)) for table in passage.tables),
        tuple(Span(end, start) for end, start in zip(ends, starts, strict=False) if end < start),
    )

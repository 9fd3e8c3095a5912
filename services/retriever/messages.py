"""Protos to values and back."""

from collections.abc import Sequence
from datetime import date

from folio.common.v1 import document_pb2, query_pb2, table_pb2
from folio.formats import MediaType
from folio.retriever.v1 import retriever_pb2 as pb
from services.postgres.filters import filter_from
from services.retriever.catalogue import NamedDocument
from services.retriever.documents import Box
from services.retriever.ingest.pipeline import Ingested, Progress
from services.retriever.records import ChunkRecord, DocumentRecord
from services.retriever.search.hybrid import Found, Hit, Query, Request
from services.retriever.search.passages import Passage
from services.retriever.viewing import Region
from services.rpc import tables

_STATUS = {
    "READY": document_pb2.DOCUMENT_STATUS_READY,
    "READY_WITH_WARNINGS": document_pb2.DOCUMENT_STATUS_READY_WITH_WARNINGS,
    "NEEDS_OCR": document_pb2.DOCUMENT_STATUS_NEEDS_OCR,
    "STAGING": document_pb2.DOCUMENT_STATUS_STAGED,
    "STAGED": document_pb2.DOCUMENT_STATUS_STAGED,
    "FAILED": document_pb2.DOCUMENT_STATUS_FAILED,
}


def _iso(value: date | None) -> str:
    return value.isoformat() if value else ""


def search_request(message: pb.SearchRequest, default_limit: int) -> Request:
    """A search as asked."""
    return Request(
        tuple(
            Query(query.text, query.kind or query_pb2.QUERY_KIND_QUESTION)
            for query in message.queries
        ),
        message.limit or default_limit,
        filter_from(message.filter),
        not message.without_dense,
        not message.without_sparse,
        not message.without_typos,
        message.max_per_document,
    )


def search_response(found: Found) -> pb.SearchResponse:
    """Hits and the account of the search."""
    return pb.SearchResponse(
        hits=[_hit(hit) for hit in found.hits],
        steps=found.steps,
        corrected_words=found.corrected_words,
    )


def _hit(hit: Hit) -> pb.Hit:
    return pb.Hit(
        chunk=chunk(hit.chunk),
        score=hit.score,
        dense_rank=hit.dense_rank,
        sparse_rank=hit.sparse_rank,
        dense_score=hit.dense_score,
        sparse_score=hit.sparse_score,
        rows=map(chunk, hit.rows),
    )


def chunk(record: ChunkRecord) -> document_pb2.Chunk:
    """A chunk with its place."""
    return document_pb2.Chunk(
        id=record.id,
        document_id=record.document_id,
        section_id=record.section_id,
        ordinal=record.ordinal,
        page_start=record.page_start,
        page_end=record.page_end,
        page_label=record.page_label,
        title=record.title,
        file_name=record.file_name,
        collection=record.collection,
        kind=record.kind,
        published_on=_iso(record.published_on),
        section_path=record.section_path,
        body=record.body,
        char_start=record.char_start,
        char_end=record.char_end,
        sha256=record.sha256,
        token_count=record.token_count,
        page_kind=_page_kind(record.media_type),
        reading=record.reading,
    )


def document(record: DocumentRecord) -> document_pb2.Document:
    """A document in one version."""
    return document_pb2.Document(
        id=record.id,
        title=record.title,
        file_name=record.file_name,
        media_type=record.media_type,
        collection=record.collection,
        kind=record.kind,
        published_on=_iso(record.published_on),
        sha256=record.sha256,
        version=record.version,
        status=_STATUS[record.status],
        page_count=record.page_count,
        chunk_count=record.chunk_count,
        size_bytes=record.size_bytes,
        warnings=record.warnings,
        empty_pages=record.empty_pages,
        created_at=record.created_at.isoformat(),
        updated_at=record.updated_at.isoformat(),
        error=record.error,
        rooftop_id=record.rooftop_id or 0,
        page_kind=_page_kind(record.media_type),
    )


def ingest_event(event: Progress | Ingested) -> pb.IngestDocumentResponse:
    """How far an ingest is, or its end."""
    if isinstance(event, Progress):
        return pb.IngestDocumentResponse(
            progress=pb.IngestProgress(step=event.step, done=event.done, total=event.total)
        )
    return pb.IngestDocumentResponse(
        result=pb.IngestResult(
            document=document(event.document),
            version=event.version,
            unchanged=event.unchanged,
            steps=event.steps,
        )
    )


def passage(value: Passage) -> pb.Passage:
    """A passage; what is true of its document it says from its best hit."""
    best = value.hits[0]
    return pb.Passage(
        document_id=best.document_id,
        section_id=best.section_id,
        title=best.title,
        file_name=best.file_name,
        section_path=best.section_path,
        text=value.text,
        char_start=value.char_start,
        char_end=value.char_end,
        pages=[
            pb.PageStart(char_offset=start.char_offset, page=start.page, page_label=start.label)
            for start in value.pages
        ],
        hits=[chunk(hit) for hit in value.hits],
        token_count=value.token_count,
        sha256=best.sha256,
        kind=best.kind,
        published_on=_iso(best.published_on),
        collection=best.collection,
        tables=[tables.pack(table) for table in value.tables],
        slices=[
            pb.Slice(char_offset=each.char_offset, length=each.length, char_start=each.char_start)
            for each in value.slices
        ]
        if len(value.slices) > 1
        else (),
        page_kind=_page_kind(best.media_type),
        uncertain=[
            table_pb2.TextSpan(char_start=start, char_end=end) for start, end in value.uncertain
        ],
    )


def _page_kind(media_type: str) -> "document_pb2.PageKind.ValueType":
    """What the pages of a file are; unspecified where its format is not one of ours any more."""
    try:
        kind = MediaType(media_type).pages_are
    except ValueError:
        return document_pb2.PAGE_KIND_UNSPECIFIED
    return document_pb2.PageKind.Value(f"PAGE_KIND_{kind.name}")


def boxes(rectangles: Sequence[document_pb2.Rectangle]) -> list[Box]:
    """Fractions of a page."""
    return [Box(r.left, r.top, r.right, r.bottom) for r in rectangles]


def located(regions: Sequence[Region]) -> pb.LocatedQuote:
    """Where a quote stands, if anywhere."""
    return pb.LocatedQuote(
        located=bool(regions),
        regions=[
            document_pb2.PageRegion(
                page=region.page,
                page_label=region.label,
                page_kind=_page_kind(region.media_type),
                rectangles=[
                    document_pb2.Rectangle(
                        left=box.left, top=box.top, right=box.right, bottom=box.bottom
                    )
                    for box in region.boxes
                ],
            )
            for region in regions
        ],
    )


def named_document(entry: NamedDocument) -> pb.VocabularyDocument:
    """A document by its names."""
    return pb.VocabularyDocument(
        id=entry.id,
        title=entry.title,
        file_name=entry.file_name,
        kind=entry.kind,
        collection=entry.collection,
        published_on=_iso(entry.published_on),
    )

"""RetrieverService: one method per call; unpack, ask the part that does it, pack."""

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import grpc
from google.protobuf import json_format

from folio import words
from folio.common.v1 import query_pb2, service_pb2
from folio.retriever.v1 import retriever_pb2 as pb
from folio.retriever.v1 import retriever_pb2_grpc
from services.postgres.filters import filter_from
from services.postgres.gates import Facts
from services.postgres.pool import TenantPool, tenant
from services.retriever import catalogue, messages, query_log
from services.retriever.embedders import Embedder
from services.retriever.ingest import publish
from services.retriever.parsing import ParserPool
from services.retriever.parsing.text import clean, clean_line
from services.retriever.search import passages
from services.retriever.search.hybrid import DEFAULT_LIMIT, Searcher
from services.retriever.settings import RetrieverSettings
from services.retriever.uploads import Uploads
from services.retriever.viewing import Span, Viewer
from services.rpc import identity, rules
from services.rpc.build import package_version
from services.rpc.limits import Gate
from services.rpc.providers import entry

DEFAULT_PAGE_SIZE = 100
Context = grpc.aio.ServicerContext[Any, Any]


@dataclass(frozen=True)
class Parts:
    """What does the work."""

    settings: RetrieverSettings
    pool: TenantPool
    parser: ParserPool
    embedder: Embedder
    column: str
    facts: Facts
    searcher: Searcher
    viewer: Viewer


class RetrieverServicer(retriever_pb2_grpc.RetrieverServiceServicer):
    """Ingests have places of their own (`uploads`): none may keep a search waiting."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        settings = parts.settings
        self._gate = Gate(settings.max_concurrency, settings.max_queue)
        self.uploads = Uploads(settings, parts.pool, parts.parser, parts.embedder, parts.column)

    async def IngestDocument(
        self, requests: AsyncIterator[pb.IngestDocumentRequest], context: Context
    ) -> AsyncIterator[pb.IngestDocumentResponse]:
        async with contextlib.aclosing(self.uploads.take(requests)) as events:
            async for event in events:
                yield messages.ingest_event(event)

    async def PublishDocument(
        self, request: pb.PublishDocumentRequest, context: Context
    ) -> pb.PublishDocumentResponse:
        principal = identity.current()
        async with (
            self._gate,
            tenant(self._parts.pool, principal, statement_seconds=600.0) as connection,
        ):
            await publish.publish(
                connection, principal.organization_id, request.document_id, request.version
            )
            record = await catalogue.get(connection, principal.organization_id, request.document_id)
        return pb.PublishDocumentResponse(document=messages.document(record))

    async def Search(self, request: pb.SearchRequest, context: Context) -> pb.SearchResponse:
        async with self._gate:
            found = await self._parts.searcher.search(
                identity.current(), messages.search_request(request, DEFAULT_LIMIT)
            )
        return messages.search_response(found)

    async def GetPassages(
        self, request: pb.GetPassagesRequest, context: Context
    ) -> pb.GetPassagesResponse:
        async with self._gate:
            found = await passages.passages(
                self._parts.pool,
                identity.current(),
                self._parts.embedder,
                list(request.chunk_ids),
                passage_tokens=request.max_passage_tokens or passages.MAX_PASSAGE_TOKENS,
                total_tokens=request.max_total_tokens or passages.MAX_TOTAL_TOKENS,
                hits_only=request.hits_only,
            )
        return pb.GetPassagesResponse(passages=[messages.passage(value) for value in found])

    async def LocateQuotes(
        self, request: pb.LocateQuotesRequest, context: Context
    ) -> pb.LocateQuotesResponse:
        spans = [Span(s.document_id, s.char_start, s.char_end) for s in request.spans]
        async with self._gate:
            found = await self._parts.viewer.locate(identity.current(), spans)
        return pb.LocateQuotesResponse(quotes=[messages.located(regions) for regions in found])

    async def ListDocuments(
        self, request: pb.ListDocumentsRequest, context: Context
    ) -> pb.ListDocumentsResponse:
        principal = identity.current()
        async with self._gate, tenant(self._parts.pool, principal) as connection:
            found, token = await catalogue.page(
                connection,
                principal.organization_id,
                request.page_size or DEFAULT_PAGE_SIZE,
                request.page_token,
                filter_from(request.filter),
            )
        return pb.ListDocumentsResponse(
            documents=[messages.document(record) for record in found], next_page_token=token
        )

    async def GetDocument(
        self, request: pb.GetDocumentRequest, context: Context
    ) -> pb.GetDocumentResponse:
        principal = identity.current()
        async with self._gate, tenant(self._parts.pool, principal) as connection:
            record = await catalogue.get(connection, principal.organization_id, request.document_id)
        return pb.GetDocumentResponse(document=messages.document(record))

    async def DeleteDocument(
        self, request: pb.DeleteDocumentRequest, context: Context
    ) -> pb.DeleteDocumentResponse:
        principal = identity.current()
        async with (
            self._gate,
            tenant(self._parts.pool, principal, statement_seconds=600.0) as connection,
        ):
            deleted = await publish.delete(
                connection, principal.organization_id, request.document_id
            )
        return pb.DeleteDocumentResponse(chunks_deleted=deleted)

    async def RenderPage(
        self, request: pb.RenderPageRequest, context: Context
    ) -> pb.RenderPageResponse:
        async with self._gate:
            png, width, height = await self._parts.viewer.render(
                identity.current(),
                request.document_id,
                request.page,
                request.dpi,
                messages.boxes(request.highlights),
            )
        return pb.RenderPageResponse(png=png, width=width, height=height)

    async def GetVocabulary(
        self, request: pb.GetVocabularyRequest, context: Context
    ) -> pb.GetVocabularyResponse:
        principal = identity.current()
        async with self._gate, tenant(self._parts.pool, principal, snapshot=True) as connection:
            names = await catalogue.names(connection, principal.organization_id)
        return pb.GetVocabularyResponse(
            collections=names.collections,
            kinds=names.kinds,
            documents=[messages.named_document(entry) for entry in names.documents],
        )

    async def LogQuery(self, request: pb.LogQueryRequest, context: Context) -> pb.LogQueryResponse:
        async with self._gate:
            await query_log.log_query(
                self._parts.pool,
                identity.current(),
                clean_line(request.request_id, 128),
                words.word(query_pb2.Outcome, request.outcome),
                clean(request.question).text,
                [_cleaned(json_format.MessageToDict(step)) for step in request.steps],
                [
                    query_log.Egress(
                        clean_line(e.provider, 100),
                        words.word(service_pb2.Purpose, e.purpose),
                        e.bytes_sent,
                    )
                    for e in request.egress
                ],
            )
        return pb.LogQueryResponse()

    async def GetCapabilities(
        self, request: pb.GetCapabilitiesRequest, context: Context
    ) -> pb.GetCapabilitiesResponse:
        parts = self._parts
        settings, embedder, facts = parts.settings, parts.embedder, parts.facts
        return pb.GetCapabilitiesResponse(
            capabilities=service_pb2.Capabilities(
                service="retriever",
                version=package_version(),
                providers=[
                    entry(service_pb2.PURPOSE_EMBED, embedder, embedder.revision),
                ],
                dim=embedder.dim,
                limits={
                    "max_file_bytes": settings.max_file_bytes,
                    "max_message_bytes": settings.max_message_bytes,
                    "max_chunks": settings.max_chunks,
                    "chunk_tokens": min(settings.chunk_tokens, embedder.max_tokens - 2),
                    "max_hits": rules.most(pb.SearchRequest, "limit"),
                },
                details={
                    "sparse": "bm25",
                    "postgresql": facts.server_version,
                    "pgvector": facts.pgvector_version,
                    "schema": str(facts.schema_version),
                },
            )
        )


def _cleaned(report: dict[str, Any]) -> dict[str, Any]:
    """A step's report as JSON that PostgreSQL takes: it refuses the escape of NUL."""
    return {
        key: clean_line(value) if isinstance(value, str) else value for key, value in report.items()
    }

"""RetrieverService: one method per call; unpack, ask the part that does it, pack."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any
from weakref import WeakValueDictionary

import grpc
from google.protobuf import json_format

from folio.common.v1 import stage_pb2
from folio.retriever.v1 import retriever_pb2 as pb
from folio.retriever.v1 import retriever_pb2_grpc
from services.postgres.gates import Facts
from services.postgres.pool import TenantPool, tenant
from services.retriever import catalogue, messages, query_log
from services.retriever.embedders import Embedder
from services.retriever.ingest import publish
from services.retriever.ingest.claims import Upload
from services.retriever.ingest.pipeline import (
    Ingest,
    Ingested,
    Options,
    Progress,
    check_bytes,
    recipe,
    too_large,
)
from services.retriever.parsing import ParserPool
from services.retriever.parsing.text import clean, clean_line
from services.retriever.search import passages
from services.retriever.search.hybrid import DEFAULT_LIMIT, Searcher
from services.retriever.settings import RetrieverSettings
from services.retriever.viewing import Span, Viewer
from services.rpc import identity
from services.rpc.build import package_version
from services.rpc.errors import Aborted, InvalidArgument
from services.rpc.limits import Gate

SERVICE = "folio.retriever.v1.RetrieverService"
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
    """Ingests have gates of their own: each holds a file in memory, and none may keep a search waiting."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts
        settings = parts.settings
        self._gate = Gate(settings.max_concurrency, settings.max_queue)
        self._ingests = Gate(settings.max_ingests, settings.max_queue)
        # By organization; a gate is there while somebody holds or awaits a place.
        self._own_ingests: WeakValueDictionary[int, Gate] = WeakValueDictionary()

    def register(self, server: grpc.aio.Server) -> list[str]:
        """See services.rpc.serve.Register."""
        retriever_pb2_grpc.add_RetrieverServiceServicer_to_server(self, server)
        return [SERVICE]

    async def IngestDocument(
        self, requests: AsyncIterator[pb.IngestDocumentRequest], context: Context
    ) -> AsyncIterator[pb.IngestDocumentResponse]:
        async with self._place():
            header, data = await self._receive(requests)
            yield messages.progress(Progress("receive", len(data), len(data)))
            events: asyncio.Queue[Progress] = asyncio.Queue()
            work = asyncio.create_task(self._ingest(header, data, events))
            waiting = asyncio.create_task(events.get())
            try:
                while not work.done() or not events.empty():
                    await asyncio.wait({waiting, work}, return_when=asyncio.FIRST_COMPLETED)
                    if waiting.done():
                        yield messages.progress(waiting.result())
                        waiting = asyncio.create_task(events.get())
                yield messages.ingested(await work)
            finally:
                waiting.cancel()
                work.cancel()
                await asyncio.wait({waiting, work})

    @contextlib.asynccontextmanager
    async def _place(self) -> AsyncIterator[None]:
        """A place for an ingest. An organization has at most half of them: slow senders keep no other one waiting."""
        settings = self._parts.settings
        own = self._own_ingests.setdefault(
            identity.current().organization_id,
            Gate(max(1, settings.max_ingests // 2), settings.max_queue),
        )
        async with own, self._ingests:
            yield

    async def _receive(
        self, requests: AsyncIterator[pb.IngestDocumentRequest]
    ) -> tuple[pb.IngestHeader, bytes]:
        header: pb.IngestHeader | None = None
        data = bytearray()
        most = self._parts.settings.max_file_bytes
        async for request in _spoken(requests, self._parts.settings.sender_silence_seconds):
            if request.WhichOneof("part") == "header":
                if header is not None:
                    raise InvalidArgument.field("header", "must be sent once, first")
                header = request.header
                if header.size_bytes > most:
                    raise too_large(most)
            elif header is None:
                raise InvalidArgument.field("header", "must be the first message")
            else:
                data += request.data
                if len(data) > most:
                    raise too_large(most)
        if header is None:
            raise InvalidArgument.field("header", "must be the first message")
        return header, bytes(data)

    async def _ingest(
        self, header: pb.IngestHeader, data: bytes, events: asyncio.Queue[Progress]
    ) -> Ingested:
        parts = self._parts
        digest = await asyncio.to_thread(
            check_bytes, data, header.sha256, header.size_bytes, parts.settings.max_file_bytes
        )
        upload = upload_from(header, digest, len(data), parts.settings, parts.embedder)
        work = Ingest(
            parts.pool,
            parts.parser,
            parts.embedder,
            parts.column,
            parts.settings,
            identity.current(),
            events.put_nowait,
        )
        return await work.run(upload, data, Options(header.password, header.ocr))

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
                parents=not request.without_parents,
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
                messages.filter_from(request.filter),
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

    async def ListScopes(
        self, request: pb.ListScopesRequest, context: Context
    ) -> pb.ListScopesResponse:
        principal = identity.current()
        async with self._gate, tenant(self._parts.pool, principal, snapshot=True) as connection:
            scopes = await catalogue.scopes(connection, principal.organization_id)
        return pb.ListScopesResponse(
            collections=scopes.collections,
            kinds=scopes.kinds,
            documents=[messages.scope_document(entry) for entry in scopes.documents],
        )

    async def LogQuery(self, request: pb.LogQueryRequest, context: Context) -> pb.LogQueryResponse:
        async with self._gate:
            await query_log.log_query(
                self._parts.pool,
                identity.current(),
                clean_line(request.request_id, 128),
                clean_line(request.outcome, 40),
                clean(request.question).text,
                [_cleaned(json_format.MessageToDict(stage)) for stage in request.stages],
                [
                    query_log.Egress(
                        clean_line(e.provider, 100), clean_line(e.purpose, 100), e.bytes_sent
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
            capabilities=stage_pb2.Capabilities(
                service="retriever",
                version=package_version(),
                provider=embedder.provider,
                model=embedder.model,
                revision=embedder.revision,
                dim=embedder.dim,
                limits={
                    "max_file_bytes": settings.max_file_bytes,
                    "max_message_bytes": settings.max_message_bytes,
                    "max_chunks": settings.max_chunks,
                    "chunk_tokens": min(settings.chunk_tokens, embedder.max_tokens - 2),
                    "max_hits": 1000,
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
    """A stage's report as JSON that PostgreSQL takes: it refuses the escape of NUL."""
    return {
        key: clean_line(value) if isinstance(value, str) else value for key, value in report.items()
    }


async def _spoken(
    requests: AsyncIterator[pb.IngestDocumentRequest], silence_s: float
) -> AsyncIterator[pb.IngestDocumentRequest]:
    """The messages of a sender. Aborted when it says nothing for so long: its place is for others."""
    while True:
        try:
            async with asyncio.timeout(silence_s):
                request = await anext(requests)
        except StopAsyncIteration:
            return
        except TimeoutError:
            raise Aborted(
                f"nothing was sent for {silence_s:g} s; send the file again",
                reason="SENDER_SILENT",
            ) from None
        yield request


def upload_from(
    header: pb.IngestHeader,
    digest: str,
    size: int,
    settings: RetrieverSettings,
    embedder: Embedder,
) -> Upload:
    """The header, cleaned. InvalidArgument if nothing is left of the name."""
    file_name = clean_line(header.file_name, 1024)
    if not file_name:
        raise InvalidArgument.field("file_name", "has no visible character")
    kind, title = clean_line(header.kind, 100), clean_line(header.title)
    published_on = messages.day(header.published_on, "published_on")
    media_type = clean_line(header.media_type, 200)
    shaping = [kind, title, header.published_on, *filter(None, [media_type])]
    return Upload(
        file_name=file_name,
        collection=clean_line(header.collection, 200),
        kind=kind,
        title=title,
        published_on=published_on,
        sha256=digest,
        size_bytes=size,
        media_type=media_type,
        rooftop_id=header.rooftop_id or None,
        request_id=clean_line(header.request_id, 128),
        recipe=recipe(shaping, settings, embedder, ocr=header.ocr),
    )

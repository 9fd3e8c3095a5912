"""One method per RPC of the public API: who may, then the work, elsewhere."""

from collections.abc import AsyncIterator
from typing import Any

import grpc

from folio.gateway.v1 import gateway_pb2, gateway_pb2_grpc
from services.gateway import documents
from services.gateway.admission import Admission
from services.gateway.clients import Clients
from services.gateway.ingest import ingest
from services.gateway.query import Query
from services.gateway.settings import GatewaySettings
from services.gateway.status import get_status
from services.rpc import identity

Context = grpc.aio.ServicerContext[Any, Any]


class GatewayServicer(gateway_pb2_grpc.GatewayServiceServicer):
    """The public API."""

    def __init__(self, settings: GatewaySettings, clients: Clients) -> None:
        self._clients = clients
        self._query = Query(settings, clients)
        self._admission = Admission(
            settings.max_concurrency, settings.max_queue, settings.max_calls_per_organization
        )

    async def Ask(
        self, request: gateway_pb2.AskRequest, context: Context
    ) -> gateway_pb2.AskResponse:
        identity.current().require("read")
        async with self._admission.place():
            return await self._query.ask(request)

    async def StreamAsk(
        self, request: gateway_pb2.StreamAskRequest, context: Context
    ) -> AsyncIterator[gateway_pb2.StreamAskResponse]:
        identity.current().require("read")
        async with self._admission.place():
            async for event in self._query.events(
                request.request, show_progress=request.show_unverified_progress
            ):
                yield event

    async def Search(
        self, request: gateway_pb2.SearchRequest, context: Context
    ) -> gateway_pb2.SearchResponse:
        identity.current().require("read")
        async with self._admission.place():
            return await self._query.search(request)

    async def Ingest(
        self, request_iterator: AsyncIterator[gateway_pb2.IngestRequest], context: Context
    ) -> AsyncIterator[gateway_pb2.IngestResponse]:
        identity.current().require("write")
        async with self._admission.place():
            async for event in ingest(self._clients, request_iterator):
                yield event

    async def ListDocuments(
        self, request: gateway_pb2.ListDocumentsRequest, context: Context
    ) -> gateway_pb2.ListDocumentsResponse:
        identity.current().require("read")
        return await documents.list_documents(self._clients.retriever, request)

    async def GetDocument(
        self, request: gateway_pb2.GetDocumentRequest, context: Context
    ) -> gateway_pb2.GetDocumentResponse:
        identity.current().require("read")
        return await documents.get_document(self._clients.retriever, request)

    async def DeleteDocument(
        self, request: gateway_pb2.DeleteDocumentRequest, context: Context
    ) -> gateway_pb2.DeleteDocumentResponse:
        identity.current().require("write")
        return await documents.delete_document(self._clients.retriever, request)

    async def GetPageImage(
        self, request: gateway_pb2.GetPageImageRequest, context: Context
    ) -> gateway_pb2.GetPageImageResponse:
        identity.current().require("read")
        return await documents.page_image(self._clients.retriever, request)

    async def GetStatus(
        self, request: gateway_pb2.GetStatusRequest, context: Context
    ) -> gateway_pb2.GetStatusResponse:
        identity.current().require("read")
        return await get_status(self._clients)

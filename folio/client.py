"""Clients of the gateway, sync and asyncio. Both open one channel; use them as context managers, or close() them."""

from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, TypeVar, Unpack

import grpc

from folio import failure, messages
from folio.common.v1 import document_pb2
from folio.gateway.v1 import gateway_pb2, gateway_pb2_grpc

# Every call has a deadline. Reading is quick; an answer by a remote model is not; a large file even less so.
READ_S = 30.0
ASK_S = 120.0
INGEST_S = 1800.0

OPTIONS: list[tuple[str, int]] = [
    ("grpc.max_receive_message_length", 64 * 2**20),
    ("grpc.max_send_message_length", 64 * 2**20),
    ("grpc.keepalive_time_ms", 30_000),
    ("grpc.keepalive_timeout_ms", 20_000),
    # A new client connects anew: a shared connection may be waiting out the failures of another client.
    ("grpc.use_local_subchannel_pool", 1),
]


Request = TypeVar("Request")
Reply = TypeVar("Reply")
Event = TypeVar("Event", covariant=True)


class _Events(Protocol[Event]):
    """A running call that streams its replies, as grpc gives it."""

    def __iter__(self) -> Iterator[Event]: ...
    def cancel(self) -> object: ...


class _AsyncEvents(Protocol[Event]):
    """The same as grpc.aio gives it."""

    def __aiter__(self) -> AsyncIterator[Event]: ...
    def cancel(self) -> object: ...


def _metadata(api_key: str) -> tuple[tuple[str, str], ...]:
    if not (api_key.isascii() and api_key.isprintable()):
        raise ValueError("the API key contains a character that keys do not have")
    return (("authorization", f"Bearer {api_key}"),)


def _options(address: str) -> list[tuple[str, int]]:
    """OPTIONS; a server on this machine is not reached through the environment's HTTP proxy."""
    host = address.rpartition(":")[0].strip("[]")
    here = host in ("localhost", "::1") or host.startswith("127.")
    return [*OPTIONS, ("grpc.enable_http_proxy", 0)] if here else OPTIONS


def _credentials(ca_certificate: bytes | None) -> grpc.ChannelCredentials:
    return grpc.ssl_channel_credentials(ca_certificate)


class Folio:
    """The sync client.

    `address` is host:port; `api_key` an API key or a JWT. With `tls`, the server is checked against the system's
    authorities or `ca_certificate` (PEM). ValueError for what cannot be a key. Every method raises CallFailed if the
    call does not end with OK.
    """

    def __init__(
        self, address: str, api_key: str, *, tls: bool = False, ca_certificate: bytes | None = None
    ) -> None:
        self._metadata = _metadata(api_key)
        self._channel = (
            grpc.secure_channel(address, _credentials(ca_certificate), options=_options(address))
            if tls or ca_certificate
            else grpc.insecure_channel(address, options=_options(address))
        )
        self._stub = gateway_pb2_grpc.GatewayServiceStub(self._channel)

    def close(self) -> None:
        self._channel.close()

    def __enter__(self) -> "Folio":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _unary(
        self,
        call: "grpc.UnaryUnaryMultiCallable[Request, Reply]",
        request: Request,
        timeout: float = READ_S,
    ) -> Reply:
        try:
            return call(request, timeout=timeout, metadata=self._metadata)
        except grpc.RpcError as error:
            raise failure.read(error) from None

    def _stream(self, start: Callable[[], _Events[Reply]]) -> Iterator[Reply]:
        call = start()
        try:
            yield from call
        except grpc.RpcError as error:
            raise failure.read(error) from None
        finally:
            call.cancel()

    def ask(
        self, question: str, *, timeout: float = ASK_S, **options: Unpack[messages.AskOptions]
    ) -> gateway_pb2.AskResponse:
        """One answer, with its proofs, or why there is none. Options: see folio.messages.ask_request."""
        return self._unary(self._stub.Ask, messages.ask_request(question, **options), timeout)

    def stream_ask(
        self,
        question: str,
        *,
        show_unverified_progress: bool = False,
        timeout: float = ASK_S,
        **options: Unpack[messages.AskOptions],
    ) -> Iterator[gateway_pb2.StreamAskResponse]:
        """The same as events; the last holds what ask() returns."""
        request = gateway_pb2.StreamAskRequest(
            request=messages.ask_request(question, **options),
            show_unverified_progress=show_unverified_progress,
        )
        return self._stream(
            lambda: self._stub.StreamAsk(request, timeout=timeout, metadata=self._metadata)
        )

    def search(
        self, query: str, *, timeout: float = READ_S, **options: Unpack[messages.SearchOptions]
    ) -> gateway_pb2.SearchResponse:
        """Ranked chunks. Options: see folio.messages.search_request."""
        return self._unary(self._stub.Search, messages.search_request(query, **options), timeout)

    def ingest(
        self,
        file: Path | bytes,
        file_name: str = "",
        *,
        timeout: float = INGEST_S,
        **options: Unpack[messages.IngestOptions],
    ) -> Iterator[gateway_pb2.IngestResponse]:
        """Sends one file; progress, then the result. Options: see folio.messages.ingest_requests."""
        data, name = messages.read_file(file, file_name)
        requests = messages.ingest_requests(data, name, **options)
        return self._stream(
            lambda: self._stub.Ingest(requests, timeout=timeout, metadata=self._metadata)
        )

    def documents(
        self, filter: document_pb2.Filter | None = None, *, page_size: int = 100
    ) -> Iterator[document_pb2.Document]:
        """All documents that the caller may see, page by page."""
        token = ""
        while True:
            page = self._unary(
                self._stub.ListDocuments,
                gateway_pb2.ListDocumentsRequest(
                    page_size=page_size, page_token=token, filter=filter
                ),
            )
            yield from page.documents
            token = page.next_page_token
            if not token:
                return

    def document(self, document_id: int) -> document_pb2.Document:
        """One document; NOT_FOUND if there is none, or it is another organization's."""
        request = gateway_pb2.GetDocumentRequest(document_id=document_id)
        return self._unary(self._stub.GetDocument, request).document

    def delete(self, document_id: int) -> int:
        """Deletes a document with all that was derived from it; returns the number of chunks that went."""
        request = gateway_pb2.DeleteDocumentRequest(document_id=document_id)
        return self._unary(self._stub.DeleteDocument, request).chunks_deleted

    def page_image(
        self, document_id: int, page: int, *, dpi: int = 0, highlight: tuple[int, int] = (0, 0)
    ) -> gateway_pb2.GetPageImageResponse:
        """A page (0-based) as PNG; `highlight` are characters of the document's text, as in a Citation."""
        request = gateway_pb2.GetPageImageRequest(
            document_id=document_id,
            page=page,
            dpi=dpi,
            highlight_start=highlight[0],
            highlight_end=highlight[1],
        )
        return self._unary(self._stub.GetPageImage, request)

    def status(self) -> gateway_pb2.GetStatusResponse:
        """Shows every service: whether it can be reached, and what it runs."""
        return self._unary(self._stub.GetStatus, gateway_pb2.GetStatusRequest())


class AsyncFolio:
    """The asyncio client: the methods of Folio as coroutines and asynchronous iterators. Make it in a running loop.

    A wrong keyword is a TypeError at the call, not only where its result is awaited.
    """

    def __init__(
        self, address: str, api_key: str, *, tls: bool = False, ca_certificate: bytes | None = None
    ) -> None:
        self._metadata = _metadata(api_key)
        self._channel = (
            grpc.aio.secure_channel(
                address, _credentials(ca_certificate), options=_options(address)
            )
            if tls or ca_certificate
            else grpc.aio.insecure_channel(address, options=_options(address))
        )
        self._stub = gateway_pb2_grpc.GatewayServiceStub(self._channel)

    async def close(self) -> None:
        await self._channel.close()

    async def __aenter__(self) -> "AsyncFolio":
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def _unary(
        self,
        call: "grpc.aio.UnaryUnaryMultiCallable[Request, Reply]",
        request: Request,
        timeout: float = READ_S,
    ) -> Reply:
        try:
            return await call(request, timeout=timeout, metadata=self._metadata)
        except grpc.RpcError as error:
            raise failure.read(error) from None

    async def _stream(self, start: Callable[[], _AsyncEvents[Reply]]) -> AsyncIterator[Reply]:
        call = start()
        try:
            async for message in call:
                yield message
        except grpc.aio.AioRpcError as error:
            raise failure.read(await failure.settled(call, error)) from None
        finally:
            call.cancel()

    def ask(
        self, question: str, *, timeout: float = ASK_S, **options: Unpack[messages.AskOptions]
    ) -> Coroutine[Any, Any, gateway_pb2.AskResponse]:
        """See Folio.ask."""
        return self._unary(self._stub.Ask, messages.ask_request(question, **options), timeout)

    def stream_ask(
        self,
        question: str,
        *,
        show_unverified_progress: bool = False,
        timeout: float = ASK_S,
        **options: Unpack[messages.AskOptions],
    ) -> AsyncIterator[gateway_pb2.StreamAskResponse]:
        """See Folio.stream_ask."""
        request = gateway_pb2.StreamAskRequest(
            request=messages.ask_request(question, **options),
            show_unverified_progress=show_unverified_progress,
        )
        return self._stream(
            lambda: self._stub.StreamAsk(request, timeout=timeout, metadata=self._metadata)
        )

    def search(
        self, query: str, *, timeout: float = READ_S, **options: Unpack[messages.SearchOptions]
    ) -> Coroutine[Any, Any, gateway_pb2.SearchResponse]:
        """See Folio.search."""
        return self._unary(self._stub.Search, messages.search_request(query, **options), timeout)

    def ingest(
        self,
        file: Path | bytes,
        file_name: str = "",
        *,
        timeout: float = INGEST_S,
        **options: Unpack[messages.IngestOptions],
    ) -> AsyncIterator[gateway_pb2.IngestResponse]:
        """See Folio.ingest."""
        data, name = messages.read_file(file, file_name)
        requests = messages.ingest_requests(data, name, **options)
        return self._stream(
            lambda: self._stub.Ingest(requests, timeout=timeout, metadata=self._metadata)
        )

    async def documents(
        self, filter: document_pb2.Filter | None = None, *, page_size: int = 100
    ) -> AsyncIterator[document_pb2.Document]:
        """See Folio.documents."""
        token = ""
        while True:
            page = await self._unary(
                self._stub.ListDocuments,
                gateway_pb2.ListDocumentsRequest(
                    page_size=page_size, page_token=token, filter=filter
                ),
            )
            for document in page.documents:
                yield document
            token = page.next_page_token
            if not token:
                return

    async def document(self, document_id: int) -> document_pb2.Document:
        """See Folio.document."""
        request = gateway_pb2.GetDocumentRequest(document_id=document_id)
        return (await self._unary(self._stub.GetDocument, request)).document

    async def delete(self, document_id: int) -> int:
        """See Folio.delete."""
        request = gateway_pb2.DeleteDocumentRequest(document_id=document_id)
        return (await self._unary(self._stub.DeleteDocument, request)).chunks_deleted

    async def page_image(
        self, document_id: int, page: int, *, dpi: int = 0, highlight: tuple[int, int] = (0, 0)
    ) -> gateway_pb2.GetPageImageResponse:
        """See Folio.page_image."""
        request = gateway_pb2.GetPageImageRequest(
            document_id=document_id,
            page=page,
            dpi=dpi,
            highlight_start=highlight[0],
            highlight_end=highlight[1],
        )
        return await self._unary(self._stub.GetPageImage, request)

    async def status(self) -> gateway_pb2.GetStatusResponse:
        """See Folio.status."""
        return await self._unary(self._stub.GetStatus, gateway_pb2.GetStatusRequest())

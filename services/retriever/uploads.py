"""A file on its way in: receives it, gives it one of few places, and runs the ingest, saying how far it is."""

import asyncio
import contextlib
import hashlib
import json
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from weakref import WeakValueDictionary

from folio.common.v1 import step_pb2
from folio.retriever.v1 import retriever_pb2 as pb
from services.postgres.pool import TenantPool
from services.retriever.embedders import Embedder
from services.retriever.ingest import embedding_cache
from services.retriever.ingest.claims import Upload
from services.retriever.ingest.pipeline import Ingest, Ingested, Options, Progress
from services.retriever.parsing import ParserPool, parser, tesseract
from services.retriever.parsing.text import clean_line
from services.retriever.settings import RetrieverSettings
from services.rpc import identity
from services.rpc.errors import Aborted, FolioError, InvalidArgument, ResourceExhausted
from services.rpc.fields import day
from services.rpc.limits import Gate

Requests = AsyncIterator[pb.IngestDocumentRequest]

# How long what a refused sender still sends is read, and forgotten.
DRAIN_S = 5.0


class Uploads:
    """Takes files in, at most `max_ingests` at once: each is held in memory."""

    def __init__(
        self,
        settings: RetrieverSettings,
        pool: TenantPool,
        parser: ParserPool,
        embedder: Embedder,
        column: str,
    ) -> None:
        self._settings, self._pool, self._parser = settings, pool, parser
        self._embedder, self._column = embedder, column
        self._places = Gate(settings.max_ingests, settings.max_queue)
        # By organization; a gate is there while somebody holds or awaits a place.
        self._own_places: WeakValueDictionary[int, Gate] = WeakValueDictionary()

    async def take(self, requests: Requests) -> AsyncGenerator[Progress | Ingested]:
        """Receives one file and stages it: Progress as it goes, Ingested at the end. Closing it stops the work."""
        async with self._place():
            header, data = await self._receive(requests)
            yield Progress(step_pb2.STEP_RECEIVE, len(data), len(data))
            events: asyncio.Queue[Progress] = asyncio.Queue()
            work = asyncio.create_task(self._ingest(header, data, events))
            waiting = asyncio.create_task(events.get())
            try:
                while not work.done() or not events.empty():
                    await asyncio.wait({waiting, work}, return_when=asyncio.FIRST_COMPLETED)
                    if waiting.done():
                        yield waiting.result()
                        waiting = asyncio.create_task(events.get())
                yield await work
            finally:
                waiting.cancel()
                work.cancel()
                await asyncio.wait({waiting, work})

    def waiting(self, organization_id: int) -> int:
        """How many files of an organization wait for a place."""
        gate = self._own_places.get(organization_id)
        return gate.waiting if gate else 0

    @contextlib.asynccontextmanager
    async def _place(self) -> AsyncIterator[None]:
        """A place for an ingest. An organization has at most half of them: slow senders keep no other one waiting."""
        own = self._own_places.setdefault(
            identity.current().organization_id,
            Gate(max(1, self._settings.max_ingests // 2), self._settings.max_queue),
        )
        async with own, self._places:
            yield

    async def _receive(self, requests: Requests) -> tuple[pb.IngestHeader, bytes]:
        messages = _not_silent(requests, self._settings.sender_silence_seconds)
        try:
            return await self._read(messages)
        except (InvalidArgument, ResourceExhausted):
            # gRPC loses the status where the sender's next write fails first: let it come to its end, within reason.
            with contextlib.suppress(TimeoutError, FolioError):
                async with asyncio.timeout(DRAIN_S):
                    async for _ in messages:
                        pass
            raise

    async def _read(self, messages: Requests) -> tuple[pb.IngestHeader, bytes]:
        header: pb.IngestHeader | None = None
        data = bytearray()
        most = self._settings.max_file_bytes
        async for request in messages:
            if request.WhichOneof("part") == "header":
                if header is not None:
                    raise InvalidArgument.field(
                        "header", "must be sent only once, as the first message"
                    )
                header = request.header
                if header.size_bytes > most:
                    raise _too_large(most)
            elif header is None:
                raise InvalidArgument.field("header", "must be the first message")
            else:
                data += request.data
                if len(data) > most:
                    raise _too_large(most)
        if header is None:
            raise InvalidArgument.field("header", "must be the first message")
        return header, bytes(data)

    async def _ingest(
        self, header: pb.IngestHeader, data: bytes, events: asyncio.Queue[Progress]
    ) -> Ingested:
        digest = await asyncio.to_thread(
            checked, data, header.sha256, header.size_bytes, self._settings.max_file_bytes
        )
        upload = upload_from(header, digest, len(data), self._settings, self._embedder)
        work = Ingest(
            self._pool,
            self._parser,
            self._embedder,
            self._column,
            self._settings,
            identity.current(),
            events.put_nowait,
        )
        return await work.run(
            upload, data, Options(header.password, _ocr(self._settings, header.ocr))
        )


async def _not_silent(requests: Requests, silence_s: float) -> Requests:
    """The messages of a sender. Aborted when it sends nothing for so long: its place is for others."""
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


def checked(data: bytes, sha256: str, size: int, most: int) -> str:
    """The SHA-256 of the bytes. InvalidArgument if there are none, or not the ones that the header announced."""
    if not data:
        raise InvalidArgument("the file is empty", reason="EMPTY_FILE")
    if len(data) > most:
        raise _too_large(most)
    if size and size != len(data):
        raise InvalidArgument.field(
            "size_bytes", f"says {size} bytes, but {len(data)} were received"
        )
    digest = hashlib.sha256(data).hexdigest()
    if sha256 and sha256 != digest:
        raise InvalidArgument.field(
            "sha256", "does not match the bytes received; send the file again"
        )
    return digest


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
        raise InvalidArgument.field("file_name", "contains no visible characters")
    kind, title = clean_line(header.kind, 100), clean_line(header.title)
    published_on = day(header.published_on, "published_on")
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
        recipe=_recipe(shaping, settings, embedder, ocr=_ocr(settings, header.ocr)),
    )


def _ocr(settings: RetrieverSettings, requested: bool) -> bool:
    """Whether the scanned pages of a file are read. Who asks for it where it is not installed is told so."""
    match settings.ocr:
        case "auto":
            return requested or tesseract.installed(settings.ocr_languages)
        case "request":
            return requested
        case _:
            return False


def _recipe(
    upload: Sequence[str], settings: RetrieverSettings, embedder: Embedder, *, ocr: bool
) -> str:
    """A hash of all that shapes a version beside the bytes: the upload's words, chunks, vector space, parser."""
    parts = [
        *upload,
        settings.chunk_tokens,
        settings.chunk_overlap,
        settings.chunk_snap,
        embedding_cache.space(embedder),
        settings.ocr_languages if ocr else "",
        parser.VERSION,
    ]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def _too_large(most: int) -> ResourceExhausted:
    return ResourceExhausted(
        f"the file has more than the {most:,} bytes allowed: split it", reason="TOO_LARGE"
    )

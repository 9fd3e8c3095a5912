"""The parsers of a service: a few disposable processes, each with one file at a time.

A process that crashes, runs out of its limits or is left by its caller is killed, and a fresh one takes the next
file. Processes are started, never forked: the service has threads and gRPC in it.
"""

import asyncio
import json
import os
import signal
import sys
import time
from bisect import bisect_left
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, astuple, dataclass, replace

from folio.formats import PICTURES
from services.retriever.documents import Box, ParsedDocument
from services.retriever.parsing import media, tesseract, wire
from services.retriever.parsing.limits import ParseLimits
from services.retriever.parsing.wire import Quote
from services.rpc.errors import (
    FailedPrecondition,
    FolioError,
    InvalidArgument,
    ResourceExhausted,
    Unavailable,
)
from services.rpc.limits import Gate

Tell = Callable[[int, int], None]

_MAX_ANSWER = 2**31
_MAX_SPANS = 1_000
# A page that ends the process is skipped at the next try; each try reads the file anew.
_MAX_SKIPPED = 3
_ONE_PAGE = frozenset({"PARSE_TIMEOUT", "PARSE_CPU", "PARSE_MEMORY", "PARSER_CRASHED"})


def _unheard(page: int) -> None:
    """For calls whose pages nobody counts."""


@dataclass
class _Process:
    child: asyncio.subprocess.Process
    files: int = 0
    page: int | None = None
    """The page that it reads now, from 0."""


class _Stopped(Exception):
    """A call that failed, and the page at which it did."""

    def __init__(self, error: FolioError, page: int | None) -> None:
        self.error, self.page = error, page


@dataclass(frozen=True)
class ParserStats:
    """Since the start: processes started, calls answered, processes killed; processor time of the calls; the largest
    memory of a process, in bytes."""

    started: int = 0
    calls: int = 0
    killed: int = 0
    peak_memory: int = 0
    cpu_s: float = 0.0


class ParserPool:
    """Reads files in worker processes, `limits.workers` at a time.

    All methods raise ResourceExhausted when the queue is full, and for a file past a limit (reason PARSE_TIMEOUT,
    PARSE_MEMORY, PARSE_CPU, TOO_LARGE, TOO_MANY_PAGES, TOO_MANY_PIXELS, TOO_MUCH_TEXT); InvalidArgument for a file
    that cannot be read (EMPTY_FILE, UNSUPPORTED_TYPE, NOT_A_PDF, BROKEN_FILE, BROKEN_PDF, NO_PAGES, PARSER_CRASHED,
    PARSE_FAILED, or the field `password`); FailedPrecondition for one that needs something else first
    (PASSWORD_REQUIRED, UNSUPPORTED_ENCRYPTION, OCR_UNAVAILABLE).
    """

    def __init__(self, limits: ParseLimits | None = None, ocr_languages: str = "eng") -> None:
        self._limits = limits or ParseLimits()
        self._ocr_languages = ocr_languages
        self._gate = Gate(self._limits.workers, self._limits.queue)
        # Scans take minutes: they wait for each other, and no other file waits for them.
        self._ocr_gate = Gate(1, self._limits.queue)
        self._idle: list[_Process] = []
        self._closed = False
        self.stats = ParserStats()

    async def start(self) -> None:
        """Starts the processes, so that the first file does not wait for one."""
        self._closed = False
        for _ in range(self._limits.workers - len(self._idle)):
            self._idle.append(await self._spawn())

    async def close(self) -> None:
        """Ends the idle processes; those at work end with their call."""
        self._closed = True
        while self._idle:
            await _kill(self._idle.pop())

    async def parse(
        self,
        data: bytes,
        *,
        file_name: str,
        media_type: str = "",
        password: str = "",
        title: str = "",
        ocr: bool = False,
        tell: Tell = lambda done, total: None,
    ) -> ParsedDocument:
        """A file as pages, sections and text. Its type is told from its bytes; the name is a hint.

        The title is the one given, else the file's own, else the file name without its ending. A scan comes back with
        every page in `empty_pages`, or, with `ocr`, with what OCR reads on them, once it has been read without: who
        reads other files waits for no scan. A file that crashes the parser
        is tried once more, without its page labels and bookmarks; then, or where a page is past a limit, without
        that page, up to three of them. `tell` hears how many pages of how many OCR has read; it must not wait.
        """
        self._check_size(data)
        kind = media.media_type(data, file_name, media_type)  # A wrong type needs no process.
        if kind in PICTURES and not ocr:
            tesseract.check(self._ocr_languages)
            raise FailedPrecondition(
                "a picture is read by OCR: ask for it when you send the file, unless FOLIO_OCR is off",
                reason="OCR_UNAVAILABLE",
            )
        request = {
            "call": "parse",
            "file_name": file_name,
            "media_type": media_type,
            "password": password,
            "title": title,
            "ocr_pages": [],
            "ocr_languages": self._ocr_languages,
            "careful": False,
        }
        skip: list[int] = []
        document = await self._read(request, data, self._limits, self._gate, skip)
        if ocr and document.scans:
            limits = self._limits.with_ocr()
            request |= {"ocr_pages": document.scans, "cpu_s": limits.cpu_s}
            pages = document.scans
            document = await self._read(
                request,
                data,
                limits,
                self._ocr_gate,
                skip,
                lambda page: tell(bisect_left(pages, page), len(pages)),
            )
        return document

    async def _read(
        self,
        request: wire.Message,
        data: bytes,
        limits: ParseLimits,
        gate: Gate,
        skip: list[int],
        on_page: Callable[[int], None] = _unheard,
    ) -> ParsedDocument:
        """`skip`: pages that are left out; those that stop this reading are added."""
        end = time.monotonic() + limits.wall_s
        last: FolioError | None = None
        while True:
            left = replace(limits, wall_s=max(0.0, end - time.monotonic()))
            try:
                message, blob = await self._try(request | {"skip": skip}, data, left, gate, on_page)
            except _Stopped as stopped:
                reason, page = stopped.error.reason, stopped.page
                if reason == "PARSER_CRASHED" and not request["careful"]:
                    request = request | {"careful": True}
                elif (
                    reason in _ONE_PAGE
                    and page is not None
                    and page not in skip
                    and len(skip) < _MAX_SKIPPED
                    and time.monotonic() < end
                ):
                    skip.append(page)
                    last = stopped.error
                else:
                    raise stopped.error from None
            else:
                document = wire.received_document(message["document"], blob)
                if last is not None and document.is_scan:
                    raise last  # What is left holds no text: what was not read is all of the file.
                return document

    async def locate(self, data: bytes, quotes: Sequence[Quote]) -> list[list[Box]]:
        """For each quote one box per line of its words; none where they are not on its page, or there is no geometry.

        Reads these pages of the PDF again: for documents whose boxes were not kept. `data` is the PDF,
        or the one that an earlier version stored for a scan.
        """
        self._check_size(data)
        if len(quotes) > _MAX_SPANS:
            raise InvalidArgument.field("spans", f"at most {_MAX_SPANS}, got {len(quotes)}")
        if media.pdf_header(data) < 0:
            return [[] for _ in quotes]
        request = {"call": "locate", "quotes": [list(astuple(quote)) for quote in quotes]}
        message, _ = await self._call(request, data)
        return [wire.received_boxes(boxes) for boxes in message["boxes"]]

    async def render(
        self, data: bytes, page: int, dpi: int, highlights: Sequence[Box] = (), password: str = ""
    ) -> tuple[bytes, int, int]:
        """A page as PNG with boxes highlighted, its width and height in pixels. `page` is physical, from 0."""
        self._check_size(data)
        if media.pdf_header(data) < 0 and not media.is_picture(data):
            raise InvalidArgument(
                "only PDF and pictures have pages that can be drawn", reason="NOT_A_PDF"
            )
        request = {
            "call": "render",
            "page": page,
            "dpi": dpi,
            "highlights": wire.box_values(highlights),
            "password": password,
        }
        message, png = await self._call(request, data)
        return png, message["width"], message["height"]

    def _check_size(self, data: bytes) -> None:
        if len(data) > self._limits.max_bytes:
            raise ResourceExhausted(
                f"the file has {len(data):,} bytes, more than the {self._limits.max_bytes:,} allowed: split it",
                reason="TOO_LARGE",
            )

    async def _call(self, request: wire.Message, data: bytes) -> tuple[wire.Message, bytes]:
        try:
            return await self._try(request, data, self._limits, self._gate)
        except _Stopped as stopped:
            raise stopped.error from None

    async def _try(
        self,
        request: wire.Message,
        data: bytes,
        limits: ParseLimits,
        gate: Gate,
        on_page: Callable[[int], None] = _unheard,
    ) -> tuple[wire.Message, bytes]:
        """One try by one process. Raises _Stopped."""
        async with gate:
            process = await self._take()
            try:
                message, blob = await _exchange(process, request, data, limits, on_page)
            except BaseException as error:
                # Timed out, crashed, or cancelled half-way: nobody knows what it would say next.
                self._count(killed=1)
                await asyncio.shield(_kill(process))
                if isinstance(error, FolioError):
                    raise _Stopped(error, process.page) from None
                raise
            self._count(
                calls=1,
                peak_memory=message.get("peak_memory", 0),
                cpu_s=message.get("cpu_s", 0.0),
            )
            process.files += 1
            spent = process.files >= self._limits.recycle_after
            if self._closed or spent or message.get("reason") == "PARSE_MEMORY":
                await _kill(process)
            else:
                self._idle.append(process)
        if "error" in message:
            raise _Stopped(wire.received_error(message), process.page)
        return message, blob

    async def _take(self) -> _Process:
        while self._idle:
            process = self._idle.pop()
            if process.child.returncode is None:
                return process
        return await self._spawn()

    async def _spawn(self) -> _Process:
        environment = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        try:
            child = await asyncio.create_subprocess_exec(
                sys.executable,
                "-P",
                "-m",
                "services.retriever.parsing.worker",
                json.dumps(asdict(self._limits)),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                env=environment,
                start_new_session=True,
            )
        except OSError as error:
            raise Unavailable(f"no parser process could be started: {error.strerror}") from error
        self._count(started=1)
        return _Process(child)

    def _count(
        self,
        started: int = 0,
        calls: int = 0,
        killed: int = 0,
        peak_memory: int = 0,
        cpu_s: float = 0.0,
    ) -> None:
        self.stats = ParserStats(
            self.stats.started + started,
            self.stats.calls + calls,
            self.stats.killed + killed,
            max(self.stats.peak_memory, peak_memory),
            self.stats.cpu_s + cpu_s,
        )


async def _exchange(
    process: _Process,
    request: wire.Message,
    data: bytes,
    limits: ParseLimits,
    on_page: Callable[[int], None],
) -> tuple[wire.Message, bytes]:
    end = time.monotonic() + limits.wall_s
    process.page = None
    try:
        async with asyncio.timeout(limits.wall_s):
            # A process that has no memory for the file says so and ends, with half of it in the pipe.
            with suppress(ConnectionError):
                await _send(process, wire.frame(request, data))
        while True:
            left = min(
                end - time.monotonic(), limits.page_s if process.page is not None else limits.wall_s
            )
            async with asyncio.timeout(max(0.0, left)):
                message, blob = await _receive(process)
            if "page" not in message:
                return message, blob
            process.page = message["page"]
            on_page(message["page"])
    except TimeoutError:
        where = f" at page {process.page + 1}" if process.page is not None else ""
        raise ResourceExhausted(
            f"reading the file took too long and was stopped{where}: at most {limits.page_s:.0f} s for a page and"
            f" {limits.wall_s:.0f} s for a file",
            reason="PARSE_TIMEOUT",
        ) from None
    except (asyncio.IncompleteReadError, ConnectionError):
        raise _death(await process.child.wait(), process.page, limits) from None


async def _send(process: _Process, frame: bytes) -> None:
    assert process.child.stdin is not None
    process.child.stdin.write(frame)
    await process.child.stdin.drain()


async def _receive(process: _Process) -> tuple[wire.Message, bytes]:
    stream = process.child.stdout
    assert stream is not None
    text_length, blob_length = wire.HEAD.unpack(await stream.readexactly(wire.HEAD.size))
    if text_length + blob_length > _MAX_ANSWER:
        raise ConnectionError("an answer of this length is none")
    message: wire.Message = json.loads(await stream.readexactly(text_length))
    return message, await stream.readexactly(blob_length)


def _death(code: int, page: int | None, limits: ParseLimits) -> FolioError:
    where = f" at page {page + 1}" if page is not None else ""
    if code == -signal.SIGXCPU:
        return ResourceExhausted(
            f"reading the file took more than {limits.cpu_s} s of processor time{where}",
            reason="PARSE_CPU",
        )
    if code == -signal.SIGABRT:
        # What pdfium does when it gets no memory.
        return ResourceExhausted(
            f"reading the file took more than {limits.memory_bytes // 2**20} MiB of memory{where}: split it",
            reason="PARSE_MEMORY",
        )
    return InvalidArgument(
        f"the parser crashed on this file{where} (exit {code}): it is damaged; open it in a viewer and save it again",
        reason="PARSER_CRASHED",
    )


async def _kill(process: _Process) -> None:
    # The process leads a group of its own, so what OCR started dies with it.
    with suppress(ProcessLookupError):
        os.killpg(process.child.pid, signal.SIGKILL)
    if process.child.stdin is not None:
        process.child.stdin.close()
    await process.child.wait()

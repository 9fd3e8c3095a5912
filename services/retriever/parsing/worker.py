"""The disposable process that reads files: `python -m services.retriever.parsing.worker`.

It is started with an empty environment, takes requests on standard input and answers on standard output (see
wire.py), under limits on memory, processor time and written files. What kills it costs one file.
"""

import json
import os
import resource
import sys
import time
from collections.abc import Mapping
from pathlib import Path, PurePath
from typing import BinaryIO

from folio.formats import MediaType
from services.retriever.parsing import csv, eml, epub, html, markdown, media, plain, wire
from services.retriever.parsing.limits import ParseLimits
from services.retriever.parsing.office import docx, pptx, xlsx
from services.retriever.parsing.parser import Hints, Parser
from services.retriever.parsing.pdf import locate, pages, render
from services.retriever.parsing.text import clean_line
from services.rpc.errors import FolioError, Internal, InvalidArgument, ResourceExhausted

Answer = tuple[wire.Message, bytes]

PARSERS: Mapping[MediaType, Parser] = {
    MediaType.PDF: pages.parse,
    MediaType.MARKDOWN: markdown.parse,
    MediaType.HTML: html.parse,
    MediaType.TEXT: plain.parse,
    MediaType.DOCX: docx.parse,
    MediaType.PPTX: pptx.parse,
    MediaType.XLSX: xlsx.parse,
    MediaType.CSV: csv.parse,
    MediaType.TSV: csv.parse,
    MediaType.EML: eml.parse,
    MediaType.EPUB: epub.parse,
    MediaType.PNG: pages.parse,
    MediaType.JPEG: pages.parse,
    MediaType.TIFF: pages.parse,
}


class _Worker:
    def __init__(self, limits: ParseLimits, out: BinaryIO) -> None:
        self._limits = limits
        self._out = out

    def answer(self, request: wire.Message, data: bytes) -> Answer:
        """Does one request. Every failure that Python can catch is an answer too."""
        try:
            match request["call"]:
                case "parse":
                    return self._parse(request, data)
                case "locate":
                    return self._locate(request, data)
                case "render":
                    return self._render(request, data)
                case _:
                    raise Internal("unknown request to the parser")
        except FolioError as error:
            return wire.error_message(error), b""
        except MemoryError:
            return wire.error_message(_out_of_memory(self._limits)), b""
        except RecursionError:
            deep = InvalidArgument("the file is nested too deeply", reason="TOO_DEEP")
            return wire.error_message(deep), b""
        except Exception as error:  # noqa: BLE001 - a parser's bug costs one file, and its text stays here
            kind = type(error).__name__
            failure = InvalidArgument(f"the file could not be read ({kind})", reason="PARSE_FAILED")
            return wire.error_message(failure), b""

    def _parse(self, request: wire.Message, data: bytes) -> Answer:
        hints = Hints(
            title=clean_line(request["title"]),
            stem=clean_line(PurePath(request["file_name"]).stem),
            password=request["password"],
            ocr_pages=frozenset(request["ocr_pages"]),
            ocr_languages=request["ocr_languages"],
            careful=request["careful"],
            charset=media.charset(request["media_type"]),
            skip=tuple(request["skip"]),
        )
        parse = PARSERS[media.media_type(data, request["file_name"], request["media_type"])]
        document = parse(data, hints, self._limits, self._progress)
        # What is sent of a large table takes as long as a page.
        self._progress(len(document.pages) - 1)
        if len(document.text) > self._limits.max_chars:
            raise ResourceExhausted(
                f"the file has more than {self._limits.max_chars:,} characters: split it",
                reason="TOO_MUCH_TEXT",
            )
        if len(document.pages) > self._limits.max_pages:
            raise ResourceExhausted(
                f"the file has more than {self._limits.max_pages:,} pages: split it",
                reason="TOO_MANY_PAGES",
            )
        message, blob = wire.document_answer(document)
        return {"document": message}, blob

    def _locate(self, request: wire.Message, data: bytes) -> Answer:
        found = locate.locate(data, [wire.Quote(*quote) for quote in request["quotes"]])
        return {"boxes": [wire.box_values(boxes) for boxes in found]}, b""

    def _render(self, request: wire.Message, data: bytes) -> Answer:
        png, width, height = render.render(
            data,
            request["page"],
            request["dpi"],
            wire.received_boxes(request["highlights"]),
            request["password"],
            self._limits.render_pixels,
        )
        return {"width": width, "height": height}, png

    def _progress(self, page: int) -> None:
        self._out.write(wire.frame({"page": page}))
        self._out.flush()


def main() -> None:
    """Serves requests until standard input ends or memory does. The limits are the only argument, as JSON."""
    limits = ParseLimits(**json.loads(sys.argv[1]))
    _limit(resource.RLIMIT_AS, limits.memory_bytes)
    _limit(resource.RLIMIT_FSIZE, limits.file_bytes)
    _limit(resource.RLIMIT_CORE, 0)
    # Libraries that print must not print into the frames.
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    worker = _Worker(limits, out)
    while True:
        try:
            received = wire.read(sys.stdin.buffer)
        except MemoryError:
            # Half of a file is still in the pipe: answer and end.
            out.write(wire.frame(wire.error_message(_out_of_memory(limits))))
            return
        if received is None:
            return
        _limit(resource.RLIMIT_CPU, _cpu_used() + received[0].get("cpu_s", limits.cpu_s))
        before = time.process_time()
        message, blob = worker.answer(*received)
        cost = {"peak_memory": _peak_memory(), "cpu_s": time.process_time() - before}
        out.write(wire.frame(message | cost, blob))
        out.flush()


def _limit(kind: int, value: int) -> None:
    _, hard = resource.getrlimit(kind)
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    # Processor time is raised again for every file; the other limits are for good.
    resource.setrlimit(kind, (value, hard if kind == resource.RLIMIT_CPU else value))


def _cpu_used() -> int:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return int(used.ru_utime + used.ru_stime) + 1


def _peak_memory() -> int:
    """Bytes. Linux's ru_maxrss would include the service that started this process."""
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _out_of_memory(limits: ParseLimits) -> ResourceExhausted:
    return ResourceExhausted(
        f"the file needs more than {limits.memory_bytes // 2**20} MiB of memory to read: split it",
        reason="PARSE_MEMORY",
    )


if __name__ == "__main__":
    main()

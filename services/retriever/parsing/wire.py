"""What the service and a worker process say to each other, over the worker's standard input and output.

A frame is two little-endian lengths (uint32, uint64), a JSON object and bytes. JSON and never pickle: a worker reads
hostile files, and what a captured worker sends must not run here.
"""

import json
import struct
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, BinaryIO

from folio.formats import MediaType
from services.retriever.documents import Box, Cell, Page, ParsedDocument, Section, Table
from services.rpc import errors

HEAD = struct.Struct("<IQ")
Message = dict[str, Any]

_ERRORS: dict[str, type[errors.FolioError]] = {
    kind.__name__: kind
    for kind in (
        errors.InvalidArgument,
        errors.FailedPrecondition,
        errors.ResourceExhausted,
        errors.Internal,
    )
}


def frame(message: Message, blob: bytes = b"") -> bytes:
    """One frame as bytes."""
    text = json.dumps(message, separators=(",", ":")).encode()
    return HEAD.pack(len(text), len(blob)) + text + blob


def read(stream: BinaryIO) -> tuple[Message, bytes] | None:
    """The next frame of a blocking stream; None at its end."""
    head = stream.read(HEAD.size)
    if len(head) < HEAD.size:
        return None
    text_length, blob_length = HEAD.unpack(head)
    message: Message = json.loads(stream.read(text_length))
    return message, stream.read(blob_length)


def error_message(error: errors.FolioError) -> Message:
    """An error to send."""
    violations = [[violation.field, violation.description] for violation in error.violations]
    return {
        "error": type(error).__name__,
        "message": error.message,
        "reason": error.reason,
        "violations": violations,
    }


def received_error(message: Message) -> errors.FolioError:
    """The error that was sent."""
    violations = [errors.FieldViolation(*pair) for pair in message["violations"]]
    kind = _ERRORS.get(message["error"], errors.Internal)
    return kind(message["message"], reason=message["reason"], violations=violations)


def document_message(document: ParsedDocument) -> Message:
    """A document to send, without its `text_layer`: that travels as the frame's bytes."""
    message = asdict(document)
    del message["text_layer"]
    return message


def received_document(message: Message, text_layer: bytes) -> ParsedDocument:
    """The document that was sent."""
    return ParsedDocument(
        media_type=MediaType(message["media_type"]),
        title=message["title"],
        pages=tuple(Page(**page) for page in message["pages"]),
        sections=tuple(
            Section(tuple(section["path"]), section["char_start"], section["char_end"])
            for section in message["sections"]
        ),
        empty_pages=tuple(message["empty_pages"]),
        warnings=tuple(message["warnings"]),
        metadata=message["metadata"],
        text_layer=text_layer,
        tables=tuple(_table(table) for table in message["tables"]),
    )


def _table(message: Message) -> Table:
    caption, unit = message["caption"], message["unit"]
    return Table(
        char_start=message["char_start"],
        char_end=message["char_end"],
        head_rows=message["head_rows"],
        head_columns=message["head_columns"],
        cells=tuple(Cell(**cell) for cell in message["cells"]),
        caption=(caption[0], caption[1]) if caption else None,
        unit=(unit[0], unit[1]) if unit else None,
    )


def box_values(boxes: Sequence[Box]) -> list[list[float]]:
    """Boxes to send: left, top, right, bottom."""
    return [[box.left, box.top, box.right, box.bottom] for box in boxes]


def received_boxes(values: Sequence[Sequence[float]]) -> list[Box]:
    """The boxes that were sent."""
    return [Box(*value) for value in values]

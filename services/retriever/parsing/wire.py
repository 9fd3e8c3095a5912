"""What the service and a worker process say to each other, over the worker's standard input and output.

A frame is two little-endian lengths (uint32, uint64), a JSON object and bytes. JSON and never pickle: a worker reads
hostile files, and what a captured worker sends must not run here.
"""

import json
import struct
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, BinaryIO

from folio.formats import MediaType
from services.retriever.documents import Box, Page, ParsedDocument, Section, Table
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


@dataclass(frozen=True)
class Quote:
    """Words of a physical page. `before` counts the letters and digits in front of them on that page: of several places
    with these words the nearest is meant."""

    page: int
    words: str
    before: int


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


def document_answer(document: ParsedDocument) -> tuple[Message, bytes]:
    """A document to send. Its bytes, the text layer and then the pages' boxes, travel one behind the other."""
    message = {
        "media_type": document.media_type,
        "title": document.title,
        "pages": [
            {
                "index": page.index,
                "label": page.label,
                "text": page.text,
                "char_start": page.char_start,
                "furniture": page.furniture,
                "boxes": len(page.boxes),
                "uncertain": page.uncertain,
            }
            for page in document.pages
        ],
        "sections": [asdict(section) for section in document.sections],
        "empty_pages": document.empty_pages,
        "warnings": document.warnings,
        "metadata": document.metadata,
        "scans": document.scans,
        "tables": [table.as_json() for table in document.tables],
    }
    return message, b"".join(page.boxes for page in document.pages)


def received_document(message: Message, blob: bytes) -> ParsedDocument:
    """The document that was sent."""
    at = 0
    pages = []
    for page in message["pages"]:
        length = page.pop("boxes")
        uncertain = tuple((start, end) for start, end in page.pop("uncertain"))
        pages.append(Page(**page, boxes=blob[at : at + length], uncertain=uncertain))
        at += length
    return ParsedDocument(
        media_type=MediaType(message["media_type"]),
        title=message["title"],
        pages=tuple(pages),
        sections=tuple(
            Section(tuple(section["path"]), section["char_start"], section["char_end"])
            for section in message["sections"]
        ),
        empty_pages=tuple(message["empty_pages"]),
        warnings=tuple(message["warnings"]),
        metadata=message["metadata"],
        scans=tuple(message["scans"]),
        tables=tuple(Table.from_json(table) for table in message["tables"]),
    )


def box_values(boxes: Sequence[Box]) -> list[list[float]]:
    """Boxes to send: left, top, right, bottom."""
    return [[box.left, box.top, box.right, box.bottom] for box in boxes]


def received_boxes(values: Sequence[Sequence[float]]) -> list[Box]:
    """The boxes that were sent."""
    return [Box(*value) for value in values]

"""What the store gives back: plain values, converted to protos in messages.py."""

from dataclasses import dataclass
from datetime import date, datetime

from services.postgres.filters import condition

# All filters are of whole documents: over document_versions v, joined with documents d and collections k.
DOCUMENT_FILTER = condition(
    document_id="d.id", collection="k.name", kind="v.kind", published_on="v.published_on"
)


@dataclass(frozen=True)
class DocumentRecord:
    """A document in its current version, or in its newest if it has none yet."""

    id: int
    rooftop_id: int | None
    collection: str
    file_name: str
    created_at: datetime
    updated_at: datetime
    version: int
    sha256: str
    title: str
    media_type: str
    kind: str
    published_on: date | None
    size_bytes: int
    status: str
    outcome: str
    page_count: int
    chunk_count: int
    warnings: list[str]
    empty_pages: list[int]
    error: str


@dataclass(frozen=True)
class ChunkRecord:
    """A chunk with what a reader wants to know of its document."""

    id: int
    document_id: int
    section_id: int
    ordinal: int
    page_start: int
    page_end: int
    page_label: str
    title: str
    file_name: str
    collection: str
    kind: str
    published_on: date | None
    section_path: list[str]
    body: str
    char_start: int
    char_end: int
    sha256: str
    token_count: int
    media_type: str
    reading: str

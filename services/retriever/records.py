"""What the store gives back: plain values, converted to protos in the servicer."""

from dataclasses import dataclass
from datetime import date, datetime


@dataclass(frozen=True)
class Filter:
    """Parts are ANDed, the values within a part ORed; empty means no restriction."""

    document_ids: tuple[int, ...] = ()
    collections: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    published_from: date | None = None
    published_until: date | None = None

    def parameters(self) -> dict[str, object]:
        """For the conditions in queries; null where there is no restriction."""
        return {
            "document_ids": list(self.document_ids) or None,
            "collections": list(self.collections) or None,
            "kinds": list(self.kinds) or None,
            "published_from": self.published_from,
            "published_until": self.published_until,
        }


# Conditions on documents_versions v joined with documents d and collections k: all filters are of whole documents.
DOCUMENT_FILTER = """
    (%(document_ids)s::bigint[] is null or d.id = any(%(document_ids)s))
    and (%(collections)s::text[] is null or k.name = any(%(collections)s))
    and (%(kinds)s::text[] is null or v.kind = any(%(kinds)s))
    and (%(published_from)s::date is null or v.published_on >= %(published_from)s)
    and (%(published_until)s::date is null or v.published_on <= %(published_until)s)
"""


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

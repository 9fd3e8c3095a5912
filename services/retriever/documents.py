"""What a file becomes: pages, sections and chunks, as plain values.

The text of a document is the text of its pages joined by PAGE_BREAK; every offset below counts characters
(Unicode code points) in that text, end exclusive. A chunk's body is a slice of it, never re-made from tokens.
"""

from dataclasses import dataclass, field

from folio.formats import MediaType
from services.text.tables import Cell as Cell
from services.text.tables import Table as Table

PAGE_BREAK = "\n\n"
# Share of pages with text below which a reader must be told.
MIN_COVERAGE = 0.8


@dataclass(frozen=True)
class Page:
    """One page. `index` is physical, from 0; `label` is what is printed on it ("xiv"), never empty."""

    index: int
    label: str
    text: str
    char_start: int

    @property
    def char_end(self) -> int:
        return self.char_start + len(self.text)


@dataclass(frozen=True)
class Section:
    """A heading and what follows it, down to the next heading of the same or a higher level.

    `path` holds the titles from the top down, this section's own last; empty for text before any heading.
    Sections of a document are in reading order, do not overlap, and cover its whole text.
    """

    path: tuple[str, ...]
    char_start: int
    char_end: int


@dataclass(frozen=True)
class ParsedDocument:
    """A file as text. `empty_pages` are the indices of pages without text, or with fewer than 20 characters beside a
    picture: what OCR might read.

    `text_layer` is the PDF that OCR made of a scan, else empty: the file that offsets and page pictures refer to.
    """

    media_type: MediaType
    title: str
    pages: tuple[Page, ...]
    sections: tuple[Section, ...]
    empty_pages: tuple[int, ...] = ()
    warnings: tuple[str, ...] = ()
    metadata: dict[str, str] = field(default_factory=dict)
    text_layer: bytes = b""
    tables: tuple[Table, ...] = ()

    @property
    def text(self) -> str:
        return PAGE_BREAK.join(page.text for page in self.pages)

    @property
    def is_scan(self) -> bool:
        """Whether no page has text, so that only OCR could find some."""
        return bool(self.pages) and len(self.empty_pages) == len(self.pages)


def status(document: ParsedDocument, without_vector: int = 0) -> str:
    """What a document is once it is stored: NEEDS_OCR if no page has text; READY_WITH_WARNINGS if under 80% of its
    pages have, or if chunks are `without_vector`; else READY."""
    if document.is_scan:
        return "NEEDS_OCR"
    pages, empty = len(document.pages), len(document.empty_pages)
    if without_vector or (pages and (pages - empty) / pages < MIN_COVERAGE):
        return "READY_WITH_WARNINGS"
    return "READY"


@dataclass(frozen=True)
class ChunkSpan:
    """A window of a document's text. Pages are physical and both inclusive; `page_label` is page_start's."""

    ordinal: int
    section: int
    char_start: int
    char_end: int
    page_start: int
    page_end: int
    page_label: str
    token_count: int


@dataclass(frozen=True)
class Box:
    """A rectangle on a page, as fractions of its width and height from the top left corner."""

    left: float
    top: float
    right: float
    bottom: float

"""What a file becomes: pages, sections, tables and chunks, as plain values.

The text of a document is the text of its pages with a gap between two of them (`joined`); every offset below counts
characters (Unicode code points) in that text, end exclusive. A chunk's body is a slice of it, not re-made from tokens.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from folio.formats import MediaType
from services.text.tables import Cell as Cell
from services.text.tables import Table as Table

# Between two pages: nothing where a word goes on, a line end where a sentence does, else an empty line.
GAPS = ("", "\n", "\n\n")
PAGE_BREAK = GAPS[2]
# Share of pages with text below which a reader must be told.
MIN_COVERAGE = 0.8
# Of a title in front of each chunk; a longer one says no more, and takes the place of the text.
ENCODED_TITLE_CHARS = 100


@dataclass(frozen=True)
class Page:
    """One page. `index` is physical, from 0; `label` is what is printed on it ("xiv"), never empty.

    `furniture`: running heads, feet and page numbers, which are on the page and not in the document's text. `boxes`:
    where each character of `text` stands (places.py), empty where the format has no geometry. `uncertain`: spans of the
    document's text that OCR was not sure of.
    """

    index: int
    label: str
    text: str
    char_start: int
    furniture: str = ""
    boxes: bytes = field(default=b"", repr=False)
    uncertain: tuple[tuple[int, int], ...] = ()

    @property
    def char_end(self) -> int:
        return self.char_start + len(self.text)


def joined(pages: Iterable[tuple[int, str]]) -> str:
    """The text of successive pages, given as (char_start, text): it begins at the first one's char_start."""
    parts: list[str] = []
    end: int | None = None
    for start, text in pages:
        if end is not None:
            parts.append(GAPS[start - end])
        parts.append(text)
        end = start + len(text)
    return "".join(parts)


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

    `scans` are the indices of pages that OCR may read: those without text, and those with little of it on a picture.
    """

    media_type: MediaType
    title: str
    pages: tuple[Page, ...]
    sections: tuple[Section, ...]
    empty_pages: tuple[int, ...] = ()
    warnings: tuple[str, ...] = ()
    metadata: dict[str, str] = field(default_factory=dict)
    tables: tuple[Table, ...] = ()
    scans: tuple[int, ...] = ()

    @property
    def text(self) -> str:
        return joined((page.char_start, page.text) for page in self.pages)

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
    """A window of a document's text. Pages are physical and both inclusive; `page_label` is page_start's.

    `reading` is what encoders read in place of the body where it is not empty: a row of a table with its heads. What
    is quoted is always the body. `window` is the ordinal of the window that holds a row.
    """

    ordinal: int
    section: int
    char_start: int
    char_end: int
    page_start: int
    page_end: int
    page_label: str
    token_count: int
    reading: str = ""
    window: int | None = None

    def encoded(self, title: str, text: str) -> str:
        """What the encoders read of this chunk of a document's text: the title, for the text of a page seldom says what
        it is a page of, then the text or the reading. In the database: folio.encoded_text."""
        return f"{title[:ENCODED_TITLE_CHARS]}\n{self.reading or text[self.char_start : self.char_end]}"


@dataclass(frozen=True)
class Box:
    """A rectangle on a page, as fractions of its width and height from the top left corner."""

    left: float
    top: float
    right: float
    bottom: float

"""PDF to pages of text, by pdfium. Runs in a worker process only: pdfium is not thread-safe, and it can crash."""

import ctypes
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import replace

import pypdfium2 as pdfium
import pypdfium2.raw as c

from folio.formats import MediaType
from services.retriever import places
from services.retriever.documents import PAGE_BREAK, Page, ParsedDocument, Table
from services.retriever.parsing import sections
from services.retriever.parsing.limits import ParseLimits
from services.retriever.parsing.parser import DEFAULT_LIMITS, NO_HINTS, Hints, Progress, unseen
from services.retriever.parsing.pdf import headings, ocr, page
from services.retriever.parsing.pdf.headings import Bookmark, TextLine
from services.retriever.parsing.pdf.opening import opened
from services.retriever.parsing.pdf.page import PageText
from services.retriever.parsing.text import LINE_HYPHEN, clean_line
from services.rpc.errors import ResourceExhausted

EMPTY_PAGE_CHARS = 20
_LABEL_CHARS = 40
_MAX_BOOKMARKS = 5_000
_MAX_OUTLINE_DEPTH = 8
_METADATA = (
    "Title",
    "Author",
    "Subject",
    "Keywords",
    "Creator",
    "Producer",
    "CreationDate",
    "ModDate",
)


def parse(
    data: bytes,
    hints: Hints = NO_HINTS,
    limits: ParseLimits = DEFAULT_LIMITS,
    progress: Progress = unseen,
) -> ParsedDocument:
    """The document of a PDF. Raises as `opened`, as `ocr.add_text_layer` with `hints.ocr`, and ResourceExhausted.

    `hints.careful` does without page labels and bookmarks: pdfium follows a cycle in their trees until it crashes.
    """
    layer = ocr.add_text_layer(data, limits.ocr_wall_s) if hints.ocr else b""
    with opened(layer or data, hints.password) as document:
        reader = _read(document, hints, limits, progress)
        found = reader.finish(hints, layer)
    if not reader.unreadable:
        return found
    # Pages that pdfium cannot load may be there once the file is repaired.
    with opened(layer or data, hints.password, mend=True) as document:
        again = _read(document, hints, limits, progress)
        better = len(again.unreadable) < len(reader.unreadable)
        same = len(document) == len(found.pages)
        return again.finish(hints, layer) if better and same else found


def _read(
    document: pdfium.PdfDocument, hints: Hints, limits: ParseLimits, progress: Progress
) -> "_Reader":
    if len(document) > limits.max_pages:
        raise ResourceExhausted(
            f"the PDF has {len(document):,} pages, more than the {limits.max_pages:,} allowed: split it",
            reason="TOO_MANY_PAGES",
        )
    reader = _Reader(document, limits, hints)
    for index in range(len(document)):
        progress(index)
        reader.add(index)
    return reader


def read_page(document: pdfium.PdfDocument, index: int) -> PageText:
    """One page with the hyphens at its lines' ends decided. Raises PdfiumError."""
    return _joined(page.read_page(document, index))


def as_page(found: PageText, index: int, label: str = "", start: int = 0) -> Page:
    """The page as it is kept."""
    boxes = places.encode(found.boxes, found.size)
    return Page(index, label or str(index + 1), found.text, start, boxes=boxes)


class _Reader:
    """Collects the pages of one document."""

    def __init__(self, document: pdfium.PdfDocument, limits: ParseLimits, hints: Hints) -> None:
        self._document = document
        self._limits = limits
        self._careful = hints.careful
        self._heavy = hints.skip
        self._pages: list[Page] = []
        self._lines: list[TextLine] = []
        self._tables: list[Table] = []
        self._length = 0
        self.unreadable: list[int] = []
        self._hidden: list[int] = []
        self._layers: list[int] = []
        self._empty: list[int] = []
        self._dropped = 0

    def add(self, index: int) -> None:
        start = self._length + len(PAGE_BREAK) if self._pages else 0
        label = str(index + 1) if self._careful else _label(self._document, index)
        text = ""
        kept = Page(index, label, "", start)
        try:
            found = read_page(self._document, index) if index not in self._heavy else None
        except pdfium.PdfiumError:
            self.unreadable.append(index)
            found = None
        if found is not None:
            kept = as_page(found, index, label, start)
            text = kept.text
            self._lines += _text_lines(found, index, start)
            self._tables += [table.moved(start) for table in found.tables]
            self._dropped += found.dropped
            if found.hidden:
                self._hidden.append(index)
            if found.text_layer:
                self._layers.append(index)
        few = len(text) < EMPTY_PAGE_CHARS and index not in self._heavy
        if not text or (few and _has_picture(self._document, index)):
            self._empty.append(index)
        self._pages.append(kept)
        self._length = start + len(text)
        if self._length > self._limits.max_chars:
            raise ResourceExhausted(
                f"the PDF has more than {self._limits.max_chars:,} characters of text: split it",
                reason="TOO_MUCH_TEXT",
            )

    def finish(self, hints: Hints, layer: bytes) -> ParsedDocument:
        metadata = _metadata(self._document)
        starts = [each.char_start for each in self._pages]
        bookmarks = [] if self._careful else _bookmarks(self._document)
        found = headings.from_outline(bookmarks, self._lines, starts)
        found = found or headings.from_fonts(self._lines)
        return ParsedDocument(
            media_type=MediaType.PDF,
            title=hints.title_of(metadata.get("Title", "")),
            pages=tuple(self._pages),
            sections=sections.build(found, self._length),
            empty_pages=tuple(self._empty),
            warnings=tuple(self._warnings()),
            metadata=metadata,
            text_layer=layer,
            tables=tuple(self._tables),
        )

    def _warnings(self) -> Iterator[str]:
        if self._careful:
            yield "page labels and bookmarks are damaged: pages are labelled by their number"
        if self.unreadable:
            yield f"unreadable pages, taken as empty: {_numbers(self.unreadable)}"
        if self._heavy:
            yield f"pages that take too long or too much memory to read, taken as empty: {_numbers(self._heavy)}"
        if self._hidden:
            yield f"hidden text left out (invisible, white, off the page or tiny) on pages {_numbers(self._hidden)}"
        if self._layers:
            yield f"text of a scan's OCR layer on pages {_numbers(self._layers)}"
        replaced = sum(each.text.count("\ufffd") for each in self._pages)
        if replaced + self._dropped > 0.05 * max(1, self._length):
            yield "more than 5% of the characters could not be read: the fonts lack a map to Unicode"


def _text_lines(page: PageText, index: int, start: int) -> Iterator[TextLine]:
    for line in page.lines:
        words = page.text[line.start : line.end].strip()
        if words and not line.aside:
            yield TextLine(
                offset=start + line.start,
                text=words,
                page=index,
                top=line.top,
                size=line.size,
                bold=line.bold,
                begins=line.begins,
                alone=line.alone,
            )


def _joined(found: PageText) -> PageText:
    """A word that goes on in lower case was broken by the typesetter; "Anglo-Saxon" and "pre-1990" were not."""
    if LINE_HYPHEN not in found.text:
        return found
    text: list[str] = []
    boxes = array("H")
    moved = array("I")  # The new offset of each old one.
    for at, char in enumerate(found.text):
        moved.append(len(text))
        if char == LINE_HYPHEN:
            broken = found.text[at - 1 : at].isalpha() and found.text[at + 1 : at + 2].islower()
            if broken:
                continue
            char = "-"
        text.append(char)
        boxes.extend(found.boxes[4 * at : 4 * at + 4])
    moved.append(len(text))
    lines = (replace(line, start=moved[line.start], end=moved[line.end]) for line in found.lines)
    tables = tuple(
        replace(
            table,
            char_start=moved[table.char_start],
            char_end=moved[table.char_end],
            cells=tuple(
                replace(cell, char_start=moved[cell.char_start], char_end=moved[cell.char_end])
                for cell in table.cells
            ),
        )
        for table in found.tables
    )
    return replace(found, text="".join(text), boxes=boxes, lines=tuple(lines), tables=tables)


def _has_picture(document: pdfium.PdfDocument, index: int) -> bool:
    try:
        page = document[index]
        return any(page.get_objects(filter=[c.FPDF_PAGEOBJ_IMAGE], max_depth=3))
    except pdfium.PdfiumError:
        return False


def _label(document: pdfium.PdfDocument, index: int) -> str:
    """The printed label, or the physical number counted from 1 where there is none that can be read."""
    try:
        label = clean_line(document.get_page_label(index), _LABEL_CHARS)
    except (pdfium.PdfiumError, UnicodeError, ValueError):
        label = ""
    return label or str(index + 1)


def _metadata(document: pdfium.PdfDocument) -> dict[str, str]:
    found = {}
    for key in _METADATA:
        size = c.FPDF_GetMetaText(document, key.encode(), None, 0)
        if size > 2:
            buffer = ctypes.create_string_buffer(size)
            c.FPDF_GetMetaText(document, key.encode(), buffer, size)
            value = clean_line(buffer.raw[: size - 2].decode("utf-16-le", "surrogatepass"))
            if value:
                found[key] = value
    return found


def _bookmarks(document: pdfium.PdfDocument) -> list[Bookmark]:
    found: list[Bookmark] = []
    try:
        for entry in document.get_toc(max_depth=_MAX_OUTLINE_DEPTH):
            destination = entry.get_dest()
            page = destination.get_index() if destination else None
            if page is not None:
                found.append(Bookmark(clean_line(entry.get_title()), entry.level + 1, page))
            if len(found) >= _MAX_BOOKMARKS:
                break
    except (pdfium.PdfiumError, UnicodeError, ValueError):
        return found
    return found


def _numbers(pages: Sequence[int]) -> str:
    shown = ", ".join(str(page + 1) for page in pages[:20])
    return shown if len(pages) <= 20 else f"{shown} and {len(pages) - 20} more"

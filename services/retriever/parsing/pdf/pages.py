"""PDF, and pictures, to pages of text, by pdfium.

Runs in a worker process only: pdfium is not thread-safe, and it can crash.
"""

import ctypes
from array import array
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace

import pypdfium2 as pdfium
import pypdfium2.raw as c

from folio.formats import MediaType
from services.retriever import places
from services.retriever.documents import Page, ParsedDocument, joined
from services.retriever.parsing import media, sections, tables
from services.retriever.parsing.limits import ParseLimits
from services.retriever.parsing.parser import DEFAULT_LIMITS, NO_HINTS, Hints, Progress, unseen
from services.retriever.parsing.pdf import (
    continued,
    flow,
    headings,
    labels,
    ocr,
    page,
    pictures,
    titles,
)
from services.retriever.parsing.pdf.flow import FlowPage
from services.retriever.parsing.pdf.headings import Bookmark, TextLine
from services.retriever.parsing.pdf.notes import Note, warnings
from services.retriever.parsing.pdf.opening import opened
from services.retriever.parsing.pdf.page import PageText
from services.retriever.parsing.text import clean_line
from services.rpc.errors import ResourceExhausted

EMPTY_PAGE_CHARS = 20
SCAN_CHARS = 200
_SCAN_COVER = 0.6
_LABEL_CHARS = 40
_MAX_BOOKMARKS = 5_000
_MAX_OUTLINE_DEPTH = 8
_NO_TEXT = PageText("", array("H"), (), (612.0, 792.0))
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
    """The document of a PDF or a picture.

    Raises as `opened`, as `ocr.Ocr` with `hints.ocr_pages`, and ResourceExhausted.

    `hints.careful` does without page labels and bookmarks: pdfium follows a cycle in their trees until it crashes.
    """
    with ExitStack() as stack:
        program = None
        if hints.ocr_pages:
            program = stack.enter_context(
                closing(ocr.Ocr(hints.ocr_languages, limits.ocr_page_s, limits.ocr_wall_s))
            )
        with opened(data, hints.password) as document:
            reader = _read(document, hints, limits, progress, program)
            found = reader.finish(hints)
        if media.is_picture(data):
            if len(reader.unreadable) == len(found.pages):
                raise pictures.broken()
            return replace(found, media_type=media.media_type(data), metadata={})
        if not reader.unreadable:
            return found
        # Pages that pdfium cannot load may be there once the file is repaired.
        with opened(data, hints.password, mend=True) as document:
            again = _read(document, hints, limits, progress, program)
            better = len(again.unreadable) < len(reader.unreadable)
            same = len(document) == len(found.pages)
            return again.finish(hints) if better and same else found


def _read(
    document: pdfium.PdfDocument,
    hints: Hints,
    limits: ParseLimits,
    progress: Progress,
    program: ocr.Ocr | None,
) -> "_Reader":
    if len(document) > limits.max_pages:
        raise ResourceExhausted(
            f"the PDF has {len(document):,} pages, more than the {limits.max_pages:,} allowed: split it",
            reason="TOO_MANY_PAGES",
        )
    if not hints.careful:
        document.init_forms()  # For the values of form fields.
    reader = _Reader(document, limits, hints, progress, program)
    for index in range(len(document)):
        progress(index)
        reader.add(index)
    return reader


def as_page(
    found: PageText, index: int, label: str = "", start: int = 0, furniture: str = ""
) -> Page:
    """The page as it is kept, its text at `start` in the document's."""
    uncertain = tuple((start + first, start + last) for first, last in found.uncertain)
    boxes = places.encode(found.boxes, found.size)
    return Page(index, label or str(index + 1), found.text, start, furniture, boxes, uncertain)


class _Reader:
    """Collects the pages of one document."""

    def __init__(
        self,
        document: pdfium.PdfDocument,
        limits: ParseLimits,
        hints: Hints,
        progress: Progress,
        program: ocr.Ocr | None,
    ) -> None:
        self._document = document
        self._limits = limits
        self._careful = hints.careful
        self._heavy = hints.skip
        self._texts: list[PageText] = []
        self._progress, self._program = progress, program
        self._ocr_pages = hints.ocr_pages
        self._read_by_ocr: list[int] = []
        self._scans: list[int] = []
        self._length = 0
        self.unreadable: list[int] = []
        self._hidden: list[int] = []
        self._layers: list[int] = []
        self._empty: list[int] = []
        self._dropped = 0
        self._notes: list[tuple[int, frozenset[Note]]] = []

    def add(self, index: int) -> None:
        found = _NO_TEXT
        try:
            if index not in self._heavy:
                found = self._page(index)
        except pdfium.PdfiumError:
            self.unreadable.append(index)
        self._dropped += found.dropped
        if found.hidden:
            self._hidden.append(index)
        if found.text_layer:
            self._layers.append(index)
        self._notes.append((index, found.notes))
        unread = not found.text
        if len(found.text) < SCAN_CHARS and index not in self._heavy:
            cover = _picture_cover(self._document, index)
            unread = unread or (cover > 0 and len(found.text) < EMPTY_PAGE_CHARS)
            if unread or cover >= _SCAN_COVER:
                self._scans.append(index)
        if unread:
            self._empty.append(index)
        self._texts.append(found)
        self._length += len(found.text)
        if self._length > self._limits.max_chars:
            raise ResourceExhausted(
                f"the PDF has more than {self._limits.max_chars:,} characters of text: split it",
                reason="TOO_MUCH_TEXT",
            )

    def _page(self, index: int) -> PageText:
        """As pdfium reads it, or as OCR does where that is asked for and gives more. Raises PdfiumError."""
        found = page.read_page(self._document, index)
        if index not in self._ocr_pages or self._program is None:
            return found
        scanned = page.read_scan(
            self._document, index, self._program, lambda: self._progress(index)
        )
        if scanned is None or len(scanned.text) <= len(found.text):
            return found
        self._read_by_ocr.append(index)
        return scanned

    def finish(self, hints: Hints) -> ParsedDocument:
        metadata = _metadata(self._document)
        named = metadata.get("Title", "")
        # A file's name is often more telling than the largest words of its first page ("FORM 10-K").
        title = hints.title_of(named, hints.stem, *titles.on_first_page(self._texts))
        flowing = flow.flow(self._texts, title)
        pages: list[Page] = []
        lines: list[TextLine] = []
        start = 0
        for index, (label, each) in enumerate(zip(self._labels(flowing), flowing, strict=True)):
            start += each.gap if index else 0
            pages.append(as_page(each.text, index, label, start, each.furniture))
            lines += _text_lines(each, index, start)
            start += len(each.text.text)
        bookmarks = [] if self._careful else _bookmarks(self._document)
        found = headings.from_outline(bookmarks, lines, [each.char_start for each in pages])
        found = found or headings.from_fonts(lines)
        return ParsedDocument(
            media_type=MediaType.PDF,
            title=title,
            pages=tuple(pages),
            sections=sections.build(found, start),
            empty_pages=tuple(self._empty),
            warnings=tuple(self._warnings(pages)),
            metadata=metadata,
            tables=tables.described(
                continued.tables(
                    [(each.text, at.char_start) for at, each in zip(pages, flowing, strict=True)]
                ),
                joined((each.char_start, each.text) for each in pages),
            ),
            scans=tuple(self._scans),
        )

    def _labels(self, flowing: Sequence[FlowPage]) -> list[str]:
        """What the file calls its pages, else what is printed on them, else their numbers."""
        count = len(flowing)
        given = (
            [""] * count if self._careful else [_label(self._document, at) for at in range(count)]
        )
        if not any(given):
            given = labels.printed([each.number for each in flowing])
        return [label or str(at + 1) for at, label in enumerate(given or [""] * count)]

    def _warnings(self, pages: Sequence[Page]) -> Iterator[str]:
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
        if self._read_by_ocr:
            yield f"read by OCR on pages {_numbers(self._read_by_ocr)}"
        if self._program is not None and self._program.stopped:
            yield "OCR was stopped: the time for one file, or for a page, was over"
        yield from warnings(self._notes)
        replaced = sum(each.text.count("\ufffd") for each in pages)
        if replaced + self._dropped > 0.05 * max(1, self._length):
            yield "more than 5% of the characters could not be read: the fonts lack a map to Unicode"


def _text_lines(each: FlowPage, index: int, start: int) -> Iterator[TextLine]:
    """The lines that may be headings."""
    text = each.text
    for line in text.lines:
        words = text.text[line.start : line.end].strip()
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


def _picture_cover(document: pdfium.PdfDocument, index: int) -> float:
    """The share of the page that pictures cover, more than 0 if there is any."""
    cover = 0.0
    try:
        page = document[index]
        width, height = page.get_size()
        for image in page.get_objects(filter=[c.FPDF_PAGEOBJ_IMAGE], max_depth=3):
            left, bottom, right, top = image.get_bounds()
            cover += max(1.0, (right - left) * (top - bottom))
    except pdfium.PdfiumError:
        return 0.0
    return float(cover / max(1.0, width * height))


def _label(document: pdfium.PdfDocument, index: int) -> str:
    """What the file calls a page; empty where it says nothing that can be read."""
    try:
        return clean_line(document.get_page_label(index), _LABEL_CHARS)
    except (pdfium.PdfiumError, UnicodeError, ValueError):
        return ""


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

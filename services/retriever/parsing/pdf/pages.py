"""PDF to pages of text, by pdfium. Runs in a worker process only: pdfium is not thread-safe, and it can crash."""

import ctypes
import stringprep
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import pypdfium2 as pdfium
import pypdfium2.raw as c

from folio.formats import MediaType
from services.retriever.documents import PAGE_BREAK, Page, ParsedDocument
from services.retriever.parsing import sections
from services.retriever.parsing.limits import ParseLimits
from services.retriever.parsing.parser import DEFAULT_LIMITS, NO_HINTS, Hints, Progress, unseen
from services.retriever.parsing.pdf import glyphs, headings, hidden, layout, ocr
from services.retriever.parsing.pdf.headings import Bookmark, TextLine
from services.retriever.parsing.text import LINE_HYPHEN, Cleaned, clean, clean_line, position
from services.rpc.errors import FailedPrecondition, InvalidArgument, ResourceExhausted

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


@dataclass(frozen=True)
class PageText:
    """One page as text: `cleaned.sources` are pdfium's character indices. `hidden` counts unseen characters."""

    glyphs: glyphs.Glyphs
    cleaned: Cleaned
    lines: tuple[layout.Line, ...]
    paragraphs: frozenset[int]
    hidden: int
    text_layer: bool


@contextmanager
def opened(data: bytes, password: str = "") -> Iterator[pdfium.PdfDocument]:
    """An open document. Raises FailedPrecondition (locked) and InvalidArgument (wrong password, broken, no pages).

    A password that a file does not need does no harm.
    """
    document = _open(data, password)
    try:
        if len(document) == 0:
            raise InvalidArgument("the PDF has no pages", reason="NO_PAGES")
        yield document
    finally:
        document.close()


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
        if len(document) > limits.max_pages:
            raise ResourceExhausted(
                f"the PDF has {len(document):,} pages, more than the {limits.max_pages:,} allowed: split it",
                reason="TOO_MANY_PAGES",
            )
        reader = _Reader(document, limits, hints.careful)
        for index in range(len(document)):
            progress(index)
            reader.add(index)
        return reader.finish(hints, layer)


def read_page(document: pdfium.PdfDocument, index: int) -> PageText:
    """One page, always the same for the same bytes: offsets that were stored stay true. Raises PdfiumError."""
    page = document[index]
    try:
        found = glyphs.read(page)
        unseen = hidden.find(page, found)
    finally:
        page.close()
    lines = layout.lines(found, unseen.flags)
    starts = layout.paragraph_starts(found, lines)
    cleaned = clean(_raw(found.chars, unseen.flags, starts))
    return PageText(
        glyphs=found,
        cleaned=cleaned,
        lines=tuple(lines),
        paragraphs=frozenset(starts),
        hidden=sum(
            flag and char > " " for flag, char in zip(unseen.flags, found.chars, strict=True)
        ),
        text_layer=unseen.text_layer,
    )


class _Reader:
    """Collects the pages of one document."""

    def __init__(self, document: pdfium.PdfDocument, limits: ParseLimits, careful: bool) -> None:
        self._document = document
        self._limits = limits
        self._careful = careful
        self._pages: list[Page] = []
        self._lines: list[TextLine] = []
        self._length = 0
        self._unreadable: list[int] = []
        self._hidden: list[int] = []
        self._layers: list[int] = []
        self._empty: list[int] = []
        self._dropped = 0

    def add(self, index: int) -> None:
        start = self._length + len(PAGE_BREAK) if self._pages else 0
        text = ""
        try:
            page = read_page(self._document, index)
        except pdfium.PdfiumError:
            self._unreadable.append(index)
        else:
            text = page.cleaned.text
            self._lines += _text_lines(page, index, start)
            self._dropped += page.cleaned.dropped - page.hidden
            if page.hidden:
                self._hidden.append(index)
            if page.text_layer:
                self._layers.append(index)
        if not text or (len(text) < EMPTY_PAGE_CHARS and _has_picture(self._document, index)):
            self._empty.append(index)
        label = str(index + 1) if self._careful else _label(self._document, index)
        self._pages.append(Page(index, label, text, start))
        self._length = start + len(text)
        if self._length > self._limits.max_chars:
            raise ResourceExhausted(
                f"the PDF has more than {self._limits.max_chars:,} characters of text: split it",
                reason="TOO_MUCH_TEXT",
            )

    def finish(self, hints: Hints, layer: bytes) -> ParsedDocument:
        metadata = _metadata(self._document)
        starts = [page.char_start for page in self._pages]
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
        )

    def _warnings(self) -> Iterator[str]:
        if self._careful:
            yield "page labels and bookmarks are damaged: pages are labelled by their number"
        if self._unreadable:
            yield f"unreadable pages, taken as empty: {_numbers(self._unreadable)}"
        if self._hidden:
            yield f"hidden text left out (invisible, white, off the page or tiny) on pages {_numbers(self._hidden)}"
        if self._layers:
            yield f"text of a scan's OCR layer on pages {_numbers(self._layers)}"
        replaced = sum(page.text.count("\ufffd") for page in self._pages)
        if replaced + self._dropped > 0.05 * max(1, self._length):
            yield "more than 5% of the characters could not be read: the fonts lack a map to Unicode"


def _text_lines(page: PageText, index: int, start: int) -> Iterator[TextLine]:
    sources, text = page.cleaned.sources, page.cleaned.text
    seen = [line for line in page.lines if line.box is not None]
    for at, line in enumerate(seen):
        first, last = position(sources, line.start), position(sources, line.end)
        words = text[first:last].strip()
        if not words:
            continue
        begins = line.start in page.paragraphs
        ends = at + 1 == len(seen) or seen[at + 1].start in page.paragraphs
        first += len(text[first:last]) - len(text[first:last].lstrip())
        yield TextLine(
            offset=start + first,
            text=words,
            page=index,
            top=line.box.top if line.box else 0.0,
            size=line.size,
            bold=line.bold,
            begins=begins,
            alone=begins and ends,
        )


def _raw(chars: Sequence[str], unseen: Sequence[int], paragraph_starts: set[int]) -> str:
    """The page's characters, one for each of pdfium's, so that indices stay the same: unseen ones as NUL, which
    cleaning drops, and "\\r\\n" before a paragraph as two line ends."""
    raw = list(chars)
    for index, char in enumerate(raw):
        if unseen[index]:
            raw[index] = "\0" if char > " " else char
        elif char == layout.PDFIUM_HYPHEN:
            raw[index] = LINE_HYPHEN
    for start in paragraph_starts:
        if start >= 2 and raw[start - 1] == "\n":
            raw[start - 2] = "\n"
    return "".join(raw)


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


def _open(data: bytes, password: str) -> pdfium.PdfDocument:
    """Reads from `data` for as long as it is open: the caller keeps it."""
    # PDF 2.0 prepares passwords by SASLprep; older writers took them as they were typed.
    tries = dict.fromkeys(("", password, _saslprep(password)))
    code = c.FPDF_ERR_SUCCESS
    for candidate in tries:
        # By itself PdfDocument takes a file without pages for a failure, and names the one of an earlier file.
        handle = c.FPDF_LoadMemDocument64(
            data, len(data), candidate.encode() if candidate else None
        )
        if handle:
            return pdfium.PdfDocument(handle)
        code = c.FPDF_GetLastError()
        if code != c.FPDF_ERR_PASSWORD:
            break
    raise _open_error(code, password)


def _saslprep(password: str) -> str:
    """RFC 4013, the mapping: spaces to one kind, what is commonly mapped to nothing away, NFKC."""
    mapped = (
        " " if stringprep.in_table_c12(char) else char
        for char in password
        if not stringprep.in_table_b1(char)
    )
    return unicodedata.normalize("NFKC", "".join(mapped))


def _open_error(code: int, password: str) -> Exception:
    if code == c.FPDF_ERR_PASSWORD and password:
        return InvalidArgument.field("password", "does not open this PDF")
    if code == c.FPDF_ERR_PASSWORD:
        return FailedPrecondition(
            "the PDF is encrypted: give its password", reason="PASSWORD_REQUIRED"
        )
    if code == c.FPDF_ERR_SECURITY:
        return FailedPrecondition(
            "the PDF is encrypted in a way that cannot be read: store it without encryption",
            reason="UNSUPPORTED_ENCRYPTION",
        )
    return InvalidArgument(
        "the PDF is damaged and could not be repaired: open it in a viewer and save it again",
        reason="BROKEN_PDF",
    )

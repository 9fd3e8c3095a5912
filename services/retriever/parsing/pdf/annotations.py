"""What stands on a page as annotations: values of form fields, typed text, stamps, links, strikes.

Values and typed text become text in their place. Comments (notes, remarks on highlights) are a reader's and not the
page's: they stay out, and the document's warnings say so.
"""

import ctypes
import html
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial

import pypdfium2 as pdfium
import pypdfium2.raw as c

from services.retriever.parsing.pdf.geometry import Rectangle

_MOST = 5_000
_TEXT_CHARS = 20_000
_LINK_CHARS = 500
_UNSEEN = c.FPDF_ANNOT_FLAG_HIDDEN | c.FPDF_ANNOT_FLAG_NOVIEW
_PASSWORD = 1 << 13  # A text field's flag: what is typed is not shown.
_SCHEMES = ("http://", "https://", "ftp://", "mailto:", "tel:")
_COMMENTS = frozenset(
    (
        c.FPDF_ANNOT_TEXT,
        c.FPDF_ANNOT_HIGHLIGHT,
        c.FPDF_ANNOT_UNDERLINE,
        c.FPDF_ANNOT_SQUIGGLY,
        c.FPDF_ANNOT_CARET,
        c.FPDF_ANNOT_STRIKEOUT,
        c.FPDF_ANNOT_SQUARE,
        c.FPDF_ANNOT_CIRCLE,
        c.FPDF_ANNOT_LINE,
        c.FPDF_ANNOT_POLYGON,
        c.FPDF_ANNOT_POLYLINE,
        c.FPDF_ANNOT_INK,
        c.FPDF_ANNOT_FILEATTACHMENT,
    )
)
# What may be drawn opaquely over the text below it. Fields are not: their values are read.
_DRAWINGS = frozenset(
    (
        c.FPDF_ANNOT_FREETEXT,
        c.FPDF_ANNOT_LINE,
        c.FPDF_ANNOT_SQUARE,
        c.FPDF_ANNOT_CIRCLE,
        c.FPDF_ANNOT_POLYGON,
        c.FPDF_ANNOT_POLYLINE,
        c.FPDF_ANNOT_HIGHLIGHT,
        c.FPDF_ANNOT_STAMP,
        c.FPDF_ANNOT_INK,
        c.FPDF_ANNOT_REDACT,
    )
)
_MAX_DEPTH = 4
_LINE_END = re.compile(r"</(?:p|div|li)>|<br\s*/?>", re.IGNORECASE)
_TAG = re.compile(r"<[^<>]*>")
_MARKED = (c.FPDF_FORMFIELD_CHECKBOX, c.FPDF_FORMFIELD_RADIOBUTTON)
_TYPED = (c.FPDF_FORMFIELD_TEXTFIELD, c.FPDF_FORMFIELD_COMBOBOX)


@dataclass
class Annotations:
    """Rectangles are in user space."""

    texts: list[tuple[Rectangle, str]] = field(default_factory=list)
    """Words that are shown on the page and are no part of its content."""
    fields: set[int] = field(default_factory=set)
    """Which of `texts` were typed into fields or chosen in them."""
    links: list[tuple[list[Rectangle], str]] = field(default_factory=list)
    """Where a link can be pressed, and its address."""
    strikes: list[Rectangle] = field(default_factory=list)
    redactions: list[Rectangle] = field(default_factory=list)
    """Marks of what is to be taken away, though it was not yet."""
    covers: list[Rectangle] = field(default_factory=list)
    """Drawings over the page, which may hide what is below them."""
    comments: int = 0
    wordless: int = 0
    """Stamps and texts whose words only their drawing shows: they are not read."""
    unread: int = 0
    """Form fields whose value could not be read."""

    def fill(self, place: Rectangle, value: str) -> None:
        """Adds the value of a field."""
        self.fields.add(len(self.texts))
        self.texts.append((place, value))


def read(page: pdfium.PdfPage) -> Annotations:
    """The annotations of a page. The values of form fields need a document with its forms set up (`init_forms`)."""
    found = Annotations()
    for index in range(min(_MOST, c.FPDFPage_GetAnnotCount(page))):
        annotation = c.FPDFPage_GetAnnot(page, index)
        if not annotation:
            continue
        try:
            if not c.FPDFAnnot_GetFlags(annotation) & _UNSEEN:
                _read(page, annotation, found)
        finally:
            c.FPDFPage_CloseAnnot(annotation)
    return found


def _read(page: pdfium.PdfPage, annotation: c.FPDF_ANNOTATION, found: Annotations) -> None:
    kind = c.FPDFAnnot_GetSubtype(annotation)
    place = _rectangle(annotation)
    if kind in _DRAWINGS:
        found.covers.append(place)
    if kind == c.FPDF_ANNOT_REDACT:
        found.redactions += _quads(annotation) or [place]
    if kind == c.FPDF_ANNOT_LINK:
        address = _address(page, annotation)
        if address:
            found.links.append((_quads(annotation) or [place], address))
    elif kind == c.FPDF_ANNOT_WIDGET:
        _field(page, annotation, place, found)
    elif kind in (c.FPDF_ANNOT_FREETEXT, c.FPDF_ANNOT_STAMP):
        _typed(annotation, kind == c.FPDF_ANNOT_STAMP, place, found)
    elif kind in _COMMENTS:
        if kind == c.FPDF_ANNOT_STRIKEOUT:
            found.strikes += _quads(annotation) or [place]
        found.comments += bool(_string(annotation, b"Contents").strip())


def _typed(
    annotation: c.FPDF_ANNOTATION, stamp: bool, place: Rectangle, found: Annotations
) -> None:
    words = _string(annotation, b"Contents") or _plain(_string(annotation, b"RC"))
    if stamp:
        words = words or _string(annotation, b"Name").lstrip("#")
    if words.strip():
        found.texts.append((place, words))
    elif _shows_words(annotation):
        found.wordless += 1


def _plain(rich: str) -> str:
    """The words of rich text, which is XHTML."""
    return html.unescape(_TAG.sub("", _LINE_END.sub("\n", rich))).strip()


def _shows_words(annotation: c.FPDF_ANNOTATION) -> bool:
    """Whether there is text in an annotation's drawing."""
    inner = partial(c.FPDFAnnot_GetObject, annotation)
    return _holds_text(c.FPDFAnnot_GetObjectCount(annotation), inner, 0)


def _holds_text(count: int, get: Callable[[int], c.FPDF_PAGEOBJECT], depth: int) -> bool:
    for at in range(min(_MOST, max(0, count))):
        item = get(at)
        kind = c.FPDFPageObj_GetType(item)
        if kind == c.FPDF_PAGEOBJ_TEXT:
            return True
        if kind == c.FPDF_PAGEOBJ_FORM and depth < _MAX_DEPTH:
            inner = partial(c.FPDFFormObj_GetObject, item)
            if _holds_text(c.FPDFFormObj_CountObjects(item), inner, depth + 1):
                return True
    return False


def _field(
    page: pdfium.PdfPage, annotation: c.FPDF_ANNOTATION, place: Rectangle, found: Annotations
) -> None:
    form = page.formenv
    if form is None:
        found.unread += 1
        return
    kind = c.FPDFAnnot_GetFormFieldType(form, annotation)
    if kind in _MARKED:
        found.texts.append((place, "[x]" if c.FPDFAnnot_IsChecked(form, annotation) else "[ ]"))
    elif kind == c.FPDF_FORMFIELD_LISTBOX:
        words = "\n".join(_chosen(form, annotation))
        if words:
            found.fill(place, words)
    elif kind in _TYPED and not c.FPDFAnnot_GetFormFieldFlags(form, annotation) & _PASSWORD:
        value = _wide(lambda *out: c.FPDFAnnot_GetFormFieldValue(form, annotation, *out))
        if kind == c.FPDF_FORMFIELD_COMBOBOX:
            value = next(_chosen(form, annotation), value)
        if value.strip():
            found.fill(place, value)


def _chosen(form: pdfium.PdfFormEnv, annotation: c.FPDF_ANNOTATION) -> Iterator[str]:
    """The labels of the options that are chosen."""
    for index in range(min(_MOST, max(0, c.FPDFAnnot_GetOptionCount(form, annotation)))):
        if c.FPDFAnnot_IsOptionSelected(form, annotation, index):
            yield _option(form, annotation, index)


def _option(form: pdfium.PdfFormEnv, annotation: c.FPDF_ANNOTATION, index: int) -> str:
    return _wide(lambda *out: c.FPDFAnnot_GetOptionLabel(form, annotation, index, *out))


def _address(page: pdfium.PdfPage, annotation: c.FPDF_ANNOTATION) -> str:
    action = c.FPDFLink_GetAction(c.FPDFAnnot_GetLink(annotation))
    if not action or c.FPDFAction_GetType(action) != c.PDFACTION_URI:
        return ""
    size = c.FPDFAction_GetURIPath(page.pdf, action, None, 0)
    if not 1 < size <= _LINK_CHARS:
        return ""
    buffer = ctypes.create_string_buffer(size)
    c.FPDFAction_GetURIPath(page.pdf, action, buffer, size)
    address = buffer.value.decode("utf-8", "replace").strip()
    return address if address.lower().startswith(_SCHEMES) and " " not in address else ""


def _rectangle(annotation: c.FPDF_ANNOTATION) -> Rectangle:
    found = c.FS_RECTF()
    if not c.FPDFAnnot_GetRect(annotation, found):
        return 0.0, 0.0, 0.0, 0.0
    return (
        min(found.left, found.right),
        min(found.bottom, found.top),
        max(found.left, found.right),
        max(found.bottom, found.top),
    )


def _quads(annotation: c.FPDF_ANNOTATION) -> list[Rectangle]:
    """The rectangles around the words that an annotation is attached to, line by line."""
    found = []
    quad = c.FS_QUADPOINTSF()
    for at in range(min(_MOST, c.FPDFAnnot_CountAttachmentPoints(annotation))):
        if c.FPDFAnnot_GetAttachmentPoints(annotation, at, quad):
            xs, ys = (quad.x1, quad.x2, quad.x3, quad.x4), (quad.y1, quad.y2, quad.y3, quad.y4)
            found.append((min(xs), min(ys), max(xs), max(ys)))
    return found


def _string(annotation: c.FPDF_ANNOTATION, key: bytes) -> str:
    return _wide(lambda *out: c.FPDFAnnot_GetStringValue(annotation, key, *out))


def _wide(get: Callable[..., int]) -> str:
    """A text that pdfium gives as UTF-16, called with a buffer and its size in bytes."""
    size = get(None, 0)
    if size <= 2:
        return ""
    size = min(size, 2 * _TEXT_CHARS)
    buffer = ctypes.create_string_buffer(size)
    get(ctypes.cast(buffer, ctypes.POINTER(c.FPDF_WCHAR)), size)
    return buffer.raw[: size - 2].decode("utf-16-le", "replace").replace("\0", "")

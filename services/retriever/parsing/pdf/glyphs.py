"""The characters of one PDF page as pdfium sees them: code, box, style, and whether anybody can see them.

Only a worker process calls this: pdfium is neither thread-safe nor crash-free.
"""

import ctypes
import math
import re
from array import array
from dataclasses import dataclass

import pypdfium2 as pdfium
import pypdfium2.raw as c

from services.retriever.parsing.pdf.geometry import Frame, Rectangle

_BOLD_NAME = re.compile(r"bold|black|heavy|demi|-medi|cmbx|sfbx", re.IGNORECASE)
_BOLD_WEIGHT = 650
_LIGHT, _FAINT = 230, 25  # Of 255: the least of red, green and blue; opacity.
_UNSEEN_MODES = (c.FPDF_TEXTRENDERMODE_INVISIBLE, c.FPDF_TEXTRENDERMODE_CLIP)


@dataclass(frozen=True)
class Style:
    """How a run of characters is drawn. `size` is in points on the page; `light` is near white or near clear."""

    size: float
    bold: bool
    invisible: bool
    light: bool


@dataclass(frozen=True)
class Glyphs:
    """One entry per pdfium character index; `boxes` holds four floats for each.

    `runs` are (start, end, style): successive characters of one text object. Characters that pdfium made up (line
    ends, some spaces) belong to the run before them.
    """

    frame: Frame
    chars: list[str]
    boxes: "array[float]"
    runs: list[tuple[int, int, Style]]

    def box(self, index: int) -> Rectangle:
        """The character's box in user space, as high as its line."""
        left, bottom, right, top = self.boxes[4 * index : 4 * index + 4]
        return left, bottom, right, top


def frame_of(page: pdfium.PdfPage) -> Frame:
    """The visible part of the page."""
    rectangle = c.FS_RECTF()
    found = c.FPDF_GetPageBoundingBox(page, rectangle)
    width, height = rectangle.right - rectangle.left, rectangle.top - rectangle.bottom
    if not found or width <= 0 or height <= 0:
        return Frame(0.0, 0.0, 612.0, 792.0, page.get_rotation())
    return Frame(
        rectangle.left, rectangle.bottom, rectangle.right, rectangle.top, page.get_rotation()
    )


def read(page: pdfium.PdfPage) -> Glyphs:
    """All characters of a page in pdfium's reading order. Raises pdfium.PdfiumError."""
    textpage = page.get_textpage()
    try:
        raw = textpage.raw
        count = max(0, c.FPDFText_CountChars(raw))
        chars = [chr(code & 0x1FFFFF if code < 0x110000 else 0xFFFD) for code in _codes(raw, count)]
        return Glyphs(frame_of(page), chars, _boxes(raw, count), _runs(raw, count))
    finally:
        textpage.close()


def _codes(raw: c.FPDF_TEXTPAGE, count: int) -> list[int]:
    code = c.FPDFText_GetUnicode
    return [code(raw, index) for index in range(count)]


def _boxes(raw: c.FPDF_TEXTPAGE, count: int) -> "array[float]":
    boxes = array("f", bytes(16 * count))
    rectangle = c.FS_RECTF()
    measure = c.FPDFText_GetLooseCharBox
    for index in range(count):
        if measure(raw, index, rectangle):
            at = 4 * index
            boxes[at] = rectangle.left
            boxes[at + 1] = rectangle.bottom
            boxes[at + 2] = rectangle.right
            boxes[at + 3] = rectangle.top
    return boxes


def _runs(raw: c.FPDF_TEXTPAGE, count: int) -> list[tuple[int, int, Style]]:
    """Successive characters of one style; light text object by object, for its surroundings decide."""
    styles = _Styles(raw)
    runs: list[tuple[int, int, Style]] = []
    object_of, address_of = c.FPDFText_GetTextObject, ctypes.addressof
    current, start = 0, 0
    style: Style | None = None
    for index in range(count):
        pointer = object_of(raw, index)
        address = address_of(pointer.contents) if pointer else 0
        if address == 0 or address == current:
            continue
        current = address
        found = styles.of(index, pointer)
        if found is style and not found.light:
            continue
        if style is not None:
            runs.append((start, index, style))
            start = index
        style = found
    if style is not None:
        runs.append((start, count, style))
    return runs


class _Styles:
    """Reads the styles of one page. Some PDFs make a text object of every letter, so nothing is allocated twice."""

    def __init__(self, raw: c.FPDF_TEXTPAGE) -> None:
        self._raw = raw
        self._matrix = c.FS_MATRIX()
        self._colour = tuple(ctypes.c_uint(0) for _ in range(4))
        self._bold: dict[int, bool] = {}
        self._known: dict[tuple[float, bool, bool, bool], Style] = {}

    def of(self, index: int, text_object: c.FPDF_PAGEOBJECT) -> Style:
        """The style of a text object, `index` being one of its characters. Equal styles are the same object."""
        matrix = self._matrix
        scale = 1.0
        if c.FPDFText_GetMatrix(self._raw, index, matrix):
            scale = math.hypot(matrix.c, matrix.d) or math.hypot(matrix.a, matrix.b)
        size = abs(c.FPDFText_GetFontSize(self._raw, index) * scale)
        red, green, blue, alpha = self._colour
        light = False
        if c.FPDFPageObj_GetFillColor(text_object, red, green, blue, alpha):
            light = alpha.value < _FAINT or (
                red.value >= _LIGHT and green.value >= _LIGHT and blue.value >= _LIGHT
            )
        key = (
            round(size * 2) / 2 if size >= 1 else size,
            self._is_bold(index, text_object),
            c.FPDFTextObj_GetTextRenderMode(text_object) in _UNSEEN_MODES,
            light,
        )
        style = self._known.get(key)
        if style is None:
            style = self._known[key] = Style(*key)
        return style

    def _is_bold(self, index: int, text_object: c.FPDF_PAGEOBJECT) -> bool:
        font = c.FPDFTextObj_GetFont(text_object)
        address = ctypes.addressof(font.contents) if font else 0
        bold = self._bold.get(address)
        if bold is None:
            name = ctypes.create_string_buffer(256)
            length = c.FPDFFont_GetBaseFontName(font, name, 256) if font else 0
            named = 0 < length <= 256 and _BOLD_NAME.search(name.value.decode("latin-1"))
            bold = bool(named) or c.FPDFText_GetFontWeight(self._raw, index) >= _BOLD_WEIGHT
            self._bold[address] = bold
        return bold

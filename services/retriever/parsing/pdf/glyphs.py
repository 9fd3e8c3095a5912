"""The characters of one PDF page as pdfium sees them: code, box, style, and whether anybody can see them.

Only a worker process calls this: pdfium is neither thread-safe nor crash-free.
"""

import ctypes
import math
import re
from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import repeat

import pypdfium2 as pdfium
import pypdfium2.raw as c

from services.retriever.parsing.pdf.geometry import Frame, Rectangle

_BOLD_NAME = re.compile(r"bold|black|heavy|demi|-medi|cmbx|sfbx", re.IGNORECASE)
_BOLD_WEIGHT = 650
_LIGHT, _FAINT = 230, 25  # Of 255: the least of red, green and blue; opacity.
SLANTED = 4
_SLANT = 5.0  # Degrees.
_DESCENT = 0.22  # Of a line's height, where only boxes are known.
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
    ends, some spaces) belong to the run before them. `turns` are quarter turns counter-clockwise in user space, SLANTED
    for any other angle; `baselines` say how far down the lines of such text a character stands, in points (for upright
    text minus its y). Without them all text is upright and stands a bit above the bottom of its boxes.
    `uncertain`: indices of those that OCR read in doubt.
    """

    frame: Frame
    chars: list[str]
    boxes: "array[float]"
    runs: list[tuple[int, int, Style]]
    turns: bytearray = field(default_factory=bytearray)
    baselines: "array[float]" = field(default_factory=lambda: array("f"))
    objects: list[int | None] = field(default_factory=list)
    """Addresses of the characters' text objects, for as long as the page is open; 0 where pdfium made one up."""

    uncertain: frozenset[int] = frozenset()

    def __post_init__(self) -> None:
        if not self.turns:
            self.turns.extend(bytes(len(self.chars)))
            tops, bottoms = self.boxes[3::4], self.boxes[1::4]
            self.baselines.extend(
                -bottom - _DESCENT * (top - bottom)
                for top, bottom in zip(tops, bottoms, strict=True)
            )

    def box(self, index: int) -> Rectangle:
        """The character's box in user space, as high as its line."""
        left, bottom, right, top = self.boxes[4 * index : 4 * index + 4]
        return left, bottom, right, top

    def shown(self) -> tuple[list[float], list[float], list[float], list[float]]:
        """Left, top, right and bottom of every character in points on the page as it is shown."""
        frame, boxes = self.frame, self.boxes
        x0, x1 = ([x - frame.left for x in boxes[at::4]] for at in (0, 2))
        y0, y1 = ([y - frame.bottom for y in boxes[at::4]] for at in (1, 3))
        width, height = frame.right - frame.left, frame.top - frame.bottom
        match frame.rotation:
            case 90:
                return y0, x0, y1, x1
            case 180:
                return [width - x for x in x1], y0, [width - x for x in x0], y1
            case 270:
                return (
                    [height - y for y in y1],
                    [width - x for x in x1],
                    [height - y for y in y0],
                    [width - x for x in x0],
                )
            case _:
                return x0, [height - y for y in y1], x1, [height - y for y in y0]


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
        address = ctypes.cast(raw, ctypes.c_void_p).value
        # One call per character and no Python in between: pages have thousands.
        codes = map(_unicode, repeat(address), range(count))
        chars = [chr(code & 0x1FFFFF) if code < 0x110000 else "\ufffd" for code in codes]
        found = Glyphs(
            frame_of(page),
            chars,
            _boxes(address, count),
            [],
            bytearray(count),
            array("f", bytes(4 * count)),
        )
        found.objects.extend(map(_object, repeat(address), range(count)))
        _Runs(raw, found).read(found.objects)
        return found
    finally:
        textpage.close()


def _fast(function: object, result: type, *arguments: type) -> Callable[..., int]:
    """A C function with plain addresses for arguments, and without releasing the interpreter for each call."""
    address = ctypes.cast(function, ctypes.c_void_p).value  # type: ignore[arg-type]
    return ctypes.PYFUNCTYPE(result, *arguments)(address or 0)


_unicode = _fast(c.FPDFText_GetUnicode, ctypes.c_uint, ctypes.c_void_p, ctypes.c_int)
_object = _fast(c.FPDFText_GetTextObject, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int)
_loose_box = _fast(
    c.FPDFText_GetLooseCharBox, ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p
)


def _boxes(address: int | None, count: int) -> "array[float]":
    # An FS_RECTF holds left, top, right and bottom.
    measured = (ctypes.c_float * (4 * count))()
    start = ctypes.addressof(measured)
    for _ in map(_loose_box, repeat(address), range(count), range(start, start + 16 * count, 16)):
        pass
    boxes = array("f")
    boxes.frombytes(bytes(measured))
    boxes[1::4], boxes[3::4] = boxes[3::4], boxes[1::4]
    return boxes


class _Runs:
    """Fills in runs, turns and baselines of a page, text object by text object."""

    def __init__(self, raw: c.FPDF_TEXTPAGE, found: Glyphs) -> None:
        self._styles = _Styles(raw)
        self._found = found

    def read(self, objects: Sequence[int | None]) -> None:
        """`objects` are the addresses of the characters' text objects; 0 or None where pdfium made one up."""
        runs = self._found.runs
        style: Style | None = None
        start = current = 0
        begun = 0
        for index, address in enumerate(objects):
            if not address or address == current:
                continue
            if current:
                self._place(begun, index)
            current, begun = address, index
            found = self._styles.of(index, ctypes.cast(address, c.FPDF_PAGEOBJECT))
            # Light text stays object by object, for its surroundings decide.
            if found is style and not found.light:
                continue
            if style is not None:
                runs.append((start, index, style))
                start = index
            style = found
        if style is not None:
            self._place(begun, len(objects))
            runs.append((start, len(objects), style))

    def _place(self, start: int, end: int) -> None:
        turn, baseline = self._styles.place
        length = end - start
        if turn:
            self._found.turns[start:end] = bytes((turn,)) * length
        self._found.baselines[start:end] = array("f", (baseline,)) * length


class _Styles:
    """Reads the styles of one page. Some PDFs make a text object of every letter, so nothing is allocated twice."""

    def __init__(self, raw: c.FPDF_TEXTPAGE) -> None:
        self._raw = raw
        self._matrix = c.FS_MATRIX()
        self._colour = tuple(ctypes.c_uint(0) for _ in range(4))
        self._x, self._y = ctypes.c_double(), ctypes.c_double()
        self._bold: dict[int, bool] = {}
        self.place = (0, 0.0)
        """The turn and the baseline of the text object that was read last."""
        self._known: dict[tuple[float, bool, bool, bool], Style] = {}

    def of(self, index: int, text_object: c.FPDF_PAGEOBJECT) -> Style:
        """The style of a text object, `index` being one of its characters. Equal styles are the same object."""
        matrix = self._matrix
        scale = 1.0
        if c.FPDFText_GetMatrix(self._raw, index, matrix):
            scale = math.hypot(matrix.c, matrix.d) or math.hypot(matrix.a, matrix.b)
        c.FPDFText_GetCharOrigin(self._raw, index, self._x, self._y)
        self.place = _placed(matrix, self._x.value, self._y.value)
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


def _placed(matrix: c.FS_MATRIX, x: float, y: float) -> tuple[int, float]:
    angle = math.degrees(math.atan2(matrix.b, matrix.a))
    turn = round(angle / 90)
    if abs(angle - 90 * turn) > _SLANT:
        return SLANTED, -y
    turn %= 4
    return turn, (-y, x, y, -x)[turn]

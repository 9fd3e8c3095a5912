"""Text that something opaque was drawn over later, on the page or by an annotation, or that belongs to a layer that is
switched off.

Whether it can be seen is tried: the page is drawn with and without it.
"""

import ctypes
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

import pypdfium2 as pdfium
import pypdfium2.raw as c

from services.retriever.parsing.pdf.geometry import Rectangle, clip
from services.retriever.parsing.pdf.glyphs import Glyphs

_MAX_OBJECTS = 20_000
_MAX_DEPTH = 4
_DPI = 72
_MAX_PIXELS = 4_000_000
_LEAST = 3.0  # Points: what is thinner is a line.
_SURE = 0.85  # Of the letters of a run.
_DIFFERENT = 10  # Of 255.
_COVERS = (c.FPDF_PAGEOBJ_PATH, c.FPDF_PAGEOBJ_IMAGE)
_LAYER = b"O\0C\0\0\0"


def find(
    page: pdfium.PdfPage, glyphs: Glyphs, unseen: bytearray, above: Sequence[Rectangle] = ()
) -> set[int]:
    """The characters that nobody sees, of those under a later drawing or in a layer.

    `above`: rectangles of annotations, which are drawn over the page.
    """
    if not glyphs.objects:
        return set()
    walk = _Walk(page)
    walk.cover(above)
    suspects = walk.suspects()
    if not suspects:
        return set()
    letters: dict[int, list[int]] = {}
    for index, address in enumerate(glyphs.objects):
        if address and address in suspects and not unseen[index] and glyphs.chars[index] > " ":
            letters.setdefault(address, []).append(index)
    candidates: dict[int, list[int]] = {}
    for address, indices in letters.items():
        order = suspects[address]
        if order >= 0:
            covers = _over(glyphs, indices, walk.covers, order)
            indices = [index for index in indices if _is_under(glyphs.box(index), covers)]
        if indices:
            candidates[address] = indices
    return set(_unchanged(page, glyphs, candidates)) if candidates else set()


def _over(
    glyphs: Glyphs, indices: list[int], covers: Iterable[tuple[int, Rectangle]], order: int
) -> list[Rectangle]:
    """The covers that were drawn after a run of letters and touch it."""
    later = [rectangle for number, rectangle in covers if number > order]
    if not later:
        return []
    boxes = [glyphs.box(index) for index in indices]
    left, bottom = min(box[0] for box in boxes), min(box[1] for box in boxes)
    right, top = max(box[2] for box in boxes), max(box[3] for box in boxes)
    return [r for r in later if r[0] < right and r[2] > left and r[1] < top and r[3] > bottom]


class _Walk:
    """The objects of a page in the order in which they are drawn."""

    def __init__(self, page: pdfium.PdfPage) -> None:
        self._count = 0
        self._texts: list[tuple[int, int, bool]] = []
        self.covers: list[tuple[int, Rectangle]] = []
        """Order and bounds of filled shapes and pictures that let nothing through."""
        self._walk(c.FPDFPage_CountObjects(page), partial(c.FPDFPage_GetObject, page), ())
        if self._count > _MAX_OBJECTS:
            self.covers = []

    def cover(self, above: Iterable[Rectangle]) -> None:
        """Drawings over the whole of the page's content. Whether they let something through is tried."""
        self.covers += [
            (self._count + 1, (left, bottom, right, top))
            for left, bottom, right, top in above
            if min(right - left, top - bottom) > _LEAST
        ]

    def suspects(self) -> dict[int, int]:
        """Text objects before a cover, with their order; -1 for one in a layer."""
        last = max((order for order, _ in self.covers), default=0)
        return {
            address: -1 if layer else order
            for address, order, layer in self._texts
            if layer or order < last
        }

    def _walk(
        self,
        count: int,
        get: Callable[[int], c.FPDF_PAGEOBJECT],
        forms: tuple[c.FPDF_PAGEOBJECT, ...],
    ) -> None:
        for at in range(count):
            self._count += 1
            if self._count > _MAX_OBJECTS:
                return
            item = get(at)
            kind = c.FPDFPageObj_GetType(item)
            if kind == c.FPDF_PAGEOBJ_TEXT:
                address = ctypes.addressof(item.contents)
                self._texts.append((address, self._count, _in_layer(item)))
            elif kind == c.FPDF_PAGEOBJ_FORM:
                if len(forms) < _MAX_DEPTH:
                    inner = partial(c.FPDFFormObj_GetObject, item)
                    self._walk(c.FPDFFormObj_CountObjects(item), inner, (*forms, item))
            elif self._texts and kind in _COVERS and _is_opaque(item, kind):
                left, bottom, right, top = _bounds(item, forms)
                if min(right - left, top - bottom) > _LEAST:
                    self.covers.append((self._count, (left, bottom, right, top)))


def _bounds(item: c.FPDF_PAGEOBJECT, forms: tuple[c.FPDF_PAGEOBJECT, ...]) -> Rectangle:
    """In the page's space: an object of a form is in the form's."""
    found = [ctypes.c_float(0) for _ in range(4)]
    if not c.FPDFPageObj_GetBounds(item, *found):
        return 0.0, 0.0, 0.0, 0.0
    left, bottom, right, top = (value.value for value in found)
    matrix = c.FS_MATRIX()
    for form in reversed(forms):
        if c.FPDFPageObj_GetMatrix(form, matrix):
            corners = [
                (matrix.a * x + matrix.c * y + matrix.e, matrix.b * x + matrix.d * y + matrix.f)
                for x in (left, right)
                for y in (bottom, top)
            ]
            left, right = min(x for x, _ in corners), max(x for x, _ in corners)
            bottom, top = min(y for _, y in corners), max(y for _, y in corners)
    return left, bottom, right, top


def _is_opaque(item: c.FPDF_PAGEOBJECT, kind: int) -> bool:
    if c.FPDFPageObj_HasTransparency(item):
        return False
    if kind == c.FPDF_PAGEOBJ_IMAGE:
        return True
    fill, stroke = ctypes.c_int(0), ctypes.c_int(0)
    c.FPDFPath_GetDrawMode(item, fill, stroke)
    # A thick stroke, as a marker draws it, covers as well.
    width = ctypes.c_float(0)
    return bool(fill.value) or bool(
        stroke.value and c.FPDFPageObj_GetStrokeWidth(item, width) and width.value > _LEAST
    )


def _in_layer(item: c.FPDF_PAGEOBJECT) -> bool:
    """Whether the text is marked as optional content. pdfium draws it or not; its text is there either way."""
    name = ctypes.create_string_buffer(16)
    length = ctypes.c_ulong(0)
    for at in range(max(0, c.FPDFPageObj_CountMarks(item))):
        mark = c.FPDFPageObj_GetMark(item, at)
        units = ctypes.cast(name, ctypes.POINTER(c.FPDF_WCHAR))
        if (
            mark
            and c.FPDFPageObjMark_GetName(mark, units, 16, length)
            and name.raw[: length.value] == _LAYER
        ):
            return True
    return False


def _is_under(box: Rectangle, covers: Iterable[Rectangle]) -> bool:
    x, y = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
    return any(left < x < right and bottom < y < top for left, bottom, right, top in covers)


def _unchanged(
    page: pdfium.PdfPage, glyphs: Glyphs, candidates: dict[int, list[int]]
) -> Iterator[int]:
    """Characters whose place on the page looks the same without them."""
    width, height = glyphs.frame.size
    scale = _DPI / 72
    if width * height * scale * scale > _MAX_PIXELS:
        scale = (_MAX_PIXELS / (width * height)) ** 0.5
    with_text = _Picture(page, scale)
    objects = [ctypes.cast(address, c.FPDF_PAGEOBJECT) for address in candidates]
    for item in objects:
        c.FPDFPageObj_SetIsActive(item, False)
    try:
        without = _Picture(page, scale)
    finally:
        for item in objects:
            c.FPDFPageObj_SetIsActive(item, True)
    for indices in candidates.values():
        same = [index for index in indices if _is_same(glyphs, index, with_text, without)]
        # Small or pale letters may leave no trace here and there: then all of them are seen.
        if len(same) >= _SURE * len(indices):
            yield from indices


def _is_same(glyphs: Glyphs, index: int, one: "_Picture", other: "_Picture") -> bool:
    box = clip(glyphs.frame.shown(glyphs.box(index)))
    return box is not None and not one.differs(other, (box.left, box.top, box.right, box.bottom))


class _Picture:
    """The page in grey."""

    def __init__(self, page: pdfium.PdfPage, scale: float) -> None:
        bitmap = page.render(scale=scale, grayscale=True, may_draw_forms=False)
        try:
            self._width, self._height, self._stride = bitmap.width, bitmap.height, bitmap.stride
            self._pixels = bytes(bitmap.buffer)
        finally:
            bitmap.close()

    def differs(self, other: "_Picture", part: tuple[float, float, float, float]) -> bool:
        """Whether two pictures differ in a part of the page, in fractions of it."""
        left, right = int(part[0] * self._width), int(part[2] * self._width) + 1
        for row in range(int(part[1] * self._height), int(part[3] * self._height) + 1):
            start = row * self._stride
            one = self._pixels[start + left : start + right]
            two = other._pixels[start + left : start + right]
            if one != two and any(abs(a - b) >= _DIFFERENT for a, b in zip(one, two, strict=True)):
                return True
        return False

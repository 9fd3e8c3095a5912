"""Text that a reader of the page does not see.

It is left out of the document's text and reported in its warnings: a sentence that nobody can see must not be
quoted as if it stood there, nor steer an answer. The exception is the text layer that an OCR program puts, invisible,
over a scanned page.

Not found: dark text under a picture or a filled box, and layers (optional content) that are switched off.
"""

from dataclasses import dataclass

import pypdfium2 as pdfium
import pypdfium2.raw as c

from services.retriever.parsing.pdf.geometry import clip
from services.retriever.parsing.pdf.glyphs import Glyphs

_TINY_POINTS = 1.5  # Print stops being legible at about three.
# A page is a scan when images cover this much of it and this much of its text is invisible.
_SCAN_COVER = 0.5
_SCAN_INVISIBLE = 0.9
# Light text is visible where its surroundings differ: on a dark banner, on a photograph.
_CONTRAST = 24
_CONTRAST_DPI = 72
_MAX_PIXELS = 4_000_000


@dataclass(frozen=True)
class Hidden:
    """`flags[i]` says that character i is not seen; `text_layer` that the page's text is an OCR layer."""

    flags: bytearray
    text_layer: bool


def find(page: pdfium.PdfPage, glyphs: Glyphs) -> Hidden:
    """Marks the characters of a page that are invisible, white on white, off the page or below 1.5 points."""
    flags = bytearray(len(glyphs.chars))
    layer = _is_text_layer(page, glyphs)
    light = [run for run in glyphs.runs if run[2].light and not run[2].invisible]
    picture = _picture(page, glyphs) if light else None
    for start, end, style in glyphs.runs:
        unseen = (style.invisible and not layer) or style.size < _TINY_POINTS
        if unseen or (picture and style.light and not picture.shows(start, end)):
            flags[start:end] = b"\1" * (end - start)
    _mark_off_page(glyphs, flags)
    return Hidden(flags, layer)


def _mark_off_page(glyphs: Glyphs, flags: bytearray) -> None:
    frame, boxes = glyphs.frame, glyphs.boxes
    if boxes and (
        min(boxes[2::4]) >= frame.left
        and max(boxes[0::4]) <= frame.right
        and min(boxes[3::4]) >= frame.bottom
        and max(boxes[1::4]) <= frame.top
    ):
        return  # As on nearly all pages.
    for index, char in enumerate(glyphs.chars):
        if char <= " ":
            continue
        at = 4 * index
        if (
            boxes[at + 2] < frame.left
            or boxes[at] > frame.right
            or boxes[at + 3] < frame.bottom
            or boxes[at + 1] > frame.top
        ):
            flags[index] = 1


def _is_text_layer(page: pdfium.PdfPage, glyphs: Glyphs) -> bool:
    total = sum(end - start for start, end, _ in glyphs.runs)
    unseen = sum(end - start for start, end, style in glyphs.runs if style.invisible)
    if not total or unseen < _SCAN_INVISIBLE * total:
        return False
    frame = glyphs.frame
    area = (frame.right - frame.left) * (frame.top - frame.bottom)
    covered = 0.0
    for image in page.get_objects(filter=[c.FPDF_PAGEOBJ_IMAGE], max_depth=3):
        left, bottom, right, top = image.get_bounds()
        width = min(right, frame.right) - max(left, frame.left)
        height = min(top, frame.top) - max(bottom, frame.bottom)
        covered += max(0.0, width) * max(0.0, height)
    return covered >= _SCAN_COVER * area


class _Picture:
    """The page in grey, to see whether light text stands out."""

    def __init__(self, glyphs: Glyphs, width: int, height: int, pixels: bytes, stride: int) -> None:
        self._glyphs = glyphs
        self._width, self._height, self._stride = width, height, stride
        self._pixels = pixels

    def shows(self, start: int, end: int) -> bool:
        """Whether anything in the boxes of these characters differs from its surroundings."""
        glyphs = self._glyphs
        darkest, lightest = 255, 0
        for index in range(start, end):
            if glyphs.chars[index] <= " ":
                continue
            box = clip(glyphs.frame.shown(glyphs.box(index)))
            if box is None:
                continue
            left, right = int(box.left * self._width), int(box.right * self._width) + 1
            for row in range(int(box.top * self._height), int(box.bottom * self._height) + 1):
                if row >= self._height:
                    break
                line = self._pixels[row * self._stride + left : row * self._stride + right]
                if line:
                    darkest, lightest = min(darkest, min(line)), max(lightest, max(line))
            if lightest - darkest >= _CONTRAST:
                return True
        return False


def _picture(page: pdfium.PdfPage, glyphs: Glyphs) -> _Picture:
    width, height = glyphs.frame.size
    scale = _CONTRAST_DPI / 72
    if width * height * scale * scale > _MAX_PIXELS:
        scale = (_MAX_PIXELS / (width * height)) ** 0.5
    bitmap = page.render(scale=scale, grayscale=True, may_draw_forms=False)
    try:
        return _Picture(glyphs, bitmap.width, bitmap.height, bytes(bitmap.buffer), bitmap.stride)
    finally:
        bitmap.close()

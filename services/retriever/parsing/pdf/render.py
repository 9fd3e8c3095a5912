"""A PDF page as a picture, with rectangles highlighted. Runs in a worker process only."""

import io
from collections.abc import Sequence

import pypdfium2 as pdfium
from PIL import Image, ImageChops, ImageDraw

from services.retriever.documents import Box
from services.retriever.parsing.pdf.geometry import clip
from services.retriever.parsing.pdf.opening import opened
from services.rpc.errors import InvalidArgument

_HIGHLIGHT = (255, 235, 110)
_MARGIN = 0.002  # Of the page: a highlight that touches its letters is hard to read.


def render(
    data: bytes, page: int, dpi: int, highlights: Sequence[Box], password: str, max_pixels: int
) -> tuple[bytes, int, int]:
    """A page as PNG, its width and its height in pixels. A very large page gets fewer dots per inch.

    Raises InvalidArgument for a page that does not exist or cannot be drawn, and as `opening.opened`.
    """
    if not 10 <= dpi <= 600:
        raise InvalidArgument.field("dpi", "must be between 10 and 600")
    image = _picture(data, page, dpi, password, max_pixels)
    if image is None:
        image = _picture(data, page, dpi, password, max_pixels, mend=True)
    if image is None:
        raise InvalidArgument("the page is damaged and cannot be drawn", reason="BROKEN_PAGE")
    image = _highlighted(image, highlights)
    file = io.BytesIO()
    image.save(file, "PNG")
    return file.getvalue(), image.width, image.height


def _picture(
    data: bytes, page: int, dpi: int, password: str, max_pixels: int, mend: bool = False
) -> Image.Image | None:
    with opened(data, password, mend) as document:
        if not 0 <= page < len(document):
            raise InvalidArgument.field("page", f"the document has pages 0 to {len(document) - 1}")
        try:
            return draw(document[page], dpi / 72, max_pixels)
        except pdfium.PdfiumError:
            return None


def draw(page: pdfium.PdfPage, scale: float, max_pixels: int) -> Image.Image:
    """The page as it is shown, at `scale` pixels a point or fewer; closes it. Raises pdfium.PdfiumError."""
    width, height = page.get_size()
    scale = min(scale, (max_pixels / max(1.0, width * height)) ** 0.5)
    bitmap = page.render(scale=scale, may_draw_forms=False)
    try:
        image: Image.Image = bitmap.to_pil().convert("RGB")
        return image
    finally:
        bitmap.close()
        page.close()


def _highlighted(image: Image.Image, highlights: Sequence[Box]) -> Image.Image:
    """Multiplied, as with a marker pen: black stays black, white takes the colour."""
    marks = Image.new("RGB", image.size, (255, 255, 255))
    pen = ImageDraw.Draw(marks)
    for box in highlights:
        wide = Box(box.left - _MARGIN, box.top - _MARGIN, box.right + _MARGIN, box.bottom + _MARGIN)
        inside = clip(wide)
        if inside is not None:
            pen.rectangle(
                (
                    inside.left * image.width,
                    inside.top * image.height,
                    inside.right * image.width,
                    inside.bottom * image.height,
                ),
                fill=_HIGHLIGHT,
            )
    return ImageChops.multiply(image, marks)

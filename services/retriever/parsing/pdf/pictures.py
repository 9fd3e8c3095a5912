"""Pictures (PNG, JPEG, TIFF) as documents whose pages are scans: each frame is the page that a scanner would have made.

A frame is decoded when its page is asked for, and only the last one is held. Reading, drawing and finding a place are
those of a PDF.
"""

import io
import warnings

import pypdfium2 as pdfium
import pypdfium2.raw as c
from PIL import Image, ImageOps

from services.rpc.errors import InvalidArgument, ResourceExhausted

MAX_PIXELS = 100_000_000  # A3 at 600 dpi has 70 million.
_KEPT_PIXELS = 9_500_000  # A4 at 300 dpi, which is what OCR reads.
_MAX_FRAMES = 10_000
_MAX_POINTS = 14_000.0  # A page of a PDF has at most 14,400.
_DPI, _LEAST_DPI, _MOST_DPI = 96.0, 75.0, 2_400.0  # 72 is what programs write that know of none.
_FORMATS = ("PNG", "JPEG", "TIFF")
_SUBFILE, _REDUCED = 254, 1  # TIFF: a small copy of another frame.
_BLANK = 72.0
# What Pillow raises for a damaged file.
_DAMAGED = (OSError, SyntaxError, ValueError, TypeError, KeyError, EOFError, IndexError)


class Pictures(pdfium.PdfDocument):  # type: ignore[misc]
    """A document with a page for each frame. Raises InvalidArgument for a file that holds none."""

    def __init__(self, data: bytes) -> None:
        # Ours are the bounds on what is decoded.
        Image.MAX_IMAGE_PIXELS = None
        warnings.simplefilter("ignore")
        try:
            self._file = Image.open(io.BytesIO(data), formats=_FORMATS)
            self._frames = _frames(self._file)
        except _DAMAGED:
            raise broken() from None
        super().__init__(c.FPDF_CreateNewDocument())
        for _ in self._frames:
            self.new_page(_BLANK, _BLANK).close()
        self._index = -1
        self._page: pdfium.PdfDocument | None = None

    def get_page(self, index: int) -> pdfium.PdfPage:
        """The page of a frame. PdfiumError where it is damaged, ResourceExhausted where it is too large."""
        if index != self._index or self._page is None:
            self._forget()
            try:
                self._page = self._drawn(self._frames[index])
            except _DAMAGED:
                raise pdfium.PdfiumError("the picture is damaged") from None
            self._index = index
        return self._page.get_page(0)

    def close(self) -> None:
        """Closes the last page too."""
        self._forget()
        super().close()

    def _forget(self) -> None:
        if self._page is not None:
            self._page.close()
            self._page = None

    def _drawn(self, frame: int) -> pdfium.PdfDocument:
        self._file.seek(frame)
        width, height = self._file.size
        if width * height > MAX_PIXELS:
            raise ResourceExhausted(
                f"the picture has {width:,} by {height:,} pixels, more than {MAX_PIXELS:,} in all: make it smaller",
                reason="TOO_MANY_PIXELS",
            )
        dpi = _dpi(self._file)
        picture = upright(self._file)
        scale = min(72 / dpi, _MAX_POINTS / max(picture.size))
        wide, high = picture.width * scale, picture.height * scale
        kept = (_KEPT_PIXELS / (picture.width * picture.height)) ** 0.5
        if kept < 1:
            picture = picture.resize(
                (max(1, round(picture.width * kept)), max(1, round(picture.height * kept))),
                Image.Resampling.LANCZOS,
                reducing_gap=2.0,
            )
        packed = io.BytesIO()
        picture.save(packed, "JPEG", quality=92, subsampling=0)
        document = pdfium.PdfDocument.new()
        page = document.new_page(wide, high)
        image = pdfium.PdfImage.new(document)
        image.load_jpeg(io.BytesIO(packed.getvalue()), inline=True)
        image.set_matrix(pdfium.PdfMatrix().scale(wide, high))
        page.insert_obj(image)
        page.gen_content()
        page.close()
        return document


def broken() -> InvalidArgument:
    """What is raised for a picture of which nothing can be decoded."""
    return InvalidArgument(
        "the picture is damaged: open it in a viewer and save it again", reason="BROKEN_FILE"
    )


def upright(picture: Image.Image) -> Image.Image:
    """A frame as it is shown, in grey or in colours: turned as it says, on white where it is transparent."""
    picture.load()
    shown: Image.Image = picture
    if shown.mode.startswith(("I", "F")):
        _, most = shown.getextrema()
        deep = isinstance(most, int | float) and most > 255
        shown = (
            shown.convert("F").point(lambda value: value * (1 / 257 if deep else 1)).convert("L")
        )
    elif shown.mode in ("LA", "PA", "La", "RGBA", "RGBa") or "transparency" in shown.info:
        shown = shown.convert("RGBA")
        paper = Image.new("RGBA", shown.size, "white")
        paper.alpha_composite(shown)
        shown = paper.convert("RGB")
    elif shown.mode not in ("L", "RGB"):
        shown = shown.convert("L" if shown.mode == "1" else "RGB")
    turned = ImageOps.exif_transpose(shown)
    return shown if turned is None else turned


def _frames(file: Image.Image) -> list[int]:
    """The frames that are pages. A PNG or JPEG has one, whatever else is behind it."""
    if file.format != "TIFF":
        return [0]
    found = []
    for frame in range(_MAX_FRAMES):
        try:
            file.seek(frame)
        except EOFError:
            break
        tags = getattr(file, "tag_v2", {})
        if not int(tags.get(_SUBFILE, 0)) & _REDUCED:
            found.append(frame)
    return found or [0]


def _dpi(file: Image.Image) -> float:
    """Dots per inch, a screen's where the file says none or what no scanner has."""
    try:
        across = float(file.info.get("dpi", (0, 0))[0])
    except (TypeError, ValueError, ZeroDivisionError, IndexError):
        return _DPI
    return across if _LEAST_DPI <= across <= _MOST_DPI else _DPI

"""Pictures as documents: read by OCR as the pages of a scan are, each frame a page, within bounds."""

import io
import zlib

import pytest
from PIL import Image

from folio.formats import MediaType
from services.retriever import places
from services.retriever.documents import ParsedDocument, status
from services.retriever.parsing import ParserPool, tesseract
from services.retriever.parsing.limits import ParseLimits
from services.rpc.errors import FailedPrecondition, InvalidArgument, ResourceExhausted
from tests.retriever.parsing.pdf.scans import WORDS, paper, picture

# A loaded machine is no fault of the reader.
PATIENT = ParseLimits(page_s=300.0, ocr_page_s=300.0)
WANTED = "A full inspection costs 1,250 euros in total."


def saved(*frames: Image.Image, kind: str = "PNG", **options: object) -> bytes:
    file = io.BytesIO()
    more: dict[str, object] = {"save_all": True, "append_images": frames[1:]} if frames[1:] else {}
    frames[0].save(file, kind, **more, **options)
    return file.getvalue()


def shown(text: str = WORDS) -> Image.Image:
    """A page of text as a picture, without the white below it."""
    page = picture(paper(text), 200)
    return page.crop((0, 0, page.width, page.height // 3))


def inked() -> Image.Image:
    """The same in black and white."""
    return shown().convert("1", dither=Image.Dither.NONE)


def transparent() -> Image.Image:
    """The same in black on nothing."""
    ink = shown().point(lambda value: 255 - value)
    return Image.merge("RGBA", [Image.new("L", ink.size)] * 3 + [ink])


async def read(data: bytes, ocr: bool = True) -> ParsedDocument:
    pool = ParserPool(PATIENT)
    try:
        return await pool.parse(data, file_name="scan.bin", ocr=ocr)
    finally:
        await pool.close()


def chunk(kind: bytes, body: bytes) -> bytes:
    return len(body).to_bytes(4) + kind + body + zlib.crc32(kind + body).to_bytes(4)


def bomb(width: int, height: int) -> bytes:
    """A small PNG of so many pixels, all black."""
    header = width.to_bytes(4) + height.to_bytes(4) + bytes([1, 0, 0, 0, 0])
    rows = zlib.compress(bytes((width + 7) // 8 + 1) * height, 9)
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")
    )


needs_ocr = pytest.mark.skipif(not tesseract.installed("eng"), reason="OCR needs the extra `ocr`")


@needs_ocr
@pytest.mark.parametrize(
    ("made", "media_type"),
    [
        (lambda: saved(shown()), MediaType.PNG),
        (lambda: saved(shown(), dpi=(200, 200)), MediaType.PNG),
        (lambda: saved(inked()), MediaType.PNG),
        (lambda: saved(shown().convert("P")), MediaType.PNG),
        (lambda: saved(transparent()), MediaType.PNG),
        (lambda: saved(shown().convert("I").point(lambda v: v * 257).convert("I;16")), MediaType.PNG),
        (lambda: saved(shown(), kind="JPEG", quality=85), MediaType.JPEG),
        (lambda: saved(shown().convert("CMYK"), kind="JPEG", quality=90), MediaType.JPEG),
        (lambda: saved(inked(), kind="TIFF", compression="group4"), MediaType.TIFF),
        (lambda: saved(shown(), kind="TIFF", compression="tiff_lzw"), MediaType.TIFF),
    ],
)  # fmt: skip
async def test_each_format_is_read(made: "object", media_type: MediaType) -> None:
    document = await read(made())  # type: ignore[operator]
    assert document.media_type is media_type
    assert WANTED in " ".join(document.text.split())
    assert status(document) == "READY"
    assert not document.metadata


@needs_ocr
async def test_a_photograph_is_read_as_it_is_held() -> None:
    turned = shown().rotate(90, expand=True)
    exif = Image.Exif()
    exif[274] = 6  # To be turned clockwise.
    document = await read(saved(turned, kind="JPEG", exif=exif))
    assert WANTED in " ".join(document.text.split())


@needs_ocr
async def test_each_frame_is_a_page_and_a_quote_is_found_in_it() -> None:
    data = saved(
        *(shown(WORDS.replace("1,250", price)) for price in ("1,250", "1,480", "1,730")),
        kind="TIFF",
    )
    document = await read(data)
    assert [page.label for page in document.pages] == ["1", "2", "3"]
    page = document.pages[1]
    assert "costs 1,480 euros" in page.text
    start = page.char_start + page.text.index("1,480")
    (box,) = places.regions(page, start, start + 5)
    size = Image.open(io.BytesIO(data)).size
    pool = ParserPool(PATIENT)
    try:
        png, width, height = await pool.render(data, 1, 110, [box])
    finally:
        await pool.close()
    drawn = Image.open(io.BytesIO(png)).convert("RGB")
    assert drawn.size == (width, height)
    assert abs(width / height - size[0] / size[1]) < 0.02
    row = [drawn.getpixel((at, round(box.top * height) + 2)) for at in range(width)]
    marked = [at for at, (red, _, blue) in enumerate(row) if red > 200 > 150 > blue]  # type: ignore[misc]
    assert marked
    assert abs(marked[0] - box.left * width) < 5


async def test_a_bomb_is_refused_by_its_size() -> None:
    data = bomb(60_000, 60_000)
    assert len(data) < 2**20
    with pytest.raises(ResourceExhausted) as refused:
        await read(data)
    assert refused.value.reason == "TOO_MANY_PIXELS"


@pytest.mark.parametrize(
    "data", [bomb(50, 50)[:45], b"\xff\xd8\xff\xe0 cut", b"II*\x00\x08\x00\x00\x00"]
)
async def test_a_damaged_picture_is_called_so(data: bytes) -> None:
    with pytest.raises(InvalidArgument) as refused:
        await read(data)
    assert refused.value.reason == "BROKEN_FILE"


async def test_a_picture_without_ocr_is_refused_with_what_it_needs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    data = saved(shown())
    with pytest.raises(FailedPrecondition) as refused:
        await read(data, ocr=False)
    assert refused.value.reason == "OCR_UNAVAILABLE"
    monkeypatch.setattr(tesseract, "_package", lambda: None)
    with pytest.raises(FailedPrecondition, match="install the extra `ocr`"):
        await read(data, ocr=False)


@needs_ocr
async def test_a_picture_without_words_has_no_text() -> None:
    document = await read(saved(Image.linear_gradient("L").resize((400, 400))))
    assert document.is_scan

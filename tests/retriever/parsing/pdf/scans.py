"""Scans, made: pages of text as pictures."""

import io
from collections.abc import Sequence

import pypdfium2 as pdfium
from fpdf import FPDF
from PIL import Image, ImageFilter

WORDS = (
    "The boiler house at Fennel Quay holds three burners. Each burner is inspected in spring,\n"
    "and the inspector signs the register. A full inspection costs 1,250 euros in total.\n"
    "Visitors report to the gate before nine in the morning. The night warden keeps the keys\n"
    "of the pump room, and nobody else may enter it. Repairs are paid from the harbour fund."
)


def paper(text: str, size: float = 12) -> bytes:
    """A PDF of one page of text, as a text program writes it."""
    file = FPDF()
    file.set_font("Helvetica", size=size)
    file.add_page()
    file.multi_cell(0, None, text)
    return bytes(file.output())


def picture(data: bytes, dpi: int = 200) -> Image.Image:
    """Its first page as a picture, in grey."""
    document = pdfium.PdfDocument(data)
    try:
        found: Image.Image = document[0].render(scale=dpi / 72).to_pil().convert("L")
        return found
    finally:
        document.close()


def scan(
    *texts: str, dpi: int = 200, turn: int = 0, tilt: float = 0, blur: float = 0, size: float = 12
) -> bytes:
    """A PDF of pictures of these texts, each turned clockwise and tilted by so many degrees."""
    pictures = []
    for text in texts:
        page = picture(paper(text, size), dpi) if text else Image.new("L", (1654, 2339), 255)
        page = page.rotate(tilt, fillcolor=255, resample=Image.Resampling.BICUBIC)
        if blur:
            page = page.filter(ImageFilter.GaussianBlur(blur))
        pictures.append(page.rotate(-turn, expand=True))
    return as_pdf(pictures, dpi)


def as_pdf(pictures: Sequence[Image.Image], dpi: int = 200) -> bytes:
    """A PDF with a picture on each page."""
    file = io.BytesIO()
    pictures[0].save(file, "PDF", save_all=True, append_images=pictures[1:], resolution=dpi)
    return file.getvalue()

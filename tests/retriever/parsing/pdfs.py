"""PDFs written byte by byte, so that a test says exactly what is in the file."""

from collections.abc import Mapping, Sequence


def text(words: str, x: float = 72, y: float = 700, size: float = 12, font: str = "F1") -> bytes:
    """A line of a content stream. F1 is Helvetica, F2 Helvetica-Bold."""
    escaped = words.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")
    return f"BT /{font} {size} Tf {x} {y} Td ({escaped}) Tj ET\n".encode("cp1252")


def make(
    pages: Sequence[bytes],
    *,
    page_entries: str = "",
    catalog_entries: str = "",
    extra: Mapping[int, bytes] | None = None,
    info: bytes = b"",
) -> bytes:
    """A PDF of US-letter pages with these content streams.

    `page_entries` goes into every page ("/Rotate 90"), `catalog_entries` into the catalog, `extra` holds objects by
    number (from 1000 on), `info` the document information dictionary.
    """
    fonts = "/Font << /F1 3 0 R /F2 4 0 R >> /XObject << /Im1 1000 0 R >>"
    objects: dict[int, bytes] = {
        1: f"<< /Type /Catalog /Pages 2 0 R {catalog_entries} >>".encode(),
        3: b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>",
        4: b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica-Bold /Encoding /WinAnsiEncoding >>",
        5: b"<< " + info + b" >>",
        1000: image(),
    }
    kids = []
    for index, content in enumerate(pages):
        number = 10 + 2 * index
        kids.append(f"{number} 0 R")
        objects[number] = (
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << {fonts} >>"
            f" /Contents {number + 1} 0 R {page_entries} >>"
        ).encode()
        objects[number + 1] = stream(content)
    objects[2] = f"<< /Type /Pages /Count {len(pages)} /Kids [{' '.join(kids)}] >>".encode()
    return assemble(objects | dict(extra or {}))


def stream(content: bytes, entries: str = "") -> bytes:
    """A stream object."""
    head = f"<< /Length {len(content)} {entries} >>\nstream\n".encode()
    return head + content + b"\nendstream"


def image() -> bytes:
    """A grey picture of one pixel, as object 1000."""
    return stream(
        b"\x80",
        "/Type /XObject /Subtype /Image /Width 1 /Height 1 /BitsPerComponent 8 /ColorSpace /DeviceGray",
    )


def assemble(objects: Mapping[int, bytes]) -> bytes:
    """Objects, cross-reference table and trailer. Object 1 is the catalog, 5 the information dictionary."""
    out = bytearray(b"%PDF-1.7\n")
    offsets = {}
    for number in sorted(objects):
        offsets[number] = len(out)
        out += f"{number} 0 obj\n".encode() + objects[number] + b"\nendobj\n"
    start = len(out)
    out += b"xref\n0 1\n0000000000 65535 f \n"
    for number in sorted(objects):
        out += f"{number} 1\n{offsets[number]:010} 00000 n \n".encode()
    size = max(objects) + 1
    out += (
        f"trailer << /Size {size} /Root 1 0 R /Info 5 0 R >>\nstartxref\n{start}\n%%EOF\n".encode()
    )
    return bytes(out)

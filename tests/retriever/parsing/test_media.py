"""What a file is, by its bytes."""

import io
import os
import tracemalloc
import zipfile

import pytest

from folio.formats import MediaType
from services.retriever.parsing.media import media_type
from services.rpc.errors import FailedPrecondition, InvalidArgument


def archive(*names: str) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as made:
        for name in names:
            made.writestr(name, "x")
    return file.getvalue()


def office(name: str) -> bytes:
    return archive("[Content_Types].xml", name)


def named(media_type: str) -> bytes:
    """An archive that begins with its own media type, as EPUB and OpenDocument have it."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as made:
        made.writestr("mimetype", media_type)
        made.writestr("content.xml", "x")
    return file.getvalue()


def compound(entry: str) -> bytes:
    return b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(504) + entry.encode("utf-16-le")


@pytest.mark.parametrize(
    ("data", "name", "declared", "expected"),
    [
        (b"%PDF-1.4\n", "report.txt", "text/plain", MediaType.PDF),
        (b"junk before\n%PDF-1.4\n", "", "", MediaType.PDF),
        (b"# Title", "readme.md", "", MediaType.MARKDOWN),
        (b"# Title", "readme", "text/markdown; charset=utf-8", MediaType.MARKDOWN),
        (b"# Title", "readme", "", MediaType.TEXT),
        (b"<p>x", "page.HTM", "", MediaType.HTML),
        (b"\xef\xbb\xbf \n<!DOCTYPE html><p>x", "page", "", MediaType.HTML),
        ("Ein Wörtchen".encode("latin-1"), "a.txt", "", MediaType.TEXT),
        ("text".encode("utf-16"), "a.txt", "", MediaType.TEXT),
        ("a long enough text".encode("utf-16-le"), "a.txt", "", MediaType.TEXT),
        (b"a NUL \x00 in an otherwise ordinary text", "a.txt", "", MediaType.TEXT),
        (b"text that is called a picture", "a.png", "image/png", MediaType.TEXT),
        (office("word/document.xml"), "a.docx", "", MediaType.DOCX),
        (office("word/document2.xml"), "a.pdf", "application/pdf", MediaType.DOCX),
        (office("xl/workbook.xml"), "a", "", MediaType.XLSX),
        (office("xl\\workbook.xml"), "a.xlsx", "", MediaType.XLSX),
        (office("ppt/presentation.xml"), "a.zip", "application/zip", MediaType.PPTX),
        (named("application/epub+zip"), "a.zip", "", MediaType.EPUB),
        (archive("META-INF/container.xml"), "a.epub", "", MediaType.EPUB),
        (b"a,b\n1,2\n", "a.csv", "application/vnd.ms-excel", MediaType.CSV),
        (b"a,b\n1,2\n", "a", "text/csv; charset=utf-8", MediaType.CSV),
        (b"a\tb\n", "a.tsv", "", MediaType.TSV),
        (b"<!DOCTYPE html><p>Log in", "a.csv", "text/csv", MediaType.HTML),
        (b"From: a@example.org\n\nText", "a.eml", "", MediaType.EML),
        (b"From: a@example.org\n\nText", "a", "message/rfc822", MediaType.EML),
        (b"\x89PNG\r\n\x1a\n....", "a.pdf", "", MediaType.PNG),
        (b"\xff\xd8\xff\xe0", "a", "text/plain", MediaType.JPEG),
        (b"II*\x00", "a.tif", "", MediaType.TIFF),
        (b"MM\x00*", "a.txt", "", MediaType.TIFF),
        (b"\xff\xd8\xff\xe0%PDF-1.7", "a.jpg", "", MediaType.PDF),
    ],
)
def test_taken(data: bytes, name: str, declared: str, expected: MediaType) -> None:
    assert media_type(data, name, declared) is expected


@pytest.mark.parametrize(
    ("data", "name", "says"),
    [
        (b"", "a.pdf", "empty"),
        (b"GIF89a....", "a.png", "GIF"),
        (b"RIFF....WEBP", "a.jpg", "WebP"),
        (archive("other"), "a.md", "is a ZIP archive"),
        (archive("a.docx", "word/notes.txt"), "a.zip", "is a ZIP archive"),
        (office("xl/workbook.bin"), "a.xlsb", "save it as xlsx"),
        (named("application/vnd.oasis.opendocument.text"), "a.odt", "OpenDocument text"),
        (
            named("application/vnd.oasis.opendocument.spreadsheet"),
            "a.docx",
            "OpenDocument spreadsheet",
        ),
        (compound("WordDocument"), "a.doc", "save it as docx"),
        (compound("Workbook"), "a.xlsx", "save it as xlsx"),
        (compound("PowerPoint Document"), "a.ppt", "save it as pptx"),
        (compound("__substg1.0_001A001F"), "a.msg", "save it as eml"),
        (b"plain text", "a.docx", "of another type"),
        (b"PK\x03\x04 cut short", "a.md", "damaged ZIP"),
        (b"\x7fELF\x02\x01", "a.txt", "ELF"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "a.doc", "Office"),
        (b"\x1f\x8b\x08", "a.pdf.gz", "gzip"),
        (b"plain text", "a.pdf", "no PDF header"),
        (bytes(range(256)) * 4, "a.txt", "binary"),
    ],
)
def test_refused_saying_what_it_is(data: bytes, name: str, says: str) -> None:
    with pytest.raises(InvalidArgument, match=says):
        media_type(data, name)


def test_an_office_file_with_a_large_picture_is_known_by_its_names() -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as made:
        made.writestr("[Content_Types].xml", "x")
        made.writestr("word/media/picture.jpg", os.urandom(2**20))
        made.writestr("word/document.xml", "x")
    assert media_type(file.getvalue(), "a") is MediaType.DOCX


def test_an_office_file_with_a_password_says_so() -> None:
    with pytest.raises(FailedPrecondition) as raised:
        media_type(compound("EncryptedPackage"), "a.docx")
    assert raised.value.reason == "UNSUPPORTED_ENCRYPTION"


def test_an_archive_of_a_hundred_thousand_names_costs_no_memory() -> None:
    entry = b"PK\x01\x02" + bytes(24) + b"\x01" + bytes(17) + b"a"
    names = entry * 100_000
    end = b"PK\x05\x06" + bytes(8) + len(names).to_bytes(4, "little") + b"\x04" + bytes(5)
    tracemalloc.start()
    try:
        with pytest.raises(InvalidArgument, match="ZIP archive"):
            media_type(b"PK\x03\x04" + names + end, "a.zip")
        assert tracemalloc.get_traced_memory()[1] < 3 * len(names)
    finally:
        tracemalloc.stop()

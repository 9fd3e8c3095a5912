"""What a file is, by its bytes."""

import io
import os
import tracemalloc
import zipfile

import pytest

from folio.formats import MediaType
from services.retriever.parsing.media import media_type
from services.rpc.errors import InvalidArgument


def office(name: str) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(name, "x")
    return file.getvalue()


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
    ],
)
def test_taken(data: bytes, name: str, declared: str, expected: MediaType) -> None:
    assert media_type(data, name, declared) is expected


@pytest.mark.parametrize(
    ("data", "name", "says"),
    [
        (b"", "a.pdf", "empty"),
        (b"\x89PNG\r\n\x1a\n....", "a.pdf", "PNG"),
        (b"\xff\xd8\xff\xe0", "a.pdf", "JPEG"),
        (office("word/document.xml"), "a.docx", "docx"),
        (office("xl/workbook.xml"), "a.pdf", "xlsx"),
        (office("other"), "a.md", "ZIP"),
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
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("word/media/picture.jpg", os.urandom(2**20))
        archive.writestr("word/document.xml", "x")
    with pytest.raises(InvalidArgument, match="docx"):
        media_type(file.getvalue(), "a.docx")


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

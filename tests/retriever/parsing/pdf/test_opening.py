"""PDFs that one reader opens and another does not: damaged, locked by nothing, packed in new ways, too heavy."""

import io
import re
import zlib
from typing import Literal

import brotli
import pikepdf
import pytest

from services.retriever.parsing import ParseLimits, ParserPool
from services.retriever.parsing.pdf import pages, render
from services.rpc.errors import FailedPrecondition, FolioError, ResourceExhausted
from tests.retriever.parsing.pdfs import assemble, make, stream, text

WORDS = ["Lanternfish glow.", "Oakes keeps the keys.", "Boilers are inspected."]
PLAIN = make([text(words) for words in WORDS])
CATALOG = re.compile(rb"/Root \d+ \d+ R")


def _saved(**how: object) -> bytes:
    file = io.BytesIO()
    with pikepdf.open(io.BytesIO(PLAIN)) as pdf:
        pdf.save(file, **how)  # type: ignore[arg-type]
    return file.getvalue()


def _read(data: bytes, password: str = "") -> list[str]:
    from services.retriever.parsing.parser import Hints

    return [page.text for page in pages.parse(data, Hints(password=password)).pages]


PACKED = _saved(object_stream_mode=pikepdf.ObjectStreamMode.generate)


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"Sent by a mail room\n" * 80 + PLAIN, id="1,600 bytes in front"),
        pytest.param(b"\0" * 5_000 + PACKED, id="zeros in front"),
        pytest.param(PLAIN[: PLAIN.rindex(b"trailer")], id="no trailer"),
        pytest.param(PLAIN[: PLAIN.rindex(b"trailer") + 14], id="half a trailer"),
        pytest.param(PLAIN[: PLAIN.index(b"1000 0 obj")], id="ends with its last page"),
        pytest.param(CATALOG.sub(b"", PLAIN), id="no root"),
        pytest.param(CATALOG.sub(b"/Root 77 0 R", PLAIN), id="another's root"),
        pytest.param(CATALOG.sub(b"/Root 10 0 R", PLAIN), id="a page for a root"),
        pytest.param(
            PLAIN.replace(b"trailer <<", b"trailer \xff<<<< ( "), id="garbage for a trailer"
        ),
        pytest.param(re.sub(rb"startxref\n\d+", b"startxref\n3", PACKED), id="packed, table lost"),
    ],
)
def test_a_damaged_file_is_read(data: bytes) -> None:
    assert _read(data) == WORDS


def test_an_empty_owner_password_opens() -> None:
    locked = _saved(encryption=pikepdf.Encryption(owner="", user="secret", R=6))
    assert _read(locked) == WORDS
    assert _read(locked, "wrong") == WORDS


@pytest.mark.parametrize("revision", [4, 6])
def test_a_locked_file_stays_locked(revision: Literal[4, 6]) -> None:
    locked = _saved(encryption=pikepdf.Encryption(owner="owner", user="secret", R=revision))
    for damaged in (locked, CATALOG.sub(b"", locked)):
        with pytest.raises((FailedPrecondition, FolioError)):
            _read(damaged)
    assert _read(locked, "secret") == WORDS


def _in_brotli(content: bytes, entries: str = "") -> bytes:
    return stream(brotli.compress(content), "/Filter /BrotliDecode " + entries)


def test_brotli_streams_are_read() -> None:
    data = make([b"", b""], extra={11: _in_brotli(text(WORDS[0])), 13: _in_brotli(text(WORDS[1]))})
    assert _read(data) == WORDS[:2]


def test_a_brotli_bomb_is_bounded() -> None:
    bomb = brotli.compress(b"q Q\n" * 2**27)
    data = make(
        [text("First"), b"", text("Third")],
        extra={13: stream(bomb, "/Filter /BrotliDecode")},
    )
    assert _read(data)[0] == "First"


def test_pages_keep_their_numbers_where_the_tree_leads_into_itself() -> None:
    font = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"
    page = b"<< /Type /Page /Parent 2 0 R /Contents 5 0 R >>"
    box = b"/MediaBox [0 0 300 300] /Resources << /Font << /F1 3 0 R >> >>"
    data = assemble(
        {
            1: b"<< /Type /Catalog /Pages 2 0 R >>",
            2: b"<< /Type /Pages /Kids [6 0 R 4 0 R] /Count 3 " + box + b" >>",
            3: font,
            4: page,
            5: stream(text("The boiler of Harrow Road", x=10, y=100)),
            6: b"<< /Type /Pages /Parent 2 0 R /Kids [2 0 R] /Count 2 >>",
        }
    )
    document = pages.parse(data)
    assert [page.text for page in document.pages] == ["", "", "The boiler of Harrow Road"]
    assert document.empty_pages == (0, 1)
    assert render.render(data, 2, 72, [], "", 10**6)[1:] == (300, 300)


@pytest.mark.parametrize("before", ["", "locked", "broken"])
def test_the_reason_does_not_depend_on_the_file_before(before: str) -> None:
    files = {
        "locked": _saved(encryption=pikepdf.Encryption(owner="owner", user="secret", R=6)),
        "broken": b"%PDF-1.7\nnothing else",
    }
    if before:
        with pytest.raises(FolioError):
            _read(files[before])
    for data, reason in (
        (make([]), "NO_PAGES"),
        (assemble({1: b"<< /Foo /Bar >>"}), "NO_PAGES"),
        (files["broken"], "BROKEN_PDF"),
        (files["locked"], "PASSWORD_REQUIRED"),
    ):
        with pytest.raises(FolioError) as refused:
            _read(data)
        assert refused.value.reason == reason


def test_a_page_that_no_tree_names_stays_deleted() -> None:
    orphan = b"<< /Type /Page /MediaBox [0 0 300 300] >>"
    with pytest.raises(FolioError):
        _read(make([], extra={1001: orphan}))


@pytest.mark.process
class TestHeavyPages:
    HEAVY = stream(zlib.compress(text("heavy", size=9) * 300_000, 1), "/Filter /FlateDecode")

    async def test_they_cost_themselves_and_are_named(self) -> None:
        pool = ParserPool(ParseLimits(page_s=1.0, memory_bytes=2**29))
        contents = [text("First"), b"", text("Third"), b"", text("Fifth")]
        data = make(contents, extra={13: self.HEAVY, 17: self.HEAVY})
        document = await pool.parse(data, file_name="a.pdf")
        assert [page.text for page in document.pages] == ["First", "", "Third", "", "Fifth"]
        assert document.empty_pages == (1, 3)
        assert any(
            "too long or too much memory" in words and "2, 4" in words
            for words in document.warnings
        )
        await pool.close()

    async def test_a_file_of_them_is_refused(self) -> None:
        pool = ParserPool(ParseLimits(page_s=1.0, memory_bytes=2**29))
        data = make([b""] * 6, extra={11 + 2 * page: self.HEAVY for page in range(6)})
        with pytest.raises(ResourceExhausted):
            await pool.parse(data, file_name="a.pdf")
        assert pool.stats.started <= 5
        await pool.close()

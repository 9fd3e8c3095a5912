"""Scanned pages: what OCR reads, where it stands, what it is not sure of, and what it may cost."""

import io
from collections import Counter
from pathlib import Path

import pikepdf
import pytest

from services.retriever import places
from services.retriever.documents import ParsedDocument, status
from services.retriever.parsing import ParseLimits, ParserPool, tesseract
from services.retriever.parsing.parser import Hints
from services.retriever.parsing.pdf import ocr, page, pages
from services.retriever.parsing.pdf.opening import opened
from services.rpc.errors import FailedPrecondition
from tests.retriever.parsing.pdf.scans import WORDS, paper, scan
from tests.retriever.parsing.pdfs import make

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(not tesseract.installed("eng"), reason="OCR needs the extra `ocr`"),
]


def read(data: bytes, languages: str = "eng") -> ParsedDocument:
    """As the pool reads it: without OCR first, then the pages that need it."""
    scans = pages.parse(data).scans
    return pages.parse(data, Hints(ocr_pages=frozenset(scans), ocr_languages=languages))


def share_of_words(text: str, found: str) -> float:
    wanted = Counter(text.split())
    return (wanted & Counter(found.split())).total() / wanted.total()


def joined(files: list[bytes]) -> bytes:
    file = io.BytesIO()
    with pikepdf.new() as whole:
        for data in files:
            with pikepdf.open(io.BytesIO(data)) as part:
                whole.pages.extend(part.pages)
        whole.save(file)
    return file.getvalue()


class TestReading:
    @pytest.mark.parametrize("turn", [0, 90, 180, 270])
    def test_a_page_is_read_however_it_is_turned(self, turn: int) -> None:
        data = scan(WORDS, turn=turn)
        document = read(data)
        assert share_of_words(WORDS, document.text) > 0.95
        assert document.empty_pages == ()
        assert "read by OCR on pages 1" in document.warnings
        assert status(document) == "READY"
        # Where the first word stands: near the upper left corner of the page before it was turned.
        box = places.regions(document.pages[0], 0, 3)[0]
        middle = (box.left + box.right) / 2, (box.top + box.bottom) / 2
        corner = {0: (0, 0), 90: (1, 0), 180: (1, 1), 270: (0, 1)}[turn]
        assert abs(middle[0] - corner[0]) < 0.2
        assert abs(middle[1] - corner[1]) < 0.2

    def test_a_page_that_is_tilted_or_soft_is_read(self) -> None:
        assert share_of_words(WORDS, read(scan(WORDS, tilt=2)).text) > 0.9
        assert share_of_words(WORDS, read(scan(WORDS, blur=1.2)).text) > 0.9

    def test_only_pages_without_text_are_read(self) -> None:
        data = joined(
            [paper("Typed: the harbour fund."), scan(WORDS), scan(""), paper("Typed too.")]
        )
        document = read(data)
        assert [document.pages[index].text for index in (0, 2, 3)] == [
            "Typed: the harbour fund.",
            "",
            "Typed too.",
        ]
        assert share_of_words(WORDS, document.pages[1].text) > 0.95
        assert document.empty_pages == (2,)
        assert "read by OCR on pages 2" in document.warnings

    def test_a_stamp_on_a_scan_does_not_hide_it(self) -> None:
        with pikepdf.open(io.BytesIO(scan(WORDS))) as pdf:
            stamp = pdf.make_stream(
                b"BT /F9 8 Tf 20 820 Td (Filed 12 March 2024, page 3 of 40) Tj ET"
            )
            first = pdf.pages[0]
            first.contents_add(stamp)
            first.Resources.Font = pikepdf.Dictionary(
                F9=pikepdf.Dictionary(
                    Type=pikepdf.Name.Font,
                    Subtype=pikepdf.Name.Type1,
                    BaseFont=pikepdf.Name.Helvetica,
                )
            )
            file = io.BytesIO()
            pdf.save(file)
        plain = pages.parse(file.getvalue())
        assert plain.text.startswith("Filed 12 March")
        assert plain.scans == (0,)
        assert share_of_words(WORDS, read(file.getvalue()).text) > 0.95

    def test_a_hyphen_at_a_line_end_is_judged_as_in_any_file(self) -> None:
        text = "Das Fach heisst Politik-\nwissenschaft und hat viele Freunde im ganzen Land."
        assert "Politikwissenschaft" in read(scan(text), "deu").text

    def test_a_picture_without_words_stays_empty(self) -> None:
        document = read(make([b"q 500 0 0 500 50 50 cm /Im1 Do Q\n"]))
        assert document.is_scan
        assert status(document) == "NEEDS_OCR"


class TestDoubt:
    def test_figures_that_are_hard_to_read_are_marked(self) -> None:
        figures = "\n".join(
            f"Item {n}: {n * 7919 % 100_000:,} euros, code {n * 31:05}" for n in range(1, 30)
        )
        wanted = Counter(figures.split())
        page_of = read(scan(figures, dpi=80, blur=0.3, size=11)).pages[0]
        doubted = {
            at - page_of.char_start for start, end in page_of.uncertain for at in range(start, end)
        }
        wrong = unmarked = at = 0
        for word in page_of.text.split():
            at = page_of.text.index(word, at)
            if any(map(str.isdigit, word)) and not wanted[word]:
                wrong += 1
                unmarked += not doubted & set(range(at, at + len(word)))
            at += len(word)
        assert doubted
        assert unmarked <= wrong / 5

    def test_what_is_clear_is_not_marked(self) -> None:
        assert read(scan(WORDS)).pages[0].uncertain == ()

    def test_spans_are_runs(self) -> None:
        assert list(page._spans([1, 2, 3, 7, 9, 10])) == [(1, 4), (7, 8), (9, 11)]
        assert list(page._spans([])) == []


class TestCost:
    async def test_who_reads_other_files_does_not_wait_and_hears_of_each_page(self) -> None:
        pool = ParserPool()
        heard: list[tuple[int, int]] = []
        document = await pool.parse(
            scan(WORDS, WORDS), file_name="a.pdf", ocr=True, tell=lambda *done: heard.append(done)
        )
        assert len(document.pages) == 2
        assert document.empty_pages == ()
        assert {(0, 2), (1, 2)} <= set(heard)
        assert heard == sorted(heard)
        await pool.close()

    async def test_without_being_asked_a_scan_is_empty(self) -> None:
        pool = ParserPool()
        document = await pool.parse(scan(WORDS), file_name="a.pdf")
        assert document.is_scan
        assert document.scans == (0,)
        await pool.close()

    async def test_a_page_past_its_time_stays_unread(self) -> None:
        pool = ParserPool(ParseLimits(ocr_wall_s=0.0))
        document = await pool.parse(scan(WORDS), file_name="a.pdf", ocr=True)
        assert document.empty_pages == (0,)
        assert any("OCR was stopped" in words for words in document.warnings)
        await pool.close()

    def test_a_program_that_is_killed_costs_that_page(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        reader = ocr.Ocr("eng", page_s=60, wall_s=60)
        monkeypatch.setattr(reader, "_program", "/bin/false")
        with opened(scan(WORDS)) as document:
            assert page.read_scan(document, 0, reader, lambda: None) is None
        assert reader.stopped
        reader.close()

    def test_a_program_that_begins_late_reads_the_page(
        self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        late = tmp_path / "late"
        late.write_text(f'#!/bin/sh\nsleep 1\nexec {tesseract.program()} "$@"\n')
        late.chmod(0o755)
        monkeypatch.setattr(ocr, "_BEAT_S", 0.1)
        reader = ocr.Ocr("eng", page_s=60, wall_s=600)
        monkeypatch.setattr(reader, "_program", str(late))
        beats: list[None] = []
        with opened(scan(WORDS)) as document:
            found = page.read_scan(document, 0, reader, lambda: beats.append(None))
        assert found is not None
        assert not reader.stopped
        assert len(beats) > 3
        reader.close()

    async def test_a_language_that_is_not_here_is_named(self) -> None:
        pool = ParserPool(ocr_languages="eng+tlh")
        with pytest.raises(FailedPrecondition, match="tlh") as refused:
            await pool.parse(scan(WORDS), file_name="a.pdf", ocr=True)
        assert refused.value.reason == "OCR_UNAVAILABLE"
        # Nobody needs it for a file that is no scan.
        typed = await pool.parse(paper("Typed."), file_name="a.pdf", ocr=True)
        assert typed.text == "Typed."
        assert (await pool.parse(b"words", file_name="a.txt", ocr=True)).text == "words"
        await pool.close()

"""PDF: pages and labels, reading, hidden text, headings, titles, locked and broken files."""

import re

import pytest
from fpdf import FPDF
from fpdf.enums import AccessPermission

from services.retriever.documents import PAGE_BREAK, ParsedDocument
from services.retriever.parsing.limits import ParseLimits
from services.retriever.parsing.parser import Hints
from services.retriever.parsing.pdf import pages
from services.rpc.errors import FailedPrecondition, FolioError, InvalidArgument, ResourceExhausted
from tests.retriever.parsing.pdfs import make, text

FRONT_MATTER = 8


def book(pages: int = 60) -> bytes:
    """`pages` pages, each with a token of its own; eight of them front matter, labelled i to viii."""
    file = FPDF()
    file.set_font("Helvetica", size=11)
    for index in range(pages):
        style, start = ("r", index + 1) if index < FRONT_MATTER else ("D", index + 1 - FRONT_MATTER)
        file.add_page(label_style=style, label_start=start)
        file.multi_cell(
            0, None, f"Words of a page and its token TOKEN{index:03}X.\n" + "Filler words. " * 150
        )
    return bytes(file.output())


@pytest.fixture(scope="module")
def sixty() -> ParsedDocument:
    return pages.parse(book())


class TestPages:
    def test_every_token_is_on_its_page_under_its_label(self, sixty: ParsedDocument) -> None:
        roman = ["i", "ii", "iii", "iv", "v", "vi", "vii", "viii"]
        assert [page.index for page in sixty.pages] == list(range(60))
        for index, page in enumerate(sixty.pages):
            assert re.findall(r"TOKEN(\d+)X", page.text) == [f"{index:03}"]
            expected = roman[index] if index < FRONT_MATTER else str(index + 1 - FRONT_MATTER)
            assert page.label == expected
            assert sixty.text[page.char_start : page.char_end] == page.text

    def test_the_document_is_its_pages_joined(self, sixty: ParsedDocument) -> None:
        assert sixty.text == PAGE_BREAK.join(page.text for page in sixty.pages)
        assert sixty.sections[0].char_start == 0
        assert sixty.sections[-1].char_end == len(sixty.text)

    def test_a_form_feed_in_the_text_shifts_no_page(self) -> None:
        document = pages.parse(make([text("one\x0cand on"), text("two"), text("three")]))
        assert len(document.pages) == 3
        assert document.pages[2].text == "three"

    def test_a_scan_is_empty_pages_and_blank_ones_are_too(self) -> None:
        scan = b"q 612 0 0 792 0 0 cm /Im1 Do Q\n"
        document = pages.parse(make([scan, scan + text("7"), text("Hello"), b""]))
        assert document.empty_pages == (0, 1, 3)


class TestReading:
    def test_paragraphs_are_apart_and_lines_are_lines(self) -> None:
        lines = [
            text("First line of it", y=700),
            text("goes on here.", y=686),
            text("Another one.", y=650),
        ]
        assert (
            pages.parse(make([b"".join(lines)])).text
            == "First line of it\ngoes on here.\n\nAnother one."
        )

    def test_a_word_broken_at_a_line_end_is_one_word(self) -> None:
        page = text("Das Fach heißt Politik-", y=700) + text("wissenschaft und mehr.", y=686)
        assert pages.parse(make([page])).text == "Das Fach heißt Politikwissenschaft und mehr."

    def test_metadata_and_title_are_cleaned(self) -> None:
        data = make(
            [text("x")], info=b"/Title (A\\000 title\\012here) /Producer (\\000\\000Scanner\\000)"
        )
        document = pages.parse(data, Hints(stem="file"))
        assert document.metadata == {"Title": "A title here", "Producer": "Scanner"}
        assert document.title == "A title here"
        assert pages.parse(data, Hints(title="given")).title == "given"
        assert pages.parse(make([text("x")]), Hints(stem="file")).title == "file"


class TestHiddenText:
    SEEN = text("What everybody sees on the page.")

    @pytest.mark.parametrize(
        "hidden",
        [
            b"3 Tr " + text("hidden words", y=500) + b"0 Tr ",
            b"1 1 1 rg " + text("hidden words", y=500) + b"0 g ",
            text("hidden words", y=500, size=1),
            text("hidden words", x=-400, y=500),
            text("hidden words", y=2000),
        ],
        ids=["invisible", "white on white", "tiny", "left of the page", "above the page"],
    )
    def test_it_is_left_out_and_reported(self, hidden: bytes) -> None:
        document = pages.parse(make([self.SEEN + hidden]))
        assert document.text == "What everybody sees on the page."
        assert any("hidden text" in warning for warning in document.warnings)

    def test_white_on_a_dark_banner_is_seen(self) -> None:
        page = self.SEEN + b"0 0 0.4 rg 50 480 400 40 re f 1 1 1 rg " + text("A banner", y=500)
        document = pages.parse(make([page]))
        assert document.text.endswith("A banner")
        assert document.warnings == ()

    def test_outside_the_crop_box_is_hidden(self) -> None:
        page = self.SEEN + text("cropped words", y=50)
        assert (
            "cropped" not in pages.parse(make([page], page_entries="/CropBox [0 100 612 792]")).text
        )

    def test_the_text_layer_of_a_scan_is_its_text(self) -> None:
        scan = b"q 612 0 0 792 0 0 cm /Im1 Do Q 3 Tr " + text("Read by OCR, invisible.")
        document = pages.parse(make([scan]))
        assert document.text == "Read by OCR, invisible."
        assert document.empty_pages == ()
        assert any("OCR" in warning for warning in document.warnings)


def chapter(
    title: str, shift: float, body: str = "Body text of the chapter, long enough."
) -> bytes:
    lines = [text("The running header", y=760, size=9), text(title, y=720, size=18, font="F2")]
    lines += [text(body, y=680 - 14 * line) for line in range(12)]
    return b"".join([*lines, text("Overtime", y=400 + shift, font="F2")]) + b"".join(
        text(body, y=370 - 14 * line) for line in range(6)
    )


class TestSections:
    def test_large_lines_and_bold_ones_alone_are_headings(self) -> None:
        document = pages.parse(
            make([chapter("Leave", 0), chapter("Travel", 15), chapter("Pay", 30)])
        )
        paths = [section.path for section in document.sections if section.path]
        assert paths == [
            ("Leave",),
            ("Leave", "Overtime"),
            ("Travel",),
            ("Travel", "Overtime"),
            ("Pay",),
            ("Pay", "Overtime"),
        ]

    def test_bookmarks_come_first(self) -> None:
        file = FPDF()
        file.set_font("Helvetica", size=11)
        for title in ("Scope", "Duties", "Terms"):
            file.add_page()
            file.multi_cell(0, None, "Words before the heading.\n")
            file.start_section(title)
            file.multi_cell(0, None, f"{title}\nWords behind it.")
        document = pages.parse(bytes(file.output()))
        starts = [
            (section.path, document.text[section.char_start :][: len(section.path[-1])])
            for section in document.sections
            if section.path
        ]
        assert starts == [(("Scope",), "Scope"), (("Duties",), "Duties"), (("Terms",), "Terms")]


class TestRefusals:
    def locked(self, method: str = "AES-256") -> bytes:
        file = FPDF()
        file.set_encryption("owner", "user", permissions=AccessPermission.all())
        file.add_page()
        file.set_font("Helvetica")
        file.cell(text="secret")
        return bytes(file.output())

    def test_a_locked_file_needs_its_password(self) -> None:
        with pytest.raises(FailedPrecondition, match="give its password"):
            pages.parse(self.locked())
        with pytest.raises(InvalidArgument, match="does not open") as refused:
            pages.parse(self.locked(), Hints(password="wrong"))
        assert refused.value.violations[0].field == "password"
        assert pages.parse(self.locked(), Hints(password="user")).text == "secret"

    def test_a_password_that_is_not_needed_does_no_harm(self) -> None:
        assert pages.parse(make([text("open")]), Hints(password="any")).text == "open"

    @pytest.mark.parametrize(
        "data", [b"%PDF-1.7\n", b"%PDF-1.7\n" + b"x" * 2000], ids=["cut", "noise"]
    )
    def test_a_broken_file(self, data: bytes) -> None:
        with pytest.raises(InvalidArgument, match="damaged"):
            pages.parse(data)

    def test_no_pages(self) -> None:
        """Whatever was wrong with the file before it: pdfium remembers its last error."""
        for before in (self.locked(), b"%PDF-1.7\n"):
            with pytest.raises(FolioError):
                pages.parse(before)
            with pytest.raises(InvalidArgument, match="no pages"):
                pages.parse(make([]))

    def test_a_broken_cross_reference_table_is_repaired(self) -> None:
        data = make([text("still here")])
        assert pages.parse(data.replace(b"startxref\n", b"startxref\n9")).text == "still here"

    def test_too_many_pages_and_too_much_text(self) -> None:
        data = make([text("page")] * 4)
        with pytest.raises(ResourceExhausted, match="4 pages"):
            pages.parse(data, limits=ParseLimits(max_pages=3))
        with pytest.raises(ResourceExhausted, match="characters"):
            pages.parse(data, limits=ParseLimits(max_chars=10))

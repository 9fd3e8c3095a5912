"""Addresses of links over a whole document: each is told, and none on every page."""

from fpdf import FPDF

from services.retriever.documents import ParsedDocument
from services.retriever.parsing.pdf import pages
from tests.retriever.parsing.pdf.test_flow import THINGS

HOME, FORM, OTHER = (f"https://harbour.example/{name}" for name in ("a-1", "b-2", "c-3"))


def linked(count: int = 6) -> ParsedDocument:
    """On each page: a running link, one whose words are the page's, and on two pages one to the same place."""
    file = FPDF()
    file.set_font("Helvetica", size=11)
    file.set_auto_page_break(False)
    for index in range(count):
        file.add_page()
        thing = THINGS[index]
        file.set_xy(20, 40)
        file.cell(90, 6, f"The {thing} is kept in the loft above the workshop.")
        file.set_xy(20, 52)
        file.cell(60, 6, "Back to the office", link=HOME)
        file.set_xy(20, 64)
        file.cell(60, 6, f"Ask for the {thing}", link=FORM)
        if index in (1, 4):
            file.set_xy(20, 76)
            file.cell(60, 6, f"How a {thing} is mended", link=OTHER)
    return pages.parse(bytes(file.output()))


def test_an_address_on_most_pages_is_told_once() -> None:
    document = linked()
    assert document.text.count(f"Back to the office ({HOME})") == 1
    assert document.text.count(f"Ask for the {THINGS[0]} ({FORM})") == 1
    assert document.text.count(FORM) == document.text.count(HOME) == 1


def test_other_words_have_their_address_too() -> None:
    document = linked()
    for index in (1, 4):
        assert f"How a {THINGS[index]} is mended ({OTHER})" in document.pages[index].text


def test_all_characters_keep_their_places() -> None:
    for page in linked().pages:
        assert len(page.text) == page.char_end - page.char_start
        assert page.text == page.text.strip()

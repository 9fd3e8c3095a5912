"""What a page is called: by a number that counts the pages. One that names what is on the page stays in its text."""

import pytest

from services.retriever.documents import ParsedDocument
from tests.retriever.parsing.pdf.test_flow import BOTTOM, TOP, block, parsed, prose
from tests.retriever.parsing.pdfs import text

COUNT = 6
ROMAN = ("i", "ii", "iii", "iv", "v", "vi")


def numbered(line: str, *, first: int = 1, y: float = TOP, flowing: bool = False) -> ParsedDocument:
    """Pages with a line at their edge; {n} in it is the page's number. Flowing: each page ends in a sentence."""
    contents = []
    for index in range(COUNT):
        lines = prose(index)
        if flowing:
            lines = [
                "sea and of the lake.",
                *lines,
                f"This is said of the {index} smallest boats of the",
            ]
        shown = line.format(n=first + index, m=COUNT, roman=ROMAN[index])
        contents.append(text(shown, y=y, size=9) + block(lines))
    return parsed(*contents)


@pytest.mark.parametrize(
    "line",
    [
        "Sheet {n}",
        "Patient {n}",
        "Ticket {n}",
        "Test report {n}",
        "Serial number: {n}",
        "Ref: {n}",
        "Voucher No. {n}",
        "Invoice {n}",
        "Rev. {n}",
        "Drawing 4-{n}",
        "Exhibit 10.{n}",
        "Volume {roman}",
        "Probe {n}",
    ],
)
@pytest.mark.parametrize("first", [3, 1003])
def test_what_names_the_content_of_a_page_stays_in_its_text(line: str, first: int) -> None:
    document = numbered(line, first=first)
    assert [page.label for page in document.pages] == [str(n) for n in range(1, COUNT + 1)]
    for n, page in enumerate(document.pages):
        roman = ROMAN[n]
        assert line.format(n=first + n, roman=roman) in page.text.replace("\u2019", "'")
        assert not page.furniture


@pytest.mark.parametrize(
    ("line", "labels"),
    [
        ("{n}", "3 4 5"),
        ("- {n} -", "3 4 5"),
        ("[{n}]", "3 4 5"),
        ("Page {n} of 9", "3 4 5"),
        ("Seite {n}", "3 4 5"),
        ("Strona {n}", "3 4 5"),
        ("Sheet {n} of 9", "3 4 5"),
        ("Blatt {n} von 9", "3 4 5"),
        ("Harbour works | {n}", "3 4 5"),
        ("Harbour works, page {n}", "3 4 5"),
        ("{n} Harbour works", "3 4 5"),
        ("Annual report 2023 {n}", "3 4 5"),
        ("4-{n}", "4-3 4-4 4-5"),
        ("F-{n}", "F-3 F-4 F-5"),
        ("{roman}", "i ii iii"),
    ],
)
@pytest.mark.parametrize("y", [TOP, BOTTOM])
def test_what_counts_the_pages_is_their_label(line: str, labels: str, y: float) -> None:
    document = numbered(line, first=3, y=y)
    assert [page.label for page in document.pages][:3] == labels.split()
    assert all(page.furniture for page in document.pages[1:])


@pytest.mark.parametrize("line", ["Harbour works {n}", "Sheet {n}", "Lease agreement {n}"])
def test_what_stands_between_two_halves_of_a_sentence_names_neither_page(line: str) -> None:
    document = numbered(line, first=3, flowing=True)
    assert [page.label for page in document.pages][:3] == ["3", "4", "5"]
    assert "smallest boats of the\nsea and of the lake." in document.text


def test_a_number_a_gap_away_from_the_words_counts_the_pages() -> None:
    contents = [
        text("Harbour works", 72, TOP, 9) + text(str(n + 7), 160, TOP, 9) + block(prose(n))
        for n in range(COUNT)
    ]
    assert [page.label for page in parsed(*contents).pages][:3] == ["7", "8", "9"]


def test_numbers_in_the_outer_corners_count_the_pages() -> None:
    contents = [
        text(str(n + 7), 540 if n % 2 else 72, TOP, 9) + block(prose(n)) for n in range(COUNT)
    ]
    assert [page.label for page in parsed(*contents).pages][:3] == ["7", "8", "9"]


def test_a_page_is_called_by_its_number_not_by_what_is_on_it() -> None:
    contents = [
        text(f"Patient {n + 20}", 72, TOP, 9)
        + block(prose(n))
        + text(f"Page {n + 1}", 72, BOTTOM, 9)
        for n in range(COUNT)
    ]
    document = parsed(*contents)
    assert [page.label for page in document.pages][:3] == ["1", "2", "3"]
    assert all(f"Patient {n + 20}" in page.text for n, page in enumerate(document.pages))

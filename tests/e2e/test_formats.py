"""Each format, from a file to an answer whose proof names a place in it: slide, sheet and cell, chapter, heading."""

from collections.abc import Callable, Iterator
from datetime import date
from email.message import EmailMessage
from pathlib import Path

import pytest
from docx import Document
from pptx import Presentation

from folio import Folio
from folio.common.v1 import document_pb2
from folio.gateway.v1 import gateway_pb2
from services.suite import Suite
from tests.retriever.parsing.office.files import page_of, saved, sheet, zipped

pytestmark = [pytest.mark.integration, pytest.mark.slow]

PARTS = 60


def word() -> bytes:
    document = Document()
    document.add_heading("Travel policy", 0)
    document.add_heading("Hotels", 1)
    line = document.add_paragraph("A night in a hotel in Lisbon is paid up to 320")
    line.add_run("1").font.superscript = True
    line.add_run(" euros.")
    document.add_heading("Flights", 1)
    document.add_paragraph("Flights within Europe are booked in economy class.")
    return saved(document)


def slides() -> bytes:
    show = Presentation()
    for title, text in (
        ("Harbour project", "The new quay opens on 4 May 2027."),
        ("Budget", "The quay costs 12.4 million euros."),
    ):
        slide = show.slides.add_slide(show.slide_layouts[1])
        assert slide.shapes.title is not None
        slide.shapes.title.text, slide.placeholders[1].text = title, text
    return saved(show)


def workbook() -> bytes:
    rows = [(f"PX-{1000 + i}", 10 + i * 0.25, date(2024, 3, 1)) for i in range(PARTS)]
    book = sheet([("Part", "Price", "Since"), *rows])
    page = page_of(book)
    for row in range(2, PARTS + 2):
        page.cell(row, 2).number_format = '"$"#,##0.00'
    return saved(book)


def message() -> bytes:
    made = EmailMessage()
    made["From"], made["Subject"] = "ada@example.org", "Keys of the boathouse"
    made.set_content("The keys of the boathouse hang behind the blue door of the workshop.\n")
    return made.as_bytes()


def book() -> bytes:
    text = "<h1>The storm</h1><p>The captain of the Marigold was called Elspeth Varga.</p>"
    return zipped(
        {
            "mimetype": "application/epub+zip",
            "META-INF/container.xml": '<container><rootfile full-path="a.opf"/></container>',
            "a.opf": '<package><manifest><item id="a" href="a.html" media-type="text/html"/>'
            '<item id="n" href="n.html" properties="nav" media-type="text/html"/></manifest>'
            '<spine><itemref idref="a"/></spine></package>',
            "n.html": '<html><a href="a.html">1 The storm</a></html>',
            "a.html": text,
        },
        "mimetype",
    )


POOLS = "Pool,Length\n" + "".join(f"Pool {name},{20 + i} m\n" for i, name in enumerate("ABCDEFGH"))
FILES = {
    "travel.docx": word,
    "harbour.pptx": slides,
    "parts.xlsx": workbook,
    "pools.csv": POOLS.encode,
    "keys.eml": message,
    "sea.epub": book,
}
Place = tuple["document_pb2.PageKind.ValueType", str, str, str]


@pytest.fixture(scope="module")
def acme(
    data_folders: Callable[[], Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Folio]:
    files = tmp_path_factory.mktemp("files")
    with (
        Suite(data_folders(), ["acme"], port=0) as suite,
        Folio(suite.client.address, suite.client.keys["acme"]) as client,
    ):
        for name, make in FILES.items():
            (files / name).write_bytes(make())
            *_, last = client.ingest(files / name)
            assert last.result.document.status == document_pb2.DOCUMENT_STATUS_READY
        yield client


def place(citation: gateway_pb2.Citation) -> Place:
    return citation.page_kind, citation.page_label, citation.cells, citation.heading


@pytest.mark.parametrize(
    ("question", "quote", "expected"),
    [
        (
            "How much is paid for a night in a hotel in Lisbon?",
            "320[^1] euros",
            (document_pb2.PAGE_KIND_NONE, "1", "", "Hotels"),
        ),
        (
            "How much does the quay cost?",
            "12.4 million euros",
            (document_pb2.PAGE_KIND_SLIDE, "2", "", ""),
        ),
        (
            "What does PX-1033 cost?",
            "$18.25",
            (document_pb2.PAGE_KIND_SHEET, "Prices", "B35", ""),
        ),
        ("How long is Pool C?", "22 m", (document_pb2.PAGE_KIND_NONE, "1", "B4", "")),
        (
            "Where do the keys of the boathouse hang?",
            "behind the blue door",
            (document_pb2.PAGE_KIND_NONE, "1", "", "Keys of the boathouse"),
        ),
        (
            "Who was the captain of the Marigold?",
            "Elspeth Varga",
            (document_pb2.PAGE_KIND_CHAPTER, "1 The storm", "", ""),
        ),
    ],
)
def test_an_answer_names_its_place_in_the_file(
    acme: Folio, question: str, quote: str, expected: Place
) -> None:
    reply = acme.ask(question)
    assert reply.WhichOneof("outcome") == "answered"
    places = [
        place(citation)
        for sentence in reply.answered.sentences
        for citation in sentence.citations
        if quote in citation.quote
    ]
    assert expected in [
        (kind, label, cells, heading if expected[3] else "")
        for kind, label, cells, heading in places
    ]

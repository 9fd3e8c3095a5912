"""Titles that say something, and what programs leave in their place."""

import pytest

from services.retriever.parsing.parser import Hints
from services.retriever.parsing.pdf import pages
from services.retriever.parsing.titles import is_title
from tests.retriever.parsing.pdfs import make, text


@pytest.mark.parametrize(
    "title",
    [
        "untitled", "Untitled-1", "Untitled Document", "Unbenannt 3", "Document3.docx",
        "Microsoft Word - Document3.docx",
        "Microsoft PowerPoint - Board meeting.pptx", "PowerPoint Presentation", "PowerPoint-Präsentation", "Slide 1",
        "template.dotx", "Vorlage", "report_final_v2.indd", "C:\\Users\\anna\\letter", "scan0012", "IMG_2041",
        "{3F2504E0-4F89-11D3-9A0C-0305E82C3301}", "3f2504e04f8911d39a0c0305e82c3301", "0001018724-18-000005",
        "", "- 1 -",
        "PII: S0040-4039(99)00123-4", "file:///home/anna/a.html", "(untitled)",
        "(anonymous)", "Ohne Titel", "Bez názvu", "Nuovo documento 2", "Без названия", "無題", "未命名1", "제목 없음",
        "LaTeX with hyperref package", "(unspecified)", "Title",
        "about:blank", "Copy of Document1", "20251103_scan_0007", "Title of document", "Blank Page", "Başlıksız",
        "Document sans titre", "documento sin título", "Dokument bez tytułu", "Unbenanntes Dokument", "sin nombre",
        "Normal Template", "ReportLab PDF", "Documento senza titolo 2", "Unbenannte Präsentation",
        "Dokument ohne Titel",
    ],
)  # fmt: skip
def test_rubbish(title: str) -> None:
    assert not is_title(title)


@pytest.mark.parametrize(
    "title",
    [
        "Pension guide", "Slide rules and their makers", "Test report of the harbour crane", "2023 budget",
        "Word of mouth",
        "The document in question", "Microsoft Word for beginners", "Template matching", "説明書", "A", "Page design",
        "10-K", "Vorlage des Rates vom 3. Mai", "Title IX rules", "Ohne Titel geht es auch", "Unknown soldiers",
        "Copy of the deed", "Document sans titre de séjour", "Unbenannte Quellen der Elbe", "Normal templates",
    ],
)  # fmt: skip
def test_titles(title: str) -> None:
    assert is_title(title)


@pytest.mark.parametrize(
    ("info", "stem", "title"),
    [
        (b"/Title (Guide of the scheme)", "file", "Guide of the scheme"),
        (b"/Title (untitled)", "pension-guide", "pension-guide"),
        (b"/Title (untitled)", "scan 12", "Pension guide"),
        (
            b"/Title (Microsoft Word - Document3.docx)",
            "8b3f2504e04f8911d39a0c0305e82c33",
            "Pension guide",
        ),
        (b"", "document (2)", "Pension guide"),
    ],
)
def test_a_pdf_goes_by_its_title_its_name_or_its_first_heading(
    info: bytes, stem: str, title: str
) -> None:
    page = text("Pension guide", size=20) + b"".join(
        text("The scheme pays a lump sum.", y=650 - 14 * line) for line in range(3)
    )
    assert pages.parse(make([page], info=info), Hints(stem=stem)).title == title


def test_a_first_heading_is_the_documents_own_words() -> None:
    assert Hints(stem="file").title_of("untitled", heading="Test") == "Test"
    assert Hints(stem="file").title_of("untitled", heading="- 1 -") == "file"
    assert (
        Hints(stem="file").title_of("Guide of the scheme", heading="Test") == "Guide of the scheme"
    )

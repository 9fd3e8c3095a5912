"""Titles of the rows of a table, and rows whose values are missing, in every format."""

import io
from collections.abc import Callable, Sequence

import docx
import openpyxl
import pytest

from services.retriever.documents import ParsedDocument
from services.retriever.parsing import csv, html, markdown
from services.retriever.parsing.office import docx as docx_parser
from services.retriever.parsing.office import xlsx
from services.retriever.parsing.pdf import pages
from services.text.tables import Grid
from tests.retriever.parsing import pdfs
from tests.retriever.parsing.pdf.drawing import left, right

Rows = Sequence[tuple[str, str, str]]

MISSING = [("Rent", "12", "14"), ("Discounts", "", ""), ("Lamps", "3", "4"), ("Boats", "5", "6")]
FIRST = [("Discounts", "", ""), ("Rent", "12", "14"), ("Lamps", "3", "4"), ("Boats", "5", "6")]
COLON = [("Income:", "", ""), ("Rent", "12", "14"), ("Lamps", "3", "4"), ("Total", "15", "18")]
TOTAL = [("Income", "", ""), ("Rent", "12", "14"), ("Total income", "12", "14"), ("Cash", "3", "4")]
AGAIN = [
    ("North", "", ""), ("Adults", "12", "14"), ("Dogs", "3", "4"),
    ("South", "", ""), ("Adults", "22", "24"), ("Dogs", "5", "6"),
]  # fmt: skip


def as_csv(rows: Rows) -> ParsedDocument:
    return csv.parse("\n".join(map(",".join, [("Item", "2023", "2024"), *rows])).encode())


def as_markdown(rows: Rows) -> ParsedDocument:
    head = "| Item | 2023 | 2024 |\n|---|---|---|\n"
    return markdown.parse((head + "".join(f"| {' | '.join(row)} |\n" for row in rows)).encode())


def as_html(rows: Rows) -> ParsedDocument:
    lines = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    head = "<tr><th>Item</th><th>2023</th><th>2024</th></tr>"
    return html.parse(f"<table>{head}{lines}</table>".encode())


def as_docx(rows: Rows) -> ParsedDocument:
    document = docx.Document()
    table = document.add_table(0, 3)
    for row in [("Item", "2023", "2024"), *rows]:
        for cell, said in zip(table.add_row().cells, row, strict=True):
            cell.text = said
    buffer = io.BytesIO()
    document.save(buffer)
    return docx_parser.parse(buffer.getvalue())


def as_xlsx(rows: Rows) -> ParsedDocument:
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    for row in [("Item", "2023", "2024"), *rows]:
        sheet.append([int(cell) if cell.isdigit() and row[0] != "Item" else cell for cell in row])
    buffer = io.BytesIO()
    book.save(buffer)
    return xlsx.parse(buffer.getvalue())


def as_pdf(rows: Rows) -> ParsedDocument:
    content = left("Item", 60, 720) + right("2023", 400, 720) + right("2024", 500, 720)
    for at, row in enumerate(rows):
        for column, said in enumerate(row):
            y = 704 - 14 * at
            content += right(said, 300 + 100 * column, y) if column else left(said, 60, y)
    return pages.parse(pdfs.make([content]))


FORMATS = [as_csv, as_markdown, as_html, as_docx, as_xlsx, as_pdf]


def named(found: ParsedDocument) -> list[str]:
    """What each row with values is."""
    (table,) = found.tables
    grid = Grid(table, found.text)
    return ["; ".join(map(grid.say, grid.row_heads(row))) for row in grid.rows if grid.values(row)]


@pytest.mark.parametrize("read", FORMATS)
@pytest.mark.parametrize("rows", [MISSING, FIRST], ids=["in the midst", "first"])
def test_a_row_without_values_names_no_other(
    read: Callable[[Rows], ParsedDocument], rows: Rows
) -> None:
    assert named(read(rows)) == ["Rent", "Lamps", "Boats"]


@pytest.mark.parametrize("read", FORMATS)
def test_words_that_tell_a_title(read: Callable[[Rows], ParsedDocument]) -> None:
    assert named(read(COLON)) == ["Income:; Rent", "Income:; Lamps", "Income:; Total"]
    assert named(read(TOTAL)) == ["Income; Rent", "Total income", "Cash"]
    assert named(read(AGAIN)) == [
        f"{group}; {name}" for group in ("North", "South") for name in ("Adults", "Dogs")
    ]


@pytest.mark.parametrize(
    "title",
    [
        "<td><b>Income</b></td><td></td><td></td>",
        "<td style='font-weight: 700'>Income</td><td></td><td></td>",
        "<th scope=rowgroup>Income</th><td></td><td></td>",
        "<td colspan=3>Income</td>",
    ],
    ids=["bold", "style", "head", "merged"],
)
def test_a_form_that_tells_a_title(title: str) -> None:
    head = "<tr><th>Item</th><th>2023</th><th>2024</th></tr>"
    rows = "<tr><td>Rent<td>12<td>14</tr><tr><td>Lamps<td>3<td>4</tr>"
    found = html.parse(f"<table>{head}<tr>{title}</tr>{rows}</table>".encode())
    assert named(found) == ["Income; Rent", "Income; Lamps"]


@pytest.mark.parametrize("form", ["&nbsp;&nbsp;{}", "<div style='padding-left: 12pt'>{}</div>"])
def test_rows_that_stand_further_in_tell_a_title(form: str) -> None:
    rows = [("Income", "", ""), *((form.format(name), one, two) for name, one, two in MISSING)]
    assert named(as_html(rows)) == ["Income; Rent", "Lamps", "Boats"]


def test_a_colon_that_every_name_has_tells_nothing() -> None:
    rows = [(f"{name}:", one, two) for name, one, two in MISSING]
    assert named(as_csv(rows)) == ["Rent:", "Lamps:", "Boats:"]

"""Excel workbooks as text."""

import datetime
import re

import pytest
from openpyxl import Workbook
from openpyxl.cell.rich_text import CellRichText, TextBlock
from openpyxl.cell.text import InlineFont
from openpyxl.chart import BarChart, Reference
from openpyxl.comments import Comment
from openpyxl.styles import Alignment, Font, PatternFill
from openpyxl.utils.datetime import CALENDAR_MAC_1904

from services.retriever.documents import ParsedDocument, Table
from services.retriever.parsing.office import xlsx, xlsx_links
from services.retriever.parsing.parser import Hints
from services.rpc.errors import InvalidArgument
from services.text.tables import Grid
from tests.retriever.parsing.office.files import (
    Value,
    changed,
    page_of,
    parts,
    saved,
    sheet,
    strict,
    zipped,
)

SHEET = "xl/worksheets/sheet1.xml"


def read(book: Workbook) -> ParsedDocument:
    return xlsx.parse(saved(book), Hints(stem="file"))


def cells(found: ParsedDocument, table: Table) -> list[tuple[str, str]]:
    text = found.text
    return [(cell.address, text[cell.char_start : cell.char_end]) for cell in table.cells]


def test_a_sheet_is_a_page_and_its_cells_have_their_names() -> None:
    book = sheet([["Part", "Price"], ["PX-1", 12.5], ["PX-2", 13]])
    book.create_sheet("Notes")["B2"] = "All prices are net."
    found = read(book)
    assert [page.label for page in found.pages] == ["Prices", "Notes"]
    assert (
        found.text
        == "Prices\n\nPart | Price\nPX-1 | 12.5\nPX-2 | 13\n\nNotes\n\nAll prices are net."
    )
    assert [section.path for section in found.sections] == [("Prices",), ("Notes",)]
    (one,) = found.tables
    assert (one.head_rows, one.head_columns) == (1, 1)
    assert cells(found, one) == [
        ("A1", "Part"),
        ("B1", "Price"),
        ("A2", "PX-1"),
        ("B2", "12.5"),
        ("A3", "PX-2"),
        ("B3", "13"),
    ]


def test_values_stand_as_the_sheet_shows_them() -> None:
    book = sheet(
        [["Rate", "Price", "Since", "Late"], [0.05, 1234.5, datetime.date(2024, 3, 9), True]]
    )
    page = page_of(book)
    page["A2"].number_format = "0%"
    page["B2"].number_format = '#,##0.00 "EUR"'
    page["C2"].number_format = "d mmmm yyyy"
    assert "5% | 1,234.50 EUR | 9 March 2024 | TRUE" in read(book).text


def test_days_that_count_from_1904() -> None:
    book = sheet([["Since", "Item"], [datetime.date(2024, 3, 9), "Nuts"]])
    book.epoch = CALENDAR_MAC_1904
    page = page_of(book)
    page["A2"].number_format = "yyyy-mm-dd"
    assert "2024-03-09 | Nuts" in read(book).text


def test_a_formula_stands_with_its_stored_value_or_not_at_all() -> None:
    book = sheet([["Item", "Price"], ["Nuts", 2], ["Sum", "=B2*2"]])
    found = read(book)
    assert "Sum" in found.text
    assert "=" not in found.text
    assert found.warnings == (
        "formulas without a stored value: 1; open the file in its own program and save it again",
    )
    stored = changed(
        saved(book), SHEET, lambda text: re.sub("</f>.*?</c>", "</f><v>4</v></c>", text)
    )
    assert "Sum | 4" in xlsx.parse(stored).text


def test_what_a_sheet_hides_is_left_out() -> None:
    book = sheet([["Item", "Cost", "Price"], ["Nuts", 1, 2], ["Bolts", 3, 4], ["Gears", 5, 6]])
    page = page_of(book)
    page.column_dimensions["B"].hidden = True
    page.row_dimensions[3].hidden = True
    book.create_sheet("Margins")["A1"] = "secret"
    book["Margins"].sheet_state = "hidden"
    found = read(book)
    assert found.text == "Prices\n\nItem | Price\nNuts | 2\nGears | 6"
    assert found.warnings == (
        "hidden sheets left out: 1",
        "hidden cells left out: 6",
    )
    (one,) = found.tables
    assert ("C4", "6") in cells(found, one)


def test_raised_and_struck_out_parts_of_a_cell() -> None:
    book = sheet([["Item", "Price"], ["Nuts", 2]])
    page = page_of(book)
    page["B2"] = CellRichText("320", TextBlock(InlineFont(vertAlign="superscript"), "1"))
    page["B3"] = CellRichText(TextBlock(InlineFont(strike=True), "90 "), "140")
    page["A3"] = "Bolts"
    page["A4"], page["B4"] = "Gears", "old"
    page["B4"].font = Font(strike=True)
    found = read(book)
    assert "Nuts | 320[^1]\nBolts | 140\nGears" in found.text
    assert "old" not in found.text
    assert "90" not in found.text


def test_heads_on_two_levels() -> None:
    book = sheet(
        [["", 2023, "", 2024, ""], ["Item", "Q1", "Q2", "Q1", "Q2"], ["Nuts", 10, 20, 30, 40]]
    )
    page = page_of(book)
    page.merge_cells("B1:C1")
    page.merge_cells("D1:E1")
    found = read(book)
    (one,) = found.tables
    assert (one.head_rows, one.head_columns) == (2, 1)
    spans = {cell.address: cell.column_span for cell in one.cells if cell.address}
    assert (spans["B1"], spans["D1"], spans["B2"]) == (2, 2, 1)


def test_a_row_of_units_belongs_to_the_heads() -> None:
    found = read(
        sheet(
            [["Item", "Weight", "Price"], [None, "kg", "EUR"], ["Nuts", 1.5, 2], ["Bolts", 2.5, 3]]
        )
    )
    assert [(table.head_rows, table.head_columns) for table in found.tables] == [(2, 1)]


def test_white_figures_on_white_are_hidden() -> None:
    book = sheet([["Item", "Price"], ["Nuts", 2], ["Bolts", 3]])
    page = page_of(book)
    page["B3"].font = Font(color="FFFFFFFF")
    page["A1"].font = Font(color="FFFFFFFF")
    page["A1"].fill = PatternFill("solid", fgColor="FF000000")
    found = read(book)
    assert found.text == "Prices\n\nItem | Price\nNuts | 2\nBolts |"
    assert found.warnings == ("hidden cells left out: 1",)


def test_several_tables_of_one_sheet_stay_apart() -> None:
    book = sheet(
        [["Prices of 2024"], [], ["Item", "Price"], ["Nuts", 2], ["Bolts", 3], ["in euros"], []]
    )
    page = page_of(book)
    beside: list[list[Value]] = [["Name", "Desk"], ["Ada", 12], ["Bob", 14]]
    below: list[list[Value]] = [["City", "Shops"], ["Rome", 4], ["Oslo", 5]]
    for rows, top, left in ((beside, 3, 5), (below, 9, 1)):
        for row, values in enumerate(rows, start=top):
            for column, value in enumerate(values, start=left):
                page.cell(row, column, value)
    found = read(book)
    assert [cells(found, table)[0] for table in found.tables] == [
        ("A3", "Item"),
        ("E3", "Name"),
        ("A9", "City"),
    ]
    assert "in euros" in found.text
    assert all("in euros" not in dict(cells(found, table)).values() for table in found.tables)


def test_an_empty_column_inside_a_table_does_not_cut_it() -> None:
    found = read(
        sheet([["Item", None, "2023", "2024"], ["Nuts", None, 10, 20], ["Bolts", None, 30, 40]])
    )
    (one,) = found.tables
    assert ("D3", "40") in cells(found, one)
    assert one.head_rows == 1


def test_figures_without_heads_are_paired_with_nothing() -> None:
    found = read(sheet([[1, 2], [3, 4]]))
    assert all(table.head_rows == table.head_columns == 0 for table in found.tables)


def test_links_keep_their_addresses() -> None:
    book = Workbook()
    sheet = book.active
    assert sheet is not None
    for row in (("Form", "Where", "Fee"), ("Exit", "open", 7), ("Entry", "open", 9)):
        sheet.append(row)
    sheet["B2"].hyperlink = "https://forms.guild.example/exit-5"
    sheet["C2"].hyperlink = "https://forms.guild.example/fees"
    sheet["B3"].hyperlink = "#Sheet!A1"
    found = read(book).text
    assert "Exit | open (https://forms.guild.example/exit-5) | 7" in found
    assert "Entry | open | 9" in found


@pytest.mark.parametrize(
    ("formula", "shown", "text"),
    [
        ('HYPERLINK("https://a.example/x","open")', "open", "open (https://a.example/x)"),
        ('HYPERLINK("https://a.example/x")', "https://a.example/x", "https://a.example/x"),
        ('HYPERLINK(B1,"open")', "open", "open"),
        ('HYPERLINK("file:///etc/x","open")', "open", "open"),
    ],
)
def test_a_formula_that_is_a_link(formula: str, shown: str, text: str) -> None:
    assert xlsx_links.linked(shown, False, xlsx_links.of_formula(formula)) == text


def test_comments_and_charts_are_told() -> None:
    book = sheet([["Item", "Price"], ["Nuts", 2], ["Bolts", 3]])
    page = page_of(book)
    page["B2"].comment = Comment("Should be 5", "A")
    chart = BarChart()
    chart.add_data(Reference(page, min_col=2, min_row=1, max_row=3))
    page.add_chart(chart, "D1")
    found = read(book)
    assert "Should be 5" not in found.text
    assert found.warnings == (
        "comments left out: on 1 sheets",
        "charts and drawings not read: on 1 sheets",
    )


def test_the_strict_variant_is_read_alike() -> None:
    book = sheet([["Item", "Price"], ["Nuts", 2]])
    assert xlsx.parse(strict(saved(book))).text == read(book).text


def test_what_other_programs_leave_out_or_write_differently() -> None:
    """No dimension, no names of cells, text in the cells, no styles; a colour that no standard knows."""
    rows = (
        '<row><c t="inlineStr"><is><t>Item</t></is></c><c t="inlineStr"><is><r><t>Pri</t></r>'
        "<r><t>ce</t></r></is></c></row>"
        '<row><c t="str"><v>Nuts_x0041_</v></c><c><v>2.50</v></c></row>'
    )
    files = parts(saved(sheet([["a"]])))
    files[SHEET] = (
        '<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">'
        f"<sheetData>{rows}</sheetData></worksheet>"
    ).encode()
    files["xl/styles.xml"] = (
        b'<styleSheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">'
        b"<fills><fill/></fills><fonts><font><family val='99'/></font></fonts></styleSheet>"
    )
    assert xlsx.parse(zipped(files)).text == "Prices\n\nItem | Price\nNutsA | 2.5"


def test_a_workbook_with_too_many_cells_is_read_to_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xlsx, "MAX_CELLS", 20)
    found = read(sheet([("Item", "Price"), *((f"PX-{i}", i) for i in range(100))]))
    assert "PX-8" in found.text
    assert "PX-20" not in found.text
    assert found.warnings == (
        "read up to row 11 of the sheet 'Prices': the workbook has more than 20 cells; split it",
    )


def test_a_cell_at_the_far_corner_costs_nothing() -> None:
    book = sheet([["Item", "Price"], ["Nuts", 2]])
    page_of(book)["XFD1048576"] = "end"
    assert read(book).text == "Prices\n\nItem | Price\nNuts | 2\n\nend"


def test_sheets_without_cells_are_no_pages() -> None:
    book = sheet([["Item", "Price"], ["Nuts", 2]])
    book.create_sheet("Empty")
    book.create_chartsheet("Chart")
    found = read(book)
    assert [page.label for page in found.pages] == ["Prices"]


def test_a_workbook_that_names_no_sheets_is_damaged() -> None:
    files = parts(saved(sheet([["a"]])))
    files["xl/workbook.xml"] = b"<workbook"
    with pytest.raises(InvalidArgument) as raised:
        xlsx.parse(zipped(files))
    assert raised.value.reason == "BROKEN_FILE"


def paired(found: ParsedDocument) -> list[tuple[str, ...]]:
    """Of each value: the names of its row, the heads of its column, and the value."""
    said = []
    for one in found.tables:
        grid = Grid(one, found.text)
        for row in grid.rows:
            for cell in grid.values(row):
                heads = (*grid.row_heads(row), *grid.column_heads(cell))
                said.append((*map(grid.say, heads), grid.say(cell)))
    return said


def test_a_row_without_values_is_no_title_of_the_rows_below() -> None:
    rows: list[list[Value | None]] = [["Item", "Price"], ["Beta", None], ["Gamma", 5]]
    assert paired(read(sheet(rows))) == [("Gamma", "Price", "5")]
    rows.insert(1, ["Alpha", 3])
    assert paired(read(sheet(rows))) == [("Alpha", "Price", "3"), ("Gamma", "Price", "5")]


@pytest.mark.parametrize("marked", ["bold", "indent", "merged"])
def test_titles_of_groups_stand_over_their_rows(marked: str) -> None:
    rows: list[list[Value | None]] = [
        ["Item", "Price"],
        ["Drinks"],
        ["Tea", 2],
        ["Food"],
        ["Soup", 5],
    ]
    book = sheet(rows)
    for row in (2, 4):
        if marked == "bold":
            page_of(book)[f"A{row}"].font = Font(bold=True)
        if marked == "indent":
            page_of(book)[f"A{row + 1}"].alignment = Alignment(indent=1)
        if marked == "merged":
            page_of(book).merge_cells(f"A{row}:B{row}")
    assert paired(read(book)) == [
        ("Drinks", "Tea", "Price", "2"),
        ("Food", "Soup", "Price", "5"),
    ]


@pytest.mark.parametrize("marked", ["bold", "again", "columns"])
def test_tables_under_each_other_have_heads_of_their_own(marked: str) -> None:
    second = ["City" if marked == "again" else "Town", "Age", "Rank"]
    book = sheet(
        [["City", "Area", "Pop"], ["Bern", 5, 6], ["Basel", 7, 8], second, ["Ulm", 50, 51]]
    )
    if marked == "bold":
        for row in ("1", "4"):
            for column in "ABC":
                page_of(book)[f"{column}{row}"].font = Font(bold=True)
    assert ("Ulm", "Age", "50") in paired(read(book))
    assert ("Ulm", "Area", "50") not in paired(read(book))


def test_words_among_figures_are_no_heads() -> None:
    rows: list[list[Value | None]] = [
        ["Item", "Price"],
        ["Adult", 3],
        ["Child", "free"],
        ["Senior", 5],
    ]
    assert ("Senior", "Price", "5") in paired(read(sheet(rows)))


def test_a_form_has_no_heads_over_its_answers() -> None:
    found = read(sheet([["Name:", "Miller"], ["Town:", "Bern"], ["Age:", 33], ["Fee:", 45]]))
    assert paired(found)[2:] == [("Age:", "33"), ("Fee:", "45")]

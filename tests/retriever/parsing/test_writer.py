"""The writer of every format: text, headings, lists, and tables whose cells are slices of the text."""

from folio.formats import MediaType
from services.retriever.documents import ParsedDocument, Table
from services.retriever.parsing.writer import TextWriter


def finished(writer: TextWriter) -> ParsedDocument:
    return writer.finish(MediaType.HTML)


def grid(document: ParsedDocument, table: Table) -> dict[tuple[int, int], str]:
    return {
        (cell.row, cell.column): document.text[cell.char_start : cell.char_end]
        for cell in table.cells
    }


def test_a_table_is_a_line_for_each_row_and_every_cell_a_slice() -> None:
    writer = TextWriter()
    writer.text("Before")
    with writer.table("Fares in euros"):
        for row in (("Boat", "Price"), ("Single\ncanoe", "14"), ("Raft", "")):
            with writer.row():
                for value in row:
                    with writer.cell(head=row[0] == "Boat"):
                        writer.text(value)
    writer.text("After")
    document = finished(writer)
    assert document.text == (
        "Before\n\nFares in euros\nBoat | Price\nSingle canoe | 14\nRaft |\n\nAfter"
    )
    (table,) = document.tables
    assert grid(document, table) == {
        (0, 0): "Boat",
        (0, 1): "Price",
        (1, 0): "Single canoe",
        (1, 1): "14",
        (2, 0): "Raft",
        (2, 1): "",
    }
    assert (table.head_rows, table.head_columns) == (1, 0)
    assert table.caption is not None
    assert document.text[slice(*table.caption)] == "Fares in euros"
    assert document.text[table.char_start : table.char_end].startswith("Boat | Price")


def test_merged_cells_stand_once_at_their_first_place() -> None:
    writer = TextWriter()
    with writer.table():
        with writer.row():
            with writer.cell(head=True, row_span=2):
                writer.text("Class")
            with writer.cell(head=True, column_span=2):
                writer.text("2024")
        with writer.row():
            for value in ("adult", "child"):
                with writer.cell(head=True):
                    writer.text(value)
        with writer.row():
            for value in ("First", "30", "15"):
                with writer.cell(head=value == "First"):
                    writer.text(value)
    document = finished(writer)
    assert document.text == "Class | 2024\n| adult | child\nFirst | 30 | 15"
    (table,) = document.tables
    assert (table.head_rows, table.head_columns) == (2, 1)
    assert grid(document, table)[1, 2] == "child"
    assert [(cell.row_span, cell.column_span) for cell in table.cells[:2]] == [(2, 1), (1, 2)]


def test_a_table_may_go_on_over_pages() -> None:
    writer = TextWriter()
    writer.page("Sheet 1")
    with writer.table():
        for number in range(4):
            if number == 2:
                writer.page("Sheet 1, rows 3 to 4")
            with writer.row():
                for column in "AB":
                    with writer.cell(head=number == 0, address=f"{column}{number + 1}"):
                        writer.text(f"{column.lower()}{number}")
    document = finished(writer)
    assert [page.text for page in document.pages] == ["a0 | b0\na1 | b1", "a2 | b2\na3 | b3"]
    (table,) = document.tables
    assert grid(document, table)[3, 1] == "b3"
    assert table.cells[-1].address == "B4"


def test_a_row_or_a_column_alone_is_no_table() -> None:
    writer = TextWriter()
    for rows in ((("a", "b"),), (("a",), ("b",))):
        with writer.table():
            for row in rows:
                with writer.row():
                    for value in row:
                        with writer.cell():
                            writer.text(value)
    document = finished(writer)
    assert document.text == "a | b\n\na\nb"
    assert not document.tables


def test_a_table_too_wide_to_place_is_text() -> None:
    writer = TextWriter()
    with writer.table():
        for _ in range(2):
            with writer.row():
                for _ in range(600):
                    with writer.cell():
                        writer.text("x")
    document = finished(writer)
    assert not document.tables
    assert document.text.count("x") == 1200


def test_a_table_inside_a_cell_is_text_of_the_cell() -> None:
    writer = TextWriter()
    with writer.table():
        for value in ("a", "b"):
            with writer.row():
                with writer.cell():
                    writer.text(value)
                with writer.cell(), writer.table(), writer.row():
                    with writer.cell():
                        writer.text("in")
                    with writer.cell():
                        writer.text("side")
    document = finished(writer)
    assert document.text == "a | in side\nb | in side"


def test_preformatted_text_keeps_its_indentation() -> None:
    writer = TextWriter()
    writer.preformatted("  first:\n    low: 2   \n\n\n\n\thigh:  9\n")
    writer.text("After")
    assert finished(writer).text == "  first:\n    low: 2\n\n\thigh:  9\n\nAfter"


def test_headings_lists_and_pages() -> None:
    writer = TextWriter()
    writer.page("i")
    with writer.heading(1):
        writer.text("Title")
    with writer.list(3):
        writer.item()
        writer.text("three")
        writer.item()
        writer.text("four")
        with writer.list():
            writer.item()
            writer.text("bullet")
    writer.page("ii")
    with writer.heading(2):
        writer.text("Next")
    document = finished(writer)
    assert document.text == "Title\n\n3. three\n4. four\n- bullet\n\nNext"
    assert [page.label for page in document.pages] == ["i", "ii"]
    assert [section.path for section in document.sections] == [("Title",), ("Title", "Next")]
    assert document.title == "Title"

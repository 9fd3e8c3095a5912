"""Tables of PDFs in the text of their document, and over its pages."""

from services.retriever.documents import ParsedDocument
from services.retriever.parsing.pdf import pages
from services.text.tables import Grid
from tests.retriever.parsing import pdfs
from tests.retriever.parsing.pdf.drawing import ROWS, left, parsed, right, statement


def _row(document: ParsedDocument, name: str) -> tuple[list[str], list[list[str]], list[str]]:
    """What a row is, what stands over each of its values, and the values."""
    (table,) = document.tables
    grid = Grid(table, document.text)
    number = next(row for row in grid.rows if grid.say(grid.names(row)[-1]) == name)
    values = grid.values(number)
    return (
        [grid.say(cell) for cell in grid.row_heads(number)],
        [[grid.say(head) for head in grid.column_heads(cell)] for cell in values],
        [grid.say(cell) for cell in values],
    )


MORE = [("Harbour", "1,212", "1,313"), ("Wall", "14", "15"), ("Lamps", "160", "171")]


def test_every_cell_is_a_slice_of_the_text_and_has_its_places() -> None:
    document = parsed(statement(ROWS))
    assert "Inventories | $5,877,879 | $4,021,330" in document.text
    assert _row(document, "Receivables") == (
        ["Receivables"],
        [["2022"], ["2021"]],
        ["917", "1,028"],
    )


def test_a_table_goes_on_over_pages_with_its_heads_again() -> None:
    document = parsed(statement(ROWS), statement(MORE))
    assert _row(document, "Wall") == (["Wall"], [["2022"], ["2021"]], ["14", "15"])
    assert _row(document, "Inventories")[2] == ["$5,877,879", "$4,021,330"]


def test_a_table_goes_on_without_heads_where_its_columns_stand_as_before() -> None:
    rest = b"".join(
        left(name, 60, 740 - 14 * at)
        + right(one, 400, 740 - 14 * at)
        + right(other, 500, 740 - 14 * at)
        for at, (name, one, other) in enumerate(MORE)
    )
    assert _row(parsed(statement(ROWS), rest), "Lamps") == (
        ["Lamps"],
        [["2022"], ["2021"]],
        ["160", "171"],
    )


def test_other_columns_on_the_next_page_are_no_part_of_it() -> None:
    rest = b"".join(
        left(name, 60, 740 - 14 * at)
        + right(one, 300, 740 - 14 * at)
        + right(other, 450, 740 - 14 * at)
        for at, (name, one, other) in enumerate(MORE)
    )
    document = parsed(statement(ROWS), rest)
    (table,) = document.tables
    assert document.text[table.char_end :].strip().startswith("Harbour")
    # Nor is a table that other text follows.
    after = b"".join(
        left("And so on, for as long as there is a lamp to light.", 60, 500 - 12 * at)
        for at in range(8)
    )
    assert len(parsed(statement(ROWS) + after, statement(MORE)).tables) == 2


def test_another_table_with_the_same_heads_is_another_table() -> None:
    title = left("Statement of cash flows of the harbour", 60, 750, 12, "F2")
    assert len(parsed(statement(ROWS), title + statement(MORE)).tables) == 2
    again = left("Statement of assets (continued)", 60, 750, 12, "F2")
    assert len(parsed(statement(ROWS), again + statement(MORE)).tables) == 1


def test_sideways_figures_are_no_rows_of_single_letters() -> None:
    rows = [("Item", "2022", "2023"), ("Berth", "320", "340"), ("Mooring", "45", "50")]
    content = b"".join(
        f"BT /F1 10 Tf 0 1 -1 0 {200 + 20 * at} {100 + 90 * column} Tm ({words}) Tj ET\n".encode()
        for at, row in enumerate(rows)
        for column, words in enumerate(row)
    )
    document = pages.parse(pdfs.make([content + left("Table 3: Fees", 72, 60)]))
    assert not document.tables
    assert "Item 2022 2023\nBerth 320 340\nMooring 45 50" in document.text

"""Tables of PDFs that were drawn for this: what is paired with what, and what is no table."""

from collections.abc import Sequence
from itertools import pairwise

import pypdfium2 as pdfium
import pytest

from services.retriever.documents import ParsedDocument
from services.retriever.parsing.pdf import glyphs, grids, hidden, pages, rules, tables
from services.text.tables import Grid
from tests.retriever.parsing import pdfs

# Widths of Helvetica's letters in thousandths of its size, as far as figures and signs go.
_WIDTHS = {",": 278, ".": 278, "(": 333, ")": 333, "-": 333, " ": 278, "%": 889, "$": 556}


def right(words: str, x: float, y: float, size: float = 10) -> bytes:
    """Figures that end at x."""
    width = sum(_WIDTHS.get(char, 556) for char in words) * size / 1000
    return pdfs.text(words, x - width, y, size)


def left(words: str, x: float, y: float, size: float = 10, font: str = "F1") -> bytes:
    return pdfs.text(words, x, y, size, font)


def line(x0: float, y0: float, x1: float, y1: float) -> bytes:
    return f"0.5 w {x0} {y0} m {x1} {y1} l S\n".encode()


def found(content: bytes) -> list[tuple[grids.Grid, dict[tuple[int, int], str]]]:
    """The tables of a page with this content, and the text of each cell."""
    document = pdfium.PdfDocument(pdfs.make([content]))
    try:
        page = document[0]
        chars = glyphs.read(page)
        flags = hidden.find(page, chars).flags
        grids = tables.find(chars, flags, rules.read(page, chars.frame))
        page.close()
    finally:
        document.close()
    return [
        (
            grid,
            {
                (cell.row, cell.column): "".join(
                    " " if at < 0 else chars.chars[at] for at in cell.glyphs
                )
                for cell in grid.cells
            },
        )
        for grid in grids
    ]


def statement(rows: Sequence[tuple[str, str, str]], money: bool = True) -> bytes:
    """Names at the left, two columns of figures at the right under two years."""
    content = left("(in thousands)", 60, 720) + left("2022", 382, 720) + left("2021", 482, 720)
    for at, (name, one, other) in enumerate(rows):
        y = 700 - 14 * at
        content += left(name, 60, y)
        for value, x in ((one, 400), (other, 500)):
            if value:
                content += right(value, x, y)
                if money and at == 0:
                    content += left("$", x - 65, y)
    return content


ROWS = [
    ("Inventories", "5,877,879", "4,021,330"),
    ("Receivables", "917", "1,028"),
    ("Loss on leases", "(212)", "-"),
    ("Total assets", "11,306,204", "9,000,001"),
]


def test_figures_in_columns_under_years() -> None:
    [(grid, cells)] = found(statement(ROWS))
    assert (grid.rows, grid.columns, grid.head_rows) == (5, 3, 1)
    assert [cells[0, at] for at in range(3)] == ["(in thousands)", "2022", "2021"]
    assert [cells[1, at] for at in range(3)] == ["Inventories", "$5,877,879", "$4,021,330"]
    assert [cells[3, at] for at in range(3)] == ["Loss on leases", "(212)", "-"]


def test_a_name_on_two_lines_is_one_row_and_a_title_is_none() -> None:
    rows = [
        ("CURRENT ASSETS", "", ""),
        ("Preferred shares, of which one hundred million are", "", ""),
        ("authorized and none issued", "12", "14"),
        *ROWS[1:],
    ]
    [(grid, cells)] = found(statement(rows, money=False))
    assert cells[1, 0] == "CURRENT ASSETS"
    assert next(cell for cell in grid.cells if (cell.row, cell.column) == (1, 0)).column_span == 3
    assert cells[2, 0].endswith("are authorized and none issued")
    assert (cells[2, 1], cells[2, 2]) == ("12", "14")


def test_a_head_over_two_columns_is_both_their_head() -> None:
    content = left("First half", 310, 740) + line(280, 737, 400, 737)
    content += left("Second half", 457, 740) + line(430, 737, 550, 737)
    for at, head in enumerate(("Sold", "Left", "Sold", "Left")):
        content += left(head, (300, 370, 450, 520)[at], 724)
    for at, name in enumerate(("Apples", "Pears", "Plums")):
        content += left(name, 60, 706 - 14 * at)
        for column, x in enumerate((320, 390, 470, 540)):
            content += right(f"{10 * at + column + 11}", x, 706 - 14 * at)
    [(grid, cells)] = found(content)
    spans = {(c.row, c.column): c.column_span for c in grid.cells if c.row < grid.head_rows}
    assert (cells[0, 1], cells[0, 3]) == ("First half", "Second half")
    assert (spans[0, 1], spans[0, 3]) == (2, 2)
    assert [cells[1, at] for at in range(1, 5)] == ["Sold", "Left", "Sold", "Left"]
    assert [cells[2, at] for at in range(1, 5)] == ["11", "12", "13", "14"]


def test_cells_that_lines_draw() -> None:
    xs, ys = (60, 160, 300, 500), (740, 716, 680, 660)
    content = b"".join(line(x, ys[0], x, ys[-1]) for x in xs)
    content += b"".join(line(xs[0], y, xs[-1], y) for y in ys)
    for at, head in enumerate(("Error", "Meaning", "What to do")):
        content += left(head, xs[at] + 4, 724, font="F2")
    content += left("88", 64, 702) + left("Boiler too hot", 164, 702)
    content += left("Let it cool down and", 304, 702) + left("switch on again", 304, 688)
    content += left("89", 64, 666) + left("No water", 164, 666) + left("Fill the tank", 304, 666)
    [(grid, cells)] = found(content)
    assert (grid.rows, grid.columns, grid.head_rows) == (3, 3, 1)
    assert cells[1, 2] == "Let it cool down and switch on again"
    assert [cells[2, at] for at in range(3)] == ["89", "No water", "Fill the tank"]


def test_rows_that_no_line_parts_are_rows_all_the_same() -> None:
    xs, ys = (60, 260, 380), (740, 716, 650)
    content = b"".join(line(x, ys[0], x, ys[-1]) for x in xs)
    content += b"".join(line(xs[0], y, xs[-1], y) for y in ys)
    content += left("Director", 64, 724) + left("Meetings", 264, 724)
    for at, name in enumerate(("Ash", "Birch", "Cedar")):
        content += left(name, 64, 700 - 16 * at) + left(str(7 + at), 300, 700 - 16 * at)
    [(grid, cells)] = found(content)
    assert grid.rows == 4
    assert [(cells[at, 0], cells[at, 1]) for at in (1, 2, 3)] == [
        ("Ash", "7"),
        ("Birch", "8"),
        ("Cedar", "9"),
    ]


PROSE = (
    "The night watch begins at ten in the",
    "evening, when 40 lamps are lit, and it",
    "goes on until the last of the 12 boats",
    "has come in, or at six, whichever is",
    "the later of the two. Whoever leaves",
    "before that tells the harbour master,",
)


def _two_columns() -> bytes:
    return b"".join(
        left(words, x, 700 - 13 * at) for at, words in enumerate(PROSE) for x in (60, 320)
    )


def _contents() -> bytes:
    names = ("Opening hours", "Prices of the year", "How to find us", "What to bring")
    return b"".join(
        left(name + " " + "." * 60, 60, 700 - 14 * at) + right(str(3 + 9 * at), 520, 700 - 14 * at)
        for at, name in enumerate(names)
    )


def _chart() -> bytes:
    axis = b"".join(right(str(20 * at), 80, 500 + 30 * at) for at in range(6))
    years = b"".join(left(str(2000 + 2 * at), 90 + 50 * at, 480) for at in range(7))
    return axis + years + left("86", 400, 640) + left("59", 400, 560)


def _list() -> bytes:
    return b"".join(
        left(f"{at}.", 60, 700 - 14 * at) + left(f"Bring {at} pairs of shoes.", 90, 700 - 14 * at)
        for at in range(1, 7)
    )


def _headless() -> bytes:
    return b"".join(
        left(name, 60, 700 - 14 * at)
        + right(one, 400, 700 - 14 * at)
        + right(other, 500, 700 - 14 * at)
        for at, (name, one, other) in enumerate(ROWS)
    )


def _below(content: bytes) -> bytes:
    """With a text above it."""
    return content + b"".join(
        left("Whoever leaves before that tells the harbour master and waits.", 60, 785 - 12 * at)
        for at in range(6)
    )


def _head_between_columns() -> bytes:
    return _headless() + left("2022", 425, 716)


@pytest.mark.parametrize(
    "content",
    [_two_columns(), _contents(), _chart(), _list(), _below(_headless()), _head_between_columns()],
    ids=["columns of text", "contents", "chart", "list", "no heads", "head between columns"],
)
def test_what_is_no_table_for_sure_is_none(content: bytes) -> None:
    assert found(content) == []


def test_a_frame_around_a_text_is_no_table() -> None:
    frame = b"".join(line(*at) for at in ((50, 720, 560, 720), (50, 600, 560, 600)))
    frame += b"".join(line(x, 720, x, 600) for x in (50, 300, 560))
    assert found(frame + _two_columns()) == []


def test_figures_keep_their_signs() -> None:
    content = left("2020", 380, 720) + left("Change", 470, 720)
    for at, (name, value, share) in enumerate(
        (("Sales", "1,234", "(5.8)"), ("Costs", "987", "12.1"), ("Rent", "15", "0.3"))
    ):
        y = 700 - 14 * at
        content += left(name, 60, y) + right(value, 400, y) + right(share, 500, y)
        content += left("%", 504, y)
    [(_, cells)] = found(content)
    assert [cells[at, 2] for at in (1, 2, 3)] == ["(5.8)%", "12.1%", "0.3%"]


def _parsed(*contents: bytes) -> ParsedDocument:
    return pages.parse(pdfs.make(contents))


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
    document = _parsed(statement(ROWS))
    assert "Inventories | $5,877,879 | $4,021,330" in document.text
    assert _row(document, "Receivables") == (
        ["Receivables"],
        [["2022"], ["2021"]],
        ["917", "1,028"],
    )


def test_a_table_goes_on_over_pages_with_its_heads_again() -> None:
    document = _parsed(statement(ROWS), statement(MORE))
    assert _row(document, "Wall") == (["Wall"], [["2022"], ["2021"]], ["14", "15"])
    assert _row(document, "Inventories")[2] == ["$5,877,879", "$4,021,330"]


def test_a_table_goes_on_without_heads_where_its_columns_stand_as_before() -> None:
    rest = b"".join(
        left(name, 60, 740 - 14 * at)
        + right(one, 400, 740 - 14 * at)
        + right(other, 500, 740 - 14 * at)
        for at, (name, one, other) in enumerate(MORE)
    )
    assert _row(_parsed(statement(ROWS), rest), "Lamps") == (
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
    document = _parsed(statement(ROWS), rest)
    (table,) = document.tables
    assert document.text[table.char_end :].strip().startswith("Harbour")
    # Nor is a table that other text follows.
    after = b"".join(
        left("And so on, for as long as there is a lamp to light.", 60, 500 - 12 * at)
        for at in range(8)
    )
    assert len(_parsed(statement(ROWS) + after, statement(MORE)).tables) == 2


def test_another_table_with_the_same_heads_is_another_table() -> None:
    title = left("Statement of cash flows of the harbour", 60, 750, 12, "F2")
    assert len(_parsed(statement(ROWS), title + statement(MORE)).tables) == 2
    again = left("Statement of assets (continued)", 60, 750, 12, "F2")
    assert len(_parsed(statement(ROWS), again + statement(MORE)).tables) == 1


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


def _parts_list(top: float) -> bytes:
    """Names, codes and prices under heads."""
    rows = [
        ("Spare part", "Number", "Price"),
        ("Gasket set", "GK-32", "7.00"),
        ("Bearing set", "BB-25", "22.00"),
    ]
    return b"".join(
        left(name, 60, top - 16 * at)
        + left(code, 300, top - 16 * at)
        + left(price, 450, top - 16 * at)
        for at, (name, code, price) in enumerate(rows)
    )


@pytest.mark.parametrize(
    "above",
    [
        left("A Catalogue of 2025", 420, 729, 8),
        left("4 Spare parts", 60, 735, 20) + left("4.1 Prices", 60, 715, 13),
        b"".join(
            left(name, 60, 793 - 16 * at) + left(value, 300, 793 - 16 * at)
            for at, (name, value) in enumerate(
                [("Motor", "2.2 kW"), ("Hose", "2 inch"), ("Weight", "31 kg"), ("Colour", "blue")]
            )
        ),
    ],
    ids=["running head", "headings", "another list"],
)
def test_what_stands_apart_above_the_heads_is_no_head(above: bytes) -> None:
    [(grid, cells)] = found(above + _parts_list(700))
    assert (grid.rows, grid.head_rows) == (3, 1)
    assert [cells[0, column] for column in range(3)] == ["Spare part", "Number", "Price"]
    assert [cells[1, column] for column in range(3)] == ["Gasket set", "GK-32", "7.00"]


_CHAPTERS = [
    ("Contents", "i"),
    ("1 Starting", "1"),
    ("1.1 Who can help", "1"),
    ("1.2 Trial", "1"),
    ("2 Money", "2"),
    ("2.1 Travel", "2"),
    ("2.2 Meals", "2"),
    ("3 Tasks", "3"),
    ("3.1 Homework", "3"),
]


@pytest.mark.parametrize("dots", ["", "." * 60], ids=["bare", "dots"])
def test_a_list_of_contents_is_no_table(dots: str) -> None:
    content = left("A Handbook", 430, 725, 8)
    for at, (title, page) in enumerate(_CHAPTERS):
        y = 700 - 13 * at
        content += left(title, 60, y) + left(dots, 180, y) + right(page, 500, y)
    assert found(content) == []
    text = _parsed(content).text
    assert "2.1 Travel" in text
    assert " | " not in text


def test_columns_of_words_without_a_common_line_are_no_names() -> None:
    content = left("Rank", 60, 700) + left("What", 90, 700) + left("Where", 250, 700)
    content += left("Crates", 450, 700)
    for at, (what, where) in enumerate(
        [("Registers of the harbour", "Room A"), ("Deeds", "Room C")]
    ):
        y = 680 - 30 * at
        content += left(str(at + 1), 60, y) + left(where, 250, y) + right(str(9 - at), 480, y)
        content += left(what, 90, y if at else y + 6)
    assert all((0, 2) in cells for _, cells in found(content))


def test_columns_whose_heads_say_the_same_are_no_table() -> None:
    content = b""
    for at, (name, *values) in enumerate([("", "2022", "2021", "2022", "2021"), *_TWICE]):
        content += left(name, 60, 700 - 14 * at)
        for column, value in enumerate(values):
            content += right(value, 300 + 70 * column, 700 - 14 * at)
    assert found(content) == []


_TWICE = [
    ("Sales", "5,877", "4,021", "2,917", "1,028"),
    ("Costs", "3,212", "3,104", "1,655", "1,470"),
    ("Profit", "2,665", "917", "1,262", "558"),
]


def _underlined(top: float, rows: Sequence[Sequence[str]], xs: Sequence[float]) -> bytes:
    """Rows with lines between them that are drawn cell by cell; the lines of a cell stand around its middle."""
    content = b""
    for at, row in enumerate(rows):
        cells = [words.split("/") for words in row]
        height = 12 * max(len(lines) for lines in cells) + 6
        for x, lines in zip(xs, cells, strict=False):
            y = top - height / 2 + 6 * len(lines) - 10
            for i, words in enumerate(lines):
                content += left(words, x + 3, y - 12 * i, 10 if at else 11)
        top -= height
        if at + 1 < len(rows):
            content += b"".join(line(x0, top, x1, top) for x0, x1 in pairwise(xs))
    return content


_SHELVES = [
    ("Rank", "What", "Where"),
    ("1", "Registers of/the harbour", "Room A"),
    ("2", "Deeds", "Room C,/lowest drawer"),
    ("3", "Maps", "Store 2"),
]


def test_lines_that_end_where_columns_do_make_rows_and_columns() -> None:
    [(grid, cells)] = found(_underlined(700, _SHELVES, [60, 110, 260, 420]))
    assert (grid.rows, grid.columns, grid.head_rows) == (4, 3, 1)
    assert [cells[1, column] for column in range(3)] == ["1", "Registers of the harbour", "Room A"]
    assert [cells[2, column] for column in range(3)] == ["2", "Deeds", "Room C, lowest drawer"]


def test_two_tables_with_lines_at_the_same_places_are_two() -> None:
    xs = [60, 110, 260, 420]
    between = left("The words of a paragraph run over the places where columns end.", 60, 580)
    content = _underlined(700, _SHELVES, xs) + between + _underlined(540, _SHELVES, xs)
    assert [(grid.rows, grid.head_rows) for grid, _ in found(content)] == [(4, 1), (4, 1)]


def test_rows_that_lines_do_not_part_are_no_cells_of_many_lines() -> None:
    rows = [("What", "Where"), ("Deeds/Maps", "Room C/Store 2"), ("Cards", "Room B")]
    assert found(_underlined(700, rows, [60, 260, 420])) == []
    rows = [("What", "Share"), ("Cash/Other:/Funds/Land", "5%/10%/85%"), ("All", "full")]
    assert found(_underlined(700, rows, [60, 260, 420])) == []

"""Tables of PDFs that were drawn for this: what is paired with what, and what is no table."""

import pytest

from tests.retriever.parsing.pdf.drawing import (
    ROWS,
    found,
    left,
    line,
    parsed,
    right,
    statement,
    two_columns,
)


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
    [two_columns(), _contents(), _chart(), _list(), _below(_headless()), _head_between_columns()],
    ids=["columns of text", "contents", "chart", "list", "no heads", "head between columns"],
)
def test_what_is_no_table_for_sure_is_none(content: bytes) -> None:
    assert found(content) == []


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
    text = parsed(content).text
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

"""Heads of tables of PDFs: what they stand over, and where they end."""

from collections.abc import Sequence

from tests.retriever.parsing.pdf.drawing import found, left, line, right

COLUMNS = (250, 310, 370, 470, 530, 590)
ROWS = [
    ("Net sales", "3,226", "2,729", "2,198", "10,208", "8,630", "6,152"),
    ("Costs", "762", "650", "514", "2,395", "2,061", "1,583"),
    ("Openings", "12", "16", "22", "47", "44", "10"),
]


def _rows(rows: Sequence[Sequence[str]], top: float) -> bytes:
    content = b""
    for at, (name, *values) in enumerate(rows):
        content += left(name, 40, top - 14 * at, 9)
        for x, value in zip(COLUMNS, values, strict=True):
            content += right(value, x, top - 14 * at, 9)
    return content


def test_years_that_begin_anew_under_each_head_are_heads() -> None:
    content = left("13 weeks", 290, 740, 9) + line(220, 736, 375, 736)
    content += left("52 weeks", 510, 740, 9) + line(440, 736, 595, 736)
    content += left("(Dollars in millions)", 40, 724, 9)
    for x, year in zip(COLUMNS, (2023, 2022, 2021) * 2, strict=True):
        content += right(str(year), x, 724, 9)
    [(grid, cells)] = found(content + _rows(ROWS, 706))
    assert grid.head_rows == 2
    assert [cells[1, column] for column in range(1, 7)] == ["2023", "2022", "2021"] * 2
    assert (cells[0, 1], cells[0, 4]) == ("13 weeks", "52 weeks")
    assert cells[2, 0] == "Net sales"


def test_no_head_goes_over_a_place_where_all_lines_end() -> None:
    """Each "Change" stands in the middle of three columns, and of five of which one is beyond the end of the lines."""
    ends = (189, 233, 284, 320, 360, 401, 440, 489, 524, 563)
    content = left("Quarter", 255, 740, 6) + left("Half a year", 458, 740, 6)
    content += left("Percentage of change", 283, 728, 6) + left("Percentage of change", 487, 728, 6)
    for y in (748, 738, 726, 714):
        content += line(20, y, 366, y) + line(371, y, 570, y)
    heads = ("2023", "2022", "Total", "Business", "Money") * 2
    for x, head in zip(ends, heads, strict=True):
        content += left(head, x - 20, 717, 6)
    for at, name in enumerate(("North", "South", "West")):
        content += left(name, 27, 704 - 10 * at, 6)
        for column, x in enumerate(ends):
            content += right(f"{1 + at}{column},{100 + 13 * column}", x, 704 - 10 * at, 6)
    [(grid, cells)] = found(content)
    spans = {(cell.row, cell.column): cell.column_span for cell in grid.cells}
    over = {place: (said, spans[place]) for place, said in cells.items() if place[0] < 2}
    assert over == {
        (0, 1): ("Quarter", 5),
        (0, 6): ("Half a year", 5),
        (1, 3): ("Percentage of change", 3),
        (1, 8): ("Percentage of change", 3),
    } | {place: found for place, found in over.items() if "0" in found[0]}


def test_figures_go_on_below_a_wide_gap_in_the_same_columns() -> None:
    heads = b"".join(right(str(2021 - at), x, 724, 9) for at, x in enumerate(COLUMNS))
    more = [("Lamps", "5", "6", "7", "8", "9", "11"), ("Boats", "1", "2", "3", "4", "5", "6")]
    [(grid, cells)] = found(
        heads + _rows(ROWS, 706) + left("Worldwide", 40, 632, 9) + _rows(more, 616)
    )
    assert grid.head_rows == 1
    assert [cells[6, column] for column in range(3)] == ["Boats", "1", "2"]
    # Other columns below such a gap are another table, which has no heads here.
    moved = b"".join(
        left(name, 40, 616 - 14 * at, 9)
        + b"".join(
            right(value, x - 20, 616 - 14 * at, 9) for x, value in zip(COLUMNS, values, strict=True)
        )
        for at, (name, *values) in enumerate(more)
    )
    (grid, _), *_ = found(heads + _rows(ROWS, 706) + left("Worldwide", 40, 632, 9) + moved)
    assert grid.rows == 4


def test_a_title_is_no_first_line_of_a_name_where_second_lines_stand_further_in() -> None:
    heads = b"".join(right(str(2021 - at), x, 724, 9) for at, x in enumerate(COLUMNS))
    content = heads + left("Instruments for hedging of it all", 40, 708, 9)
    content += left("Foreign exchange and metal lease", 40, 696, 9) + left("contracts", 48, 685, 9)
    for x, value in zip(COLUMNS, "123456", strict=True):
        content += right(value + "00", x, 685, 9)
    [(_, cells)] = found(content + _rows(ROWS, 671))
    assert cells[1, 0] == "Instruments for hedging of it all"
    assert cells[2, 0] == "Foreign exchange and metal lease contracts"


def test_a_column_of_one_figure_is_one_under_a_head_of_its_own() -> None:
    content = b"".join(
        right(head, x, 724, 9)
        for head, x in zip(("Total", "First", "Second"), (300, 400, 500), strict=True)
    )
    rows = [("Cash", "152", "", "148"), ("Land", "137", "137", ""), ("Boats", "139", "", "123")]
    for at, (name, *values) in enumerate(rows):
        content += left(name, 40, 706 - 14 * at, 9)
        for x, value in zip((300, 400, 500), values, strict=True):
            content += right(value, x, 706 - 14 * at, 9)
    [(_, cells)] = found(content)
    assert (cells[0, 2], cells[2, 1], cells[2, 2]) == ("First", "137", "137")
    assert (1, 2) not in cells
    assert cells[1, 3] == "148"


def test_a_year_alone_among_the_names_is_the_title_of_rows() -> None:
    content = left("Sold", 382, 724, 9) + left("Left", 484, 724, 9)
    y = 706
    for year in (2021, 2020):
        content += left(str(year), 40, y, 9)
        for at, name in enumerate(("Apples", "Pears", "Plums")):
            y -= 14
            content += left(name, 46, y, 9) + right(f"{at + 1},{year}", 400, y, 9)
            content += right(f"{at + 4},{year}", 500, y, 9)
        y -= 14
    [(grid, cells)] = found(content)
    assert (cells[1, 0], cells[5, 0]) == ("2021", "2020")
    assert {cell.row for cell in grid.cells if cell.column_span == 3} == {1, 5}
    assert (cells[6, 0], cells[6, 1]) == ("Apples", "1,2020")


def test_one_column_may_have_its_unit_for_a_head() -> None:
    content = left("Years ending December 31,", 40, 724, 9) + right("(In thousands)", 500, 724, 9)
    for at, (name, value) in enumerate(
        (("2021", "197,104"), ("2022", "190,981"), ("Thereafter", "2,048,070"))
    ):
        content += left(name, 46, 706 - 12 * at, 9) + right(value, 500, 706 - 12 * at, 9)
    [(grid, cells)] = found(content)
    assert grid.head_rows == 1
    assert (cells[0, 1], cells[1, 0], cells[1, 1]) == ("(In thousands)", "2021", "197,104")

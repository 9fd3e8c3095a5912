"""Which heads a cell of a table stands under."""

from services.text.tables import Cell, Grid, Table
from tests.text.grids import grid


def said(found: Grid, cells: tuple[Cell, ...]) -> list[str]:
    return [found.say(cell) for cell in cells]


def test_a_head_merged_over_columns_is_the_head_of_each() -> None:
    table = grid(["| Revenue >2 | Cost", "| 2022 | 2021 | 2022", "North | 5 | 4 | 3"], head_rows=2)
    north = table.values(2)
    assert [said(table, table.column_heads(cell)) for cell in north] == [
        ["Revenue", "2022"],
        ["Revenue", "2021"],
        ["Cost", "2022"],
    ]
    assert said(table, table.row_heads(2)) == ["North"]


def test_the_title_of_a_group_is_a_head_of_the_rows_below_it() -> None:
    table = grid(
        [
            "| 2022",
            "Assets >2",
            "Current assets: >2",
            "Cash | 5",
            "Total current assets | 9",
            "Goodwill | 3",
        ]
    )
    assert said(table, table.row_heads(3)) == ["Assets", "Current assets:", "Cash"]
    assert said(table, table.row_heads(4)) == ["Total current assets"]
    assert said(table, table.row_heads(5)) == ["Goodwill"]
    assert table.rows == (3, 4, 5)


def test_a_total_without_a_name_is_that_of_its_group() -> None:
    table = grid(["| 2022", "Fees >2", "Adults | 5", "Total | 9"])
    assert said(table, table.row_heads(3)) == ["Fees", "Total"]


def test_a_row_without_values_is_no_title_and_ends_the_group() -> None:
    table = grid(["| 2022", "Fees >2", "Adults | 5", "Discounts |", "Dogs | 2"])
    assert said(table, table.row_heads(2)) == ["Fees", "Adults"]
    assert said(table, table.row_heads(4)) == ["Dogs"]


def test_the_first_column_names_rows_where_none_is_said_to() -> None:
    table = grid(["Part | Price", "PX-1 | 3"], head_columns=0)
    assert said(table, table.names(1)) == ["PX-1"]
    assert said(table, table.values(1)) == ["3"]


def test_a_merged_cell_reaches_into_every_row_that_it_covers() -> None:
    text = "Site | Day | Time\nMill | Mon | 9\nTue | 10"
    cells = (
        Cell(0, 0, 0, 4), Cell(0, 1, 7, 10), Cell(0, 2, 13, 17),
        Cell(1, 0, 18, 22, row_span=2), Cell(1, 1, 25, 28), Cell(1, 2, 31, 32),
        Cell(2, 1, 33, 36), Cell(2, 2, 39, 41),
    )  # fmt: skip
    table = Grid(Table(0, len(text), 1, 2, cells), text)
    assert said(table, table.row_heads(2)) == ["Mill", "Tue"]
    assert said(table, table.values(2)) == ["10"]


def test_a_moved_table_says_the_same() -> None:
    table = grid(["Part | Price", "PX-1 | 3"])
    moved = Grid(table.table.moved(7), " " * 7 + table.text)
    assert [moved.say(cell) for cell in moved.row(1)] == ["PX-1", "3"]


def test_a_table_of_contents_is_told_from_one_of_figures() -> None:
    rows = ["1 Safety | 3", "2 Setting up | 5", "E-47 Leak at the seal | 13", "E-51 Silent | 13"]
    assert grid(rows, head_rows=0).is_contents
    assert grid(["Manual >2", *rows]).is_contents
    assert grid(["| Page", *rows]).is_contents
    assert not grid(["Zone | Fare", *rows]).is_contents
    assert not grid(["Adults | 9", "Children | 4", "Families | 20", "Dogs | 2"], 0).is_contents

"""What is said of a whole table beside it."""

import pytest

from services.retriever.parsing.html import parse as parse_html
from services.retriever.parsing.markdown import parse as parse_markdown
from services.text.tables import Grid

ROWS = "| {stub} | 2022 | 2021 |\n|---|---|---|\n| Rent | 12 | 14 |\n| Lamps | 3 | 4 |\n"


def said(markdown: str) -> tuple[str | None, str | None]:
    document = parse_markdown(markdown.encode())
    (table,) = document.tables
    caption, unit = (
        document.text[slice(*place)] if place else None for place in (table.caption, table.unit)
    )
    return caption, unit


@pytest.mark.parametrize(
    ("before", "stub", "unit"),
    [
        ("", "(in thousands)", "(in thousands)"),
        ("", "(Millions)", "(Millions)"),
        ("Amounts in millions of euros", "", "Amounts in millions of euros"),
        (
            "The rents are as follows (in thousands, except shares):",
            "",
            "(in thousands, except shares)",
        ),
        ("What we paid in thousands of small sums is below. It was much.", "", None),
        ("Rents of the harbour (in the north)", "", None),
        ("", "Name", None),
        (
            "These are the rents of the harbour, of its lamps and of its boats (in\nmillions):",
            "",
            "(in\nmillions)",
        ),
        ("", "(in thousand)", "(in thousand)"),
    ],
)
def test_the_unit_of_a_table(before: str, stub: str, unit: str | None) -> None:
    assert said(f"{before}\n\n{ROWS.format(stub=stub)}")[1] == unit


def test_a_unit_over_all_values_is_the_tables_and_no_head_of_a_column() -> None:
    head = "<tr><th></th><th colspan=2>(In thousands)</th></tr>"
    years = "<tr><th></th><th>2022</th><th>2021</th></tr>"
    rows = (
        "<tr><td>Rent</td><td>12</td><td>14</td></tr><tr><td>Share</td><td>3%</td><td>4%</td></tr>"
    )
    document = parse_html(f"<table>{head}{years}{rows}</table>".encode())
    (table,) = document.tables
    grid = Grid(table, document.text)
    rent, share = grid.values(2)[0], grid.values(3)[0]
    assert table.unit is not None
    assert document.text[slice(*table.unit)] == "(In thousands)"
    assert [grid.say(cell) for cell in grid.column_heads(rent)] == ["2022"]
    assert grid.unit_of(rent) == table.unit
    assert grid.unit_of(share) is None


def test_a_unit_in_the_title_of_all_rows() -> None:
    head = "<tr><th></th><th>2022</th></tr><tr><td colspan=2>Paid in all (in millions):</td></tr>"
    document = parse_html(f"<table>{head}<tr><td>Rent</td><td>12</td></tr></table>".encode())
    (table,) = document.tables
    assert table.unit is not None
    assert document.text[slice(*table.unit)] == "(in millions)"


def test_two_units_are_none() -> None:
    assert said(f"Sums (in thousands)\n\nRents (in millions)\n\n{ROWS.format(stub='')}")[1] is None


def test_a_unit_of_one_column_is_not_the_tables() -> None:
    table = ROWS.format(stub="(in thousands)").replace("2021", "Change (in percent)")
    assert said(table)[1] is None


def test_captions_above_and_below() -> None:
    assert said(f"Table 3: Rents\n\n{ROWS.format(stub='')}")[0] == "Table 3: Rents"
    assert said(f"{ROWS.format(stub='')}\n\nTable II. Rents\n")[0] == "Table II. Rents"
    assert said(f"Tables were set.\n\n{ROWS.format(stub='')}")[0] is None


def test_a_caption_of_a_page_stays() -> None:
    page = (
        "<table><caption>Rents (in thousands)</caption><tr><th></th><th>2022</th></tr>"
        "<tr><td>North</td><td>12</td></tr><tr><td>South</td><td>13</td></tr></table>"
    )
    document = parse_html(page.encode())
    (table,) = document.tables
    assert table.unit is not None
    assert document.text[slice(*table.unit)] == "(in thousands)"

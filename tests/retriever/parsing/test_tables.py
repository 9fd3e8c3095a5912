"""What is said of a whole table beside it."""

import pytest

from services.retriever.parsing.html import parse as parse_html
from services.retriever.parsing.markdown import parse as parse_markdown

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
    ],
)
def test_the_unit_of_a_table(before: str, stub: str, unit: str | None) -> None:
    assert said(f"{before}\n\n{ROWS.format(stub=stub)}")[1] == unit


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

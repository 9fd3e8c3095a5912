"""Markdown with the HTML that is embedded in it, code, marks, and nesting without end."""

import pytest

from services.retriever.documents import ParsedDocument
from services.retriever.parsing import markdown


def read(text: str) -> ParsedDocument:
    return markdown.parse(text.encode())


def test_embedded_tables_and_details_are_read() -> None:
    document = read(
        "# Canoes\n\n<table>\n<thead><tr><th>Boat</th><th>Price</th></tr></thead>\n"
        "<tbody><tr><td>Raft</td><td>39 euros</td></tr></tbody>\n</table>\n\n"
        "<details>\n<summary>What if it rains?</summary>\n\nHalf of the price *back*.\n\n</details>\n\n"
        "Press <kbd>Bell</kbd> once.<br>Then wait. <!-- not this -->\n"
    )
    assert document.text == (
        "Canoes\n\nBoat | Price\nRaft | 39 euros\n\nWhat if it rains?\n\nHalf of the price back.\n\n"
        "Press Bell once.\nThen wait."
    )
    assert len(document.tables) == 1


@pytest.mark.parametrize(
    ("text", "read_as"),
    [
        ("10<sup>6</sup> litres, 75<sup>3</sup> bar", "10^6 litres, 75[^3] bar"),
        ("costs ~~55 euros~~ 85 euros", "costs 85 euros"),
        ("[here](https://f.example/7).", "here (https://f.example/7)."),
        ("<https://f.example/7>", "https://f.example/7"),
        ("![the gauge](a.png), as ever", "the gauge, as ever"),
        ("40 euros[^1]\n\n[^1]: Without-tax", "40 euros[^1]\n\n[^1]: Without-tax"),
        ("- [x] paid\n- [ ] sent", "- [x] paid\n- [ ] sent"),
        ("- one\n\n  more\n- two", "- one\n\nmore\n\n- two"),
        ("line one\nline two", "line one\nline two"),
        ("run `folio <name>` or folio <name> again", "run folio <name> or folio <name> again"),
        ("the <title> element\n\nis here", "the <title> element\n\nis here"),
        ("<textarea>\nkept\n\n# Later", "<textarea>\nkept\n\n# Later"),
        ("before\n\n<!-- never closed\n\nafter", "before\n\nnever closed\n\nafter"),
        ("---\nNo front matter here.\n---\n\nText", "No front matter here.\n\nText"),
        ("---\ntitle: T\nauthor: A\n---\nText", "Text"),
    ],
)
def test_read_as_shown(text: str, read_as: str) -> None:
    assert read(text).text == read_as


def test_code_keeps_its_indentation() -> None:
    document = read(
        "Setup:\n\n```yaml\nreader:\n  limits:\n    low: 2\n\n\n    high: 9\n```\n\n    indented\n      more\n"
    )
    assert document.text == (
        "Setup:\n\nreader:\n  limits:\n    low: 2\n\n    high: 9\n\nindented\n  more"
    )


def test_code_in_a_list_keeps_its_indentation() -> None:
    assert read("- do:\n\n  ```\n  a\n    b\n  ```\n").text == "- do:\n\na\n  b"


@pytest.mark.parametrize("depth", [10, 40, 80])
@pytest.mark.parametrize("marker", ["- ", "1. ", "> "])
def test_no_level_is_lost(depth: int, marker: str) -> None:
    width = len(marker)
    if marker == "> ":
        text = "\n".join(marker * (level + 1) + f"item{level}\n" for level in range(depth))
    else:
        text = "\n".join(" " * width * level + f"{marker}item{level}" for level in range(depth))
    document = read(text + "\n\nAfter the list.")
    for level in range(depth):
        assert f"item{level}" in document.text.split() or f"item{level}" in document.text
    assert "After the list." in document.text
    assert bool(document.warnings) is (depth * (1 if marker == "> " else 2) > 100)


def test_a_table_is_one() -> None:
    document = read("| Part | Price |\n| --- | --: |\n| PX-1 | 17 |\n| PX-2 | |\n")
    (table,) = document.tables
    assert (table.head_rows, table.head_columns) == (1, 0)
    assert [document.text[cell.char_start : cell.char_end] for cell in table.cells] == [
        "Part",
        "Price",
        "PX-1",
        "17",
        "PX-2",
        "",
    ]


@pytest.mark.parametrize(
    "opening", ["[", "![", "*", "`", "> ", "- ", "<b>", "(", "~~", "[a](", "<div>\n\n"]
)
def test_what_repeats_costs_no_time(opening: str) -> None:
    assert read(opening * 10_000 + "word").pages

"""Comma- and tab-separated values as text."""

import pytest

from folio.formats import MediaType
from services.retriever.parsing import csv
from services.retriever.parsing.parser import Hints


@pytest.mark.parametrize(
    "data",
    [
        b"Part,Price\nPX-1,12.50\nPX-2,13\n",
        b"Part;Price\r\nPX-1;12.50\r\nPX-2;13\r\n",
        b"Part\tPrice\nPX-1\t12.50\nPX-2\t13",
        b"Part|Price\nPX-1|12.50\nPX-2|13",
        b"sep=;\nPart;Price\nPX-1;12.50\nPX-2;13\n",
        b'\xef\xbb\xbf"Part","Price"\n"PX-1","12.50"\n"PX-2","13"\n',
        "Part\tPrice\nPX-1\t12.50\nPX-2\t13\n".encode("utf-16"),
    ],
)
def test_the_separator_is_told_from_the_rows(data: bytes) -> None:
    found = csv.parse(data, Hints(stem="prices"))
    assert found.text == "Part | Price\nPX-1 | 12.50\nPX-2 | 13"
    (one,) = found.tables
    assert (one.head_rows, one.head_columns) == (1, 1)
    assert found.title == "prices"
    assert [page.label for page in found.pages] == ["1"]


def test_decimal_commas_do_not_separate() -> None:
    found = csv.parse("Ware;Preis\nTee;3,50\nKäse;12,00\n".encode())
    assert found.text == "Ware | Preis\nTee | 3,50\nKäse | 12,00"


def test_cells_have_the_names_that_a_spreadsheet_gives_them() -> None:
    found = csv.parse(b"Part,Price\nPX-1,12.50\n")
    (one,) = found.tables
    assert {c.address: found.text[c.char_start : c.char_end] for c in one.cells}["B2"] == "12.50"


def test_values_over_several_lines_and_with_separators() -> None:
    found = csv.parse(b'Part,Note\nA,"first line\nsecond, and ""last"""\nB,none\n')
    assert found.text == 'Part | Note\nA | first line second, and "last"\nB | none'


def test_quotes_with_backslashes() -> None:
    found = csv.parse(b'Part,Note\nA,"say \\"hi\\", twice"\nB,none\n')
    assert found.text == 'Part | Note\nA | say "hi", twice\nB | none'


def test_quotes_that_do_not_match_are_lines_and_no_table() -> None:
    found = csv.parse(b'Part,Price\nA,"12\nB,13\nC,14\n')
    assert found.tables == ()
    assert "B,13" in found.text
    assert found.warnings == ("the quotes around values do not match: read as lines of text",)


def test_titles_and_notes_around_the_rows() -> None:
    found = csv.parse(b"Report of 2024\n\nItem,Price\nNuts,3\nBolts,4\n\nSource: the shop\n")
    (one,) = found.tables
    assert found.text[one.char_start : one.char_end] == "Item | Price\nNuts | 3\nBolts | 4"
    assert found.text.endswith("Source: the shop")


def test_rows_without_names_have_no_heads() -> None:
    found = csv.parse(b"1,2\n3,4\n5,6\n")
    assert all(table.head_rows == table.head_columns == 0 for table in found.tables)


def test_missing_values_keep_their_places() -> None:
    found = csv.parse(b"Item,Red,Blue\nNuts,,3\nBolts,4\n")
    (one,) = found.tables
    places = {found.text[c.char_start : c.char_end]: (c.row, c.column) for c in one.cells}
    assert places["3"] == (1, 2)
    assert places["4"] == (2, 1)


def test_too_many_values_are_read_to_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv, "MAX_CELLS", 10)
    found = csv.parse(b"Item,Price\n" + b"".join(b"N%d,%d\n" % (i, i) for i in range(50)))
    assert found.text.endswith("N3 | 3")
    assert found.warnings == ("read up to row 5: the file has more than 10 values; split it",)


@pytest.mark.parametrize("data", [b"", b"\n\n", b",,,\n,,\n", b"\x00"])
def test_nothing_is_no_text(data: bytes) -> None:
    assert csv.parse(data).text == ""


def test_tabs_make_it_tsv() -> None:
    assert csv.parse(b"a\tb\nc\t1\n").media_type is MediaType.TSV

"""Rows of tables as chunks: what they read, where they stand, and how many there are; windows cut between rows."""

import re
from collections.abc import Sequence

from services.retriever.documents import ParsedDocument
from services.retriever.ingest.chunking import chunk, row_chunks
from services.retriever.ingest.rows import borders, rows
from services.retriever.parsing.html import parse as parse_html
from services.retriever.parsing.markdown import parse as parse_markdown

PARTS = """# Spare parts

| Part number | Name | Price in euros |
|---|---|---|
| PX-1033 | hex bolt | 3.10 |
| PX-1038 | seal ring | 4.20 |
"""

SHEET = """<h1>Balance sheet</h1><table><caption>Harbour, in thousands of euros</caption>
<tr><th></th><th rowspan=2>Note</th><th colspan=2>At the end of</th></tr>
<tr><th></th><th>2022</th><th>2021</th></tr>
<tr><td colspan=4>Current assets</td></tr>
<tr><td>Inventories</td><td>11</td><td>5,877,879</td><td>4,021,330</td></tr>
<tr><td>Receivables</td><td></td><td>917</td><td>1,028</td></tr>
</table>"""


class Words:
    """One token a word."""

    def offsets(self, text: str) -> Sequence[tuple[int, int]]:
        return [match.span() for match in re.finditer(r"\S+", text)]


def readings(document: ParsedDocument, limit: int = 1000) -> list[str]:
    return [row.reading for row in rows(document, limit)[0]]


def test_a_row_reads_with_its_heads_and_the_title_of_its_section() -> None:
    document = parse_markdown(PARTS.encode())
    assert readings(document) == [
        "Spare parts. Part number: PX-1033; Name: hex bolt; Price in euros: 3.10",
        "Spare parts. Part number: PX-1038; Name: seal ring; Price in euros: 4.20",
    ]
    found, _ = rows(document, 1000)
    assert document.text[found[0].char_start : found[0].char_end] == "PX-1033 | hex bolt | 3.10"


def test_a_row_reads_with_all_levels_of_its_heads_and_its_group() -> None:
    first, second = readings(parse_html(SHEET.encode()))
    assert first.startswith(
        "Harbour, in thousands of euros. Current assets; Inventories; Note: 11; "
    )
    assert "At the end of 2022: 5,877,879; At the end of 2021: 4,021,330" in first
    assert "Note" not in second


def test_a_table_has_all_its_rows_or_none() -> None:
    twice = parse_markdown((PARTS + "\n\nMore.\n\n" + PARTS.split("\n\n")[1]).encode())
    assert len(twice.tables) == 2
    found, left_out = rows(twice, 3)
    assert (len(found), left_out) == (2, 1)
    assert rows(twice, 0) == ([], 2)


def test_row_chunks_are_slices_with_a_reading_of_their_own() -> None:
    document = parse_markdown(PARTS.encode())
    windows = chunk(document, Words(), 50, 5)
    chunks, left_out = row_chunks(document, Words(), windows, 1000, 50)
    assert left_out == 0
    assert [(each.ordinal, each.window) for each in chunks] == [(1, 0), (2, 0)]
    assert chunks[0].encoded("Parts", document.text) == f"Parts\n{chunks[0].reading}"
    assert document.sections[chunks[0].section].path == ("Spare parts",)
    # A row that the embedder cannot read whole has no chunk of its own.
    assert row_chunks(document, Words(), windows, 1000, 5)[0] == []


def test_windows_begin_and_end_between_rows() -> None:
    lines = [
        f"| PX-{number} | shaft sleeve {number % 90} mm | {number / 7:.2f} |"
        for number in range(1000, 1300)
    ]
    document = parse_markdown(
        ("# Parts\n\n| Number | Name | Price |\n|---|---|---|\n" + "\n".join(lines)).encode()
    )
    between = {0, len(document.text), *borders(document.tables)}
    windows = chunk(document, Words(), 100, 20, 10)
    assert len(windows) > 10
    for window in windows:
        assert window.char_start in between
        rest = document.text[window.char_end :]
        assert rest == "" or rest.startswith("\n")
    covered = "".join(document.text[w.char_start : w.char_end] for w in windows)
    assert all(f"PX-{number} " in covered for number in range(1000, 1300))


def test_a_row_longer_than_a_window_is_cut_all_the_same() -> None:
    long = " ".join(f"w{at}" for at in range(400))
    document = parse_markdown(f"| A | B |\n|---|---|\n| x | {long} |\n| y | z |\n".encode())
    windows = chunk(document, Words(), 50, 10, 5)
    assert all(each.token_count <= 60 for each in windows)
    assert "w399" in document.text[windows[-2].char_start : windows[-1].char_end]

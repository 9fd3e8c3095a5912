"""Tables of PDFs whose cells, or whose rows, have lines drawn between them."""

from collections.abc import Sequence
from itertools import pairwise

from tests.retriever.parsing.pdf.drawing import found, left, line, two_columns


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


def test_a_frame_around_a_text_is_no_table() -> None:
    frame = b"".join(line(*at) for at in ((50, 720, 560, 720), (50, 600, 560, 600)))
    frame += b"".join(line(x, 720, x, 600) for x in (50, 300, 560))
    assert found(frame + two_columns()) == []


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

"""Layout: what is a heading, a header, a row, and what a sentence stands under."""

import pytest

from services.generator.extractive.layout import Line, layout
from services.generator.sentences import split

HANDBOOK = """4 Time off

4.1 Annual leave

Full-time staff have 27 days.

4.5 Special leave

Occasion Paid days

Moving house 2

Death of a parent 10

7

Staff Handbook
"""


def read(text: str, title: str = "") -> list[tuple[str, Line, tuple[str, ...]]]:
    units = [text[span.start : span.end] for span in split(text)]
    return [
        (unit, line, tuple(units[place] for place in above))
        for unit, (line, above) in zip(units, layout(units, title), strict=True)
    ]


def test_a_sentence_stands_under_its_headings() -> None:
    found = {unit: (line, above) for unit, line, above in read(HANDBOOK)}
    assert found["Full-time staff have 27 days."] == (
        Line.PROSE,
        ("4 Time off", "4.1 Annual leave"),
    )


def test_a_row_stands_under_its_header_too() -> None:
    found = {unit: (line, above) for unit, line, above in read(HANDBOOK)}
    assert found["Death of a parent 10"] == (
        Line.ROW,
        ("4 Time off", "4.5 Special leave", "Occasion Paid days"),
    )


def test_the_number_of_the_page_and_the_running_title_are_furniture() -> None:
    found = {unit: line for unit, line, _ in read(HANDBOOK, "Staff Handbook")}
    assert found["7"] is Line.FURNITURE
    assert found["Staff Handbook"] is Line.FURNITURE


def test_a_line_of_contents_is_furniture() -> None:
    assert read("4.2 Long service ........ 12")[0][1] is Line.FURNITURE


def test_a_code_heads_what_follows_and_in_a_table_it_begins_a_row() -> None:
    text = "E-47 Leak\n\nThe cup is full.\n\nCode Meaning\n\nF-11 motor blocked\nF-12 no signal\n"
    assert [line for _, line, _ in read(text)] == [
        Line.HEADING,
        Line.PROSE,
        Line.HEADER,
        Line.ROW,
        Line.ROW,
    ]


@pytest.mark.parametrize(
    "heading", ["30-day returns", "4711-B Valve housing", "3D printing", "2nd floor", "E-47 Fault"]
)
def test_the_digits_of_a_label_are_no_figure_of_a_row(heading: str) -> None:
    (first, *_), (_, _, above) = read(f"{heading}\n\nIt is described here.")
    assert first == heading
    assert above == (heading,)


def test_columns_with_marks_have_their_first_row_as_header() -> None:
    assert [(line, above) for _, line, above in read("Part | Price\nA | 4\nB | 5\n")] == [
        (Line.HEADER, ()),
        (Line.ROW, ("Part | Price",)),
        (Line.ROW, ("Part | Price",)),
    ]

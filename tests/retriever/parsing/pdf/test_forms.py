"""Fields of a form below their labels: rows of a table, or plain lines where the label may be another's."""

import pytest

from services.retriever.documents import ParsedDocument
from services.retriever.parsing.pdf import pages
from services.text.tables import Grid
from tests.retriever.parsing.pdfs import make, text

Filled = tuple[str, float, float]  # A value, and the left and lower edge of its field.


def read(labels: list[Filled], values: list[Filled], entries: str = "") -> ParsedDocument:
    fields = {
        2000 + at: (
            f"<< /Type /Annot /Subtype /Widget /FT /Tx /T (f{at}) /V ({value})"
            f" /Rect [{x} {y} {x + 180} {y + 18}] >>"
        ).encode()
        for at, (value, x, y) in enumerate(values)
    }
    listed = " ".join(f"{number} 0 R" for number in fields)
    content = b"".join(text(words, x=x, y=y, size=9) for words, x, y in labels)
    return pages.parse(
        make(
            [text("Camp registration", y=740, size=16) + content],
            page_entries=f"/Annots [{listed}] {entries}",
            catalog_entries=f"/AcroForm << /Fields [{listed}] >>",
            extra=fields,
        )
    )


def paired(found: ParsedDocument) -> list[tuple[str, str]]:
    result = []
    for table in found.tables:
        grid = Grid(table, found.text)
        assert (table.head_rows, table.head_columns, table.columns) == (0, 1, 2)
        result += [
            (grid.say(label), grid.say(value))
            for label, value in zip(table.cells[::2], table.cells[1::2], strict=True)
        ]
    return result


LABELS = [("Surname", 72.0, 700.0), ("Bank reference", 72.0, 650.0), ("Hall", 72.0, 600.0)]
VALUES = [("Thistlewood", 72.0, 678.0), ("RF-20-7741", 72.0, 628.0), ("South hall", 72.0, 578.0)]
PAIRS = [("Surname", "Thistlewood"), ("Bank reference", "RF-20-7741"), ("Hall", "South hall")]


def test_labels_above_their_fields() -> None:
    found = read(LABELS, VALUES)
    assert paired(found) == PAIRS
    assert "Bank reference | RF-20-7741" in found.text


def test_two_columns_of_fields() -> None:
    labels = [*LABELS, ("First name", 320.0, 700.0), ("Telephone number", 320.0, 650.0)]
    values = [*VALUES, ("Ivo", 320.0, 678.0), ("0331 70 22", 320.0, 628.0)]
    found = read(labels, values)
    assert sorted(paired(found)) == sorted(
        [*PAIRS, ("First name", "Ivo"), ("Telephone number", "0331 70 22")]
    )


def test_an_empty_field_leaves_its_label_alone() -> None:
    found = read(LABELS, VALUES[::2])
    assert paired(found) == PAIRS[::2]


@pytest.mark.parametrize(
    ("labels", "values"),
    [
        ([(words, x, y - 33) for words, x, y in LABELS], VALUES),
        ([(words, x, y - 25) for words, x, y in LABELS], VALUES),
        ([("Item", 72, 700)], [("Lamp", 72, 678), ("Rope", 72, 660), ("Tent", 72, 642)]),
        ([("Surname:", 72, 684), ("Please print", 150, 700)], [("Thistlewood", 150, 678)]),
        ([("Please print clearly in every one of the fields of this form, with a pen that is black", 72, 700)],
         [("Thistlewood", 72, 678)]),
    ],
    ids=["captions below", "in the middle", "a column of a table", "a label beside", "a sentence"],
)  # fmt: skip
def test_what_may_be_no_label_is_paired_with_nothing(
    labels: list[Filled], values: list[Filled]
) -> None:
    found = read(labels, values)
    assert paired(found) == []
    assert all(value in found.text for value, _, _ in values)

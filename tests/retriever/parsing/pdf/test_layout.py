"""Reading order, paragraphs and marks: pages whose order of drawing says something else than their look."""

import pytest

from services.retriever.documents import Box
from services.retriever.parsing.pdf import glyphs, layout, pages
from services.retriever.parsing.pdf.opening import opened
from services.retriever.parsing.pdf.page import read_page
from tests.retriever.parsing.pdfs import make, text

LEFT = [
    "The ferry leaves at seven in the",
    "morning and comes back at noon.",
    "Bicycles are carried free of",
    "charge when there is room.",
]
RIGHT = [
    "Dogs travel on the lower deck and",
    "must be kept on a short lead. The",
    "captain may refuse any animal that",
    "does not stay calm on board.",
]


def read(*content: bytes, entries: str = "") -> str:
    return pages.parse(make([b"".join(content)], page_entries=entries)).text


def columns(by_row: bool, x: float = 320, shift: float = 0) -> list[bytes]:
    left = [text(line, y=700 - 14 * at) for at, line in enumerate(LEFT)]
    right = [text(line, x=x, y=700 - shift - 14 * at) for at, line in enumerate(RIGHT)]
    if by_row:
        return [line for pair in zip(left, right, strict=True) for line in pair]
    return left + right


class TestColumns:
    @pytest.mark.parametrize("by_row", [True, False], ids=["by row", "by column"])
    @pytest.mark.parametrize("x", [265, 320])
    @pytest.mark.parametrize("shift", [0, 5])
    def test_however_they_were_drawn(self, by_row: bool, x: float, shift: float) -> None:
        found = read(*columns(by_row, x, shift))
        assert found == "\n".join(LEFT) + "\n\n" + "\n".join(RIGHT)

    def test_a_heading_over_both_and_a_foot_below_stay_where_they_are(self) -> None:
        head = text("Rules of the harbour for passengers and for crews", y=740, size=18)
        foot = text("Printed by the harbour office, and free for everybody to copy", y=60, x=150)
        found = read(foot, head, *columns(by_row=True))
        assert found.startswith("Rules of the harbour")
        assert found.endswith("free for everybody to copy")
        assert "\n".join(LEFT) in found
        assert "\n".join(RIGHT) in found

    def test_a_sentence_goes_on_in_the_next_column(self) -> None:
        left = [text(line, y=700 - 14 * at) for at, line in enumerate(LEFT)]
        right = ["Tickets are sold on board by the", "steward, who takes coins only."]
        right = ["of the whole family, and children", *right]
        drawn = [text(line, x=320, y=700 - 14 * at) for at, line in enumerate(right)]
        left[3] = text("charge, as are the prams and bags", y=658)
        assert "prams and bags\nof the whole family" in read(*left, *drawn)

    def test_labels_are_read_with_their_values(self) -> None:
        rows = [("Name of the ship", "Heron"), ("Length in metres", "41"), ("Built in", "1987")]
        rows += [("Home port", "Lowestoft"), ("Owner of the ship", "the Quay Trust")]
        drawn = [
            text(word, x=x, y=700 - 14 * at)
            for at, row in enumerate(rows)
            for x, word in zip((72, 320), row, strict=True)
        ]
        assert read(*drawn) == "\n".join(" ".join(row) for row in rows)

    def test_figures_that_were_drawn_by_column_stay_in_their_rows(self) -> None:
        names = [
            "Oats in sacks",
            "Barley in sacks",
            "Rye in sacks",
            "Hay in bales",
            "Straw in bales",
        ]
        first, second = ["410", "388", "52", "1,204", "96"], ["395", "401", "47", "1,180", "88"]
        drawn = [
            text(word, x=x, y=700 - 14 * at)
            for x, column in ((200, first), (300, second), (72, names))
            for at, word in enumerate(column)
        ]
        assert read(*drawn).replace(" | ", " ").splitlines() == [
            " ".join(row) for row in zip(names, first, second, strict=True)
        ]

    def test_a_glossary_is_read_across(self) -> None:
        terms = {
            "NDA": "new drug application",
            "mRNA": "messenger ribonucleic acid",
            "Hospira": "makers of pumps, and its subsidiaries",
            "nmCRPC": "non-metastatic cancer of the prostate",
            "PRAC": "risk assessment committee",
        }
        drawn = [
            text(term, y=700 - 14 * at) + text(words, x=220, y=700 - 14 * at)
            for at, (term, words) in enumerate(terms.items())
        ]
        assert read(*drawn).replace(" | ", " ").splitlines() == [
            f"{term} {words}" for term, words in terms.items()
        ]

    def test_bullets_stay_with_their_text(self) -> None:
        words = [
            "Wear the vest that hangs at the",
            "door and keep it closed while you",
            "are on deck.",
        ]
        drawn = [
            text(f"{at + 1}.", x=72, y=700 - 14 * at) + text(line, x=100, y=700 - 14 * at)
            for at, line in enumerate(words)
        ]
        assert read(*drawn) == "\n".join(f"{at + 1}. {line}" for at, line in enumerate(words))

    def test_a_table_of_text_is_read_cell_by_cell(self) -> None:
        table = [
            (["Hours of", "opening"], ["From eight in the morning until", "six in the evening."]),
            (
                ["Lost", "property"],
                ["Things that were found are kept at", "the gate for two weeks."],
            ),
            (
                ["Fire", "drill"],
                ["Everybody leaves by the nearest", "stairs and waits in the yard."],
            ),
        ]
        drawn = []
        for at, (label, words) in enumerate(table):
            for line in range(2):
                y = 700 - 44 * at - 14 * line
                drawn += [text(label[line], y=y), text(words[line], x=200, y=y)]
        found = read(*drawn)
        positions = [found.index("\n".join(cell)) for row in table for cell in row]
        assert positions == sorted(positions)


class TestTurnedText:
    SIDEWAYS = b"".join(
        f"BT /F1 12 Tf 0 1 -1 0 {100 + 16 * row} 100 Tm ({words}) Tj ET\n".encode()
        for row, words in enumerate(("Pump Flow Weight", "Heron 310 18", "Egret 275 14"))
    )

    def test_sideways_rows_are_apart(self) -> None:
        assert read(self.SIDEWAYS) == "Pump Flow Weight\nHeron 310 18\nEgret 275 14"

    def test_a_stamp_at_the_side_follows_the_text(self) -> None:
        stamp = b"BT /F1 12 Tf 0 1 -1 0 40 300 Tm (Filed on the third) Tj ET\n"
        assert read(stamp, *columns(by_row=False)).endswith("\n\nFiled on the third")

    @pytest.mark.parametrize("turned", [90, 180, 270])
    def test_turned_pages(self, turned: int) -> None:
        assert read(*columns(by_row=True), entries=f"/Rotate {turned}").startswith("\n".join(LEFT))

    def test_a_watermark_breaks_no_line_and_is_no_heading(self) -> None:
        mark = b"0.8 g BT /F2 90 Tf 0.7 0.7 -0.7 0.7 120 480 Tm (DRAFT) Tj ET\n0 g "
        document = pages.parse(make([mark + b"".join(columns(by_row=False))]))
        assert document.text.startswith("\n".join(LEFT))
        assert all("DRAFT" not in section.path for section in document.sections)

    def test_a_level_watermark_too(self) -> None:
        mark = b"0.8 g BT /F2 90 Tf 100 640 Td (DRAFT) Tj ET\n0 g "
        document = pages.parse(make([mark + b"".join(columns(by_row=False))]))
        assert document.text == "\n".join(LEFT) + "\n\n" + "\n".join(RIGHT) + "\n\nDRAFT"
        assert all("DRAFT" not in section.path for section in document.sections)


def line(*runs: tuple[str, float, float], x: float = 72) -> bytes:
    """Runs of text on one line: words, size and rise."""
    shown = b"".join(
        f"/F1 {size} Tf {rise} Ts ({words}) Tj ".encode() for words, size, rise in runs
    )
    return f"BT {x} 700 Td ".encode() + shown + b"ET\n"


class TestMarks:
    @pytest.mark.parametrize(
        ("runs", "written"),
        [
            ([("A night costs 320", 11, 0), ("1", 6.5, 4), (" euros.", 11, 0)], "320[^1] euros."),
            ([("It holds 10", 11, 0), ("6", 7, 4.5), (" litres.", 11, 0)], "10^6 litres."),
            ([("An area of 40 m", 11, 0), ("2", 7, 4), (" is shut.", 11, 0)], "40 m^2 is shut."),
            ([("Lime and H", 11, 0), ("2", 7, -2), ("O react.", 11, 0)], "H2O react."),
            ([("On the 3", 11, 0), ("rd", 7, 4), (" of May.", 11, 0)], "3rd of May."),
            ([("1", 7, 4), (" See the annex.", 11, 0)], "[^1] See the annex."),
            ([("Up to 450", 11, 0), ("2", 11, 4), (" euros.", 11, 0)], "450[^2] euros."),
            ([("A night costs 320", 11, 0), ("1", 7, 0), (" euros.", 11, 0)], "320[^1] euros."),
            ([("The net costs $19", 11, 0), ("99", 7, 0), (" only.", 11, 0)], "$19 99 only."),
            ([("The net costs 19.", 11, 0), ("99", 7, 0), (" only.", 11, 0)], "19.99 only."),
            ([("It costs 1,234", 11, 0), (",56", 7, 0), (" euros.", 11, 0)], "1,234,56 euros."),
            ([("A stay of 1", 11, 0), ("1/2", 7, 0), (" hours.", 11, 0)], "1 1/2 hours."),
            (
                [("In all ", 11, 0), ("1", 7, 0), ("320", 11, 0), (" euros.", 11, 0)],
                "In all [^1] 320 euros.",
            ),
            ([("In all 12", 11, 0), ("34", 10, 0), (" euros.", 11, 0)], "1234 euros."),
            ([("Use H", 11, 0), ("2", 7, 0), ("O here.", 11, 0)], "H2O here."),
            ([("Small print ", 11, 0), ("20 euros", 7, 0), (" only.", 11, 0)], "20 euros only."),
        ],
    )
    def test_raised_and_lowered(self, runs: list[tuple[str, float, float]], written: str) -> None:
        assert read(line(*runs)).endswith(written)

    def test_every_character_knows_its_place(self) -> None:
        data = make([line(("A night costs 320", 11, 0), ("1", 6.5, 4), (" euros.", 11, 0))])
        with opened(data) as document:
            found = read_page(document, 0)
        assert len(found.boxes) == 4 * len(found.text)
        figure, mark = found.text.index("320"), found.text.index("[^1]") + 2
        assert found.boxes[4 * mark] >= found.boxes[4 * (figure + 2) + 2] - 40
        assert found.boxes[4 * mark + 1] > 0


def test_a_large_initial_belongs_to_its_word() -> None:
    words = [
        "he harbour was built when the",
        "river still ran to the west of the",
        "town, and nobody",
    ]
    drawn = [text(words[0], x=103, y=700), text(words[1], x=103, y=686), text(words[2], y=672)]
    drawn += [text("as yet had thought of ferries or", y=658), text("of trains.", y=644)]
    assert read(text("T", y=686, size=34), *drawn).startswith(
        "The harbour was built when the\nriver"
    )


def test_a_part_that_somebody_else_reads_keeps_its_place() -> None:
    data = make([b"".join(text(line, y=700 - 100 * at) for at, line in enumerate(LEFT))])
    with opened(data) as document:
        found = glyphs.read(document[0])
    taken = bytearray(len(found.chars))
    start = "".join(found.chars).index(LEFT[1])
    taken[start : start + len(LEFT[1])] = b"\1" * len(LEFT[1])
    area = Box(72, 792 - 610, 300, 792 - 590)
    lines = layout.lines(found, taken, [area])
    assert [line.area for line in lines] == [-1, 0, -1, -1]
    assert all(line.begins for line in lines)


def test_wide_gaps_below_each_other_in_a_justified_paragraph_are_no_gutter() -> None:
    # The words' own widths, so that the lines end at one edge.
    lines: list[list[tuple[str, float]]] = [
        [("Visitors may enter the", 72)],
        [("and the", 72), ("in the", 158.1)],
        [("gate is", 72), ("for all", 155.0)],
        [("morning until the gate", 72)],
    ]
    drawn = [text(words, x, 700 - 14 * at) for at, line in enumerate(lines) for words, x in line]
    assert "\nand the in the\ngate is for all\n" in read(*drawn)


@pytest.mark.parametrize("x", [72, 400], ids=["left", "right"])
def test_words_beside_a_running_sentence_do_not_cut_it(x: float) -> None:
    lines = [
        "The ferry leaves at seven in the",
        "morning and comes back at noon on",
        "all days of the week on which the",
        "sea is calm enough for the crew.",
        *LEFT[2:],
    ]
    drawn = []
    for at, line in enumerate(lines):
        note = {1: "Opening", 2: "hours"}.get(at)
        beside = [text(note, x, 700 - 14 * at, 8)] if note and x < 100 else []
        behind = [text(note, x, 700 - 14 * at, 8)] if note and x > 100 else []
        drawn += [*beside, text(line, 150, 700 - 14 * at), *behind]
    found = read(*drawn)
    assert "\n".join(lines) in found
    assert "Opening\nhours" in found


@pytest.mark.parametrize(
    ("end", "begins", "joined"),
    [
        ("the barns of 2019-", "2021 are rented by the farm.", "of 2019-2021 are"),
        ("or call us at 0800-", "55512 for the other numbers.", "at 0800-55512 for"),
        ("and the sum of 17-", "euros is paid to the farmer.", "17-\neuros"),
        ("and see rule no. 3-", "2021 is the year of the law.", "3-\n2021"),
    ],
)
def test_a_number_goes_on_over_a_line_with_its_hyphen(end: str, begins: str, joined: str) -> None:
    first = "The fields behind the mill and " + end
    assert joined in read(text(first, y=700), text(begins, y=686), text("The end.", y=672))

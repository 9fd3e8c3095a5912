"""Pages as one running text: furniture leaves it, sentences and words go on, and nothing that is said is lost."""

from collections.abc import Sequence
from itertools import pairwise

import pytest

from services.retriever import places
from services.retriever.documents import ParsedDocument
from services.retriever.parsing.pdf import pages
from tests.retriever.parsing.pdfs import make, text

TOP, FIRST, BOTTOM = 760, 700, 30
THINGS = [
    "oar",
    "sail",
    "net",
    "rope",
    "mast",
    "keel",
    "anchor",
    "buoy",
    "lamp",
    "bell",
    "flag",
    "crate",
]


def prose(page: int) -> list[str]:
    """Lines that no other page has."""
    thing = THINGS[page]
    return [
        f"The {thing} stands at the end of the pier and is painted green.",
        f"A {thing} was mended in spring by two carpenters from the village.",
        f"Every {thing} is kept in the loft above the workshop in winter.",
    ]


FILLER = prose(0)


def block(lines: Sequence[str], x: float = 72, y: float = FIRST, size: float = 12) -> bytes:
    """Lines of a paragraph."""
    return b"".join(text(line, x, y - 1.2 * size * at, size) for at, line in enumerate(lines))


def parsed(*contents: bytes) -> ParsedDocument:
    document = pages.parse(make(list(contents)))
    for before, page in pairwise(document.pages):
        assert page.char_start - before.char_end in (0, 1, 2)
    for page in document.pages:
        assert document.text[page.char_start : page.char_end] == page.text
    return document


def broken(head: str = "", foot: str = "", count: int = 4) -> ParsedDocument:
    """A sentence goes on from the second page to the third. {} in head and foot: the page's number."""
    contents = []
    for index in range(count):
        lines = prose(index)
        if index == 1:
            lines.append("Either party may end the lease of the shed by giving the other")
        if index == 2:
            lines[:0] = ["party a notice of nine weeks in writing."]
        content = block(lines)
        if head:
            content = text(head.format(index + 1), y=TOP, size=9) + content
        if foot:
            content += text(foot.format(index + 1), y=BOTTOM, size=9)
        contents.append(content)
    return parsed(*contents)


SENTENCE = "by giving the other\nparty a notice of nine weeks"


@pytest.mark.parametrize(
    ("head", "foot"),
    [
        ("", ""),
        ("", "{}"),
        ("", "- {} -"),
        ("", "Page {} of 4"),
        ("Harbour Board", ""),
        ("Harbour Board", "{}"),
        ("Lease of the shed | {}", "Harbour Board, Confidential, printed 12 March"),
    ],
)
@pytest.mark.parametrize("count", [3, 4, 9])
def test_a_sentence_goes_on_over_a_page(head: str, foot: str, count: int) -> None:
    document = broken(head, foot, count)
    assert SENTENCE in document.text
    quote = document.text.index(SENTENCE)
    regions = [
        (page.index, len(places.regions(page, quote, quote + len(SENTENCE))))
        for page in document.pages
    ]
    assert [found for found in regions if found[1]] == [(1, 1), (2, 1)]


def test_furniture_stays_on_its_page_and_is_said_once() -> None:
    document = broken("Harbour Board, tariff HB-77", "Page {} of 4")
    assert document.text.count("Harbour Board, tariff HB-77") == 1
    assert "Page 2" not in document.text
    assert document.pages[1].furniture == "Harbour Board, tariff HB-77\nPage 2 of 4"
    assert document.pages[0].furniture == "Page 1 of 4"


def test_numbers_of_how_many_are_no_news_on_the_last_page() -> None:
    document = broken("Harbour Board", "Page {} of 4 Document HB-77 Printed 12 March")
    assert document.text.count("HB-77") == 1
    assert document.pages[0].text.endswith("Printed 12 March")


def test_a_foot_that_is_said_once_steps_out_of_the_sentence() -> None:
    """It is new on the page whose sentence goes on."""
    contents = []
    for index in range(5):
        lines = [*prose(index), "The rent of the boat shed is paid in advance for the whole of the"]
        lines = ["coming year. Nobody may sleep in the shed."] * (index > 0) + lines
        contents.append(block(lines) + text("Customer service: 0800 4711", y=BOTTOM, size=9))
    found = parsed(*contents).text
    assert found.count("Customer service: 0800 4711") == 1
    assert found.count("for the whole of the\ncoming year.") == 4


def test_heads_of_odd_and_even_pages_and_of_chapters() -> None:
    contents = []
    for index in range(12):
        head = (
            "Harbour Board",
            f"Chapter {index // 4 + 1}: {['Boats', 'Nets', 'Oars'][index // 4]}",
        )
        content = text(head[index % 2], y=TOP, size=9, x=(72, 400)[index % 2])
        content += text(str(index + 1), y=TOP, size=9, x=(500, 72)[index % 2])
        contents.append(
            content + block([f"of part {index} it is said that", *prose(index), "it goes on"])
        )
    document = parsed(*contents)
    assert document.text.count("it goes on\nof part") == 11
    for once in ("Harbour Board", "Chapter 1: Boats", "Chapter 2: Nets", "Chapter 3: Oars"):
        assert document.text.count(once) == 1


def test_a_short_document_shows_its_furniture_only_twice() -> None:
    contents = [
        text("Minutes of the council", y=TOP, size=9)
        + block([*FILLER, "The council decided that"]),
        text("Minutes of the council", y=TOP, size=9)
        + block(["the harbour stays open.", *prose(1)]),
    ]
    contents = [content + text(str(at), y=BOTTOM, size=9) for at, content in enumerate(contents, 7)]
    document = parsed(*contents)
    assert "decided that\nthe harbour stays open." in document.text
    assert document.text.count("Minutes of the council") == 1
    assert [page.label for page in document.pages] == ["7", "8"]


@pytest.mark.parametrize(
    "contents",
    [
        # A list whose numbers count like pages.
        [block([f"{n}. Item number {n} is made of wood", *prose(n)]) for n in range(1, 7)],
        # Numbers beside the text, set apart.
        [text(str(n), 72, FIRST) + block([f"item {n}", *prose(n)], 120) for n in range(1, 7)],
        # One line a page, always at the same place.
        [text(f"Slide {n}") for n in range(1, 7)],
        [text("The same words on every page")] * 6,
        # Lines that differ, at the same places.
        [block([f"Report of the {thing}", *prose(1)]) for thing in THINGS[:4]],
        # Sums that are carried forward.
        [
            block(prose(n)) + text(f"Carried forward: 1,{n}32.50", y=BOTTOM, size=9)
            for n in range(1, 7)
        ],
        # A large title that returns on some of many pages.
        [block(["Overview"], size=24, y=740) + block([f"Part {n}", *prose(n)]) for n in range(3)]
        + [block([f"Text {n}", *prose(n)]) for n in range(3, 12)],
    ],
)
def test_what_is_no_furniture_stays(contents: list[bytes]) -> None:
    document = parsed(*contents)
    for alone, page in zip(contents, document.pages, strict=True):
        assert parsed(alone).text == page.text


def test_repeated_heads_of_years_stay_with_their_figures() -> None:
    rows = [f"Rent {n}   1,20{n}   1,10{n}" for n in range(4)]
    contents = [text("In euros 2022 2021", y=TOP) + block(rows) for _ in range(4)]
    assert parsed(*contents).text.count("2022 2021") == 4


def test_numbers_follow_the_text_of_pages_that_are_not_full() -> None:
    contents = []
    for index in range(8):
        lines = [*prose(index), "The rent of the boat shed is paid for the", "whole"][
            : 4 + index % 2
        ]
        contents.append(
            block(["of the year.", *lines]) + text(str(index + 21), 300, 560 - 30 * index)
        )
    document = parsed(*contents)
    assert [page.label for page in document.pages] == [str(index + 21) for index in range(8)]
    assert "for the\nof the year." in document.text


def test_printed_web_pages() -> None:
    foot = "https://harbour.example/guide {}/3"
    contents = [
        block(["and to", *prose(n), "The guide goes on"]) + text(foot.format(n), y=BOTTOM, size=8)
        for n in range(1, 4)
    ]
    found = parsed(*contents).text
    assert found.count("The guide goes on\nand to") == 2
    assert found.count("harbour.example") == 1


def test_roman_front_matter_and_pages_without_a_number() -> None:
    shown = ["", "ii", "iii", "iv", "1", "2", "", "4", "5", ""]
    contents = [block(prose(at)) + text(number, 300, BOTTOM, 9) for at, number in enumerate(shown)]
    document = parsed(*contents)
    assert [page.label for page in document.pages] == [
        "i", "ii", "iii", "iv", "1", "2", "3", "4", "5", "6"
    ]  # fmt: skip
    assert [page.furniture for page in document.pages] == shown


def test_covers_have_no_printed_number() -> None:
    shown = ["", "", "1", "2", "3"]
    contents = [block(prose(at)) + text(number, 300, BOTTOM, 9) for at, number in enumerate(shown)]
    assert [page.label for page in parsed(*contents).pages] == ["[1]", "[2]", "1", "2", "3"]


def test_labels_of_the_file_come_first() -> None:
    contents = [block(prose(n)) + text(str(n), 300, BOTTOM, 9) for n in range(1, 5)]
    data = make(contents, catalog_entries="/PageLabels << /Nums [0 << /S /R >>] >>")
    assert [page.label for page in pages.parse(data).pages] == ["I", "II", "III", "IV"]


def test_a_word_broken_over_a_page_joins_and_a_hyphen_of_its_own_stays() -> None:
    def over(left: str, right: str) -> str:
        contents = [
            block([*FILLER, f"At the end of the page there is the {left}-"])
            + text("1", y=BOTTOM, size=9),
            block([f"{right} of the harbour.", *prose(1)]) + text("2", y=BOTTOM, size=9),
        ]
        document = parsed(*contents)
        word = document.text.index(left)
        both = [
            len(places.regions(page, word, word + len(left + right))) for page in document.pages
        ]
        assert both == [1, 1]
        return document.text

    assert "there is the department of the harbour" in over("depart", "ment")
    assert "there is the part-time of the harbour" in over("part", "time")
    assert "there is the Anglo-Saxon of the harbour" in over("Anglo", "Saxon")


@pytest.mark.parametrize("numbered", [True, False])
def test_a_sentence_steps_over_footnotes(numbered: bool) -> None:
    notes = ["1 Since the storm of 1987.", "2 Measured at low tide."]
    first = block([*FILLER, "", "The ferry leaves the old harbour of the island"])
    first += block(notes, y=90, size=8) + (text("1", 300, BOTTOM, 9) if numbered else b"")
    second = block(["at nine in the morning.", *prose(1)])
    second += text("2", 300, BOTTOM, 9) if numbered else b""
    document = parsed(first, second)
    assert "of the island\nat nine in the morning." in document.text
    assert "1 Since the storm of 1987." in document.pages[0].text
    assert document.pages[0].text.endswith("of the island")


def test_small_print_that_is_no_footnote_stays_in_place() -> None:
    first = block(FILLER) + block(["Set in small type, this is", "a caption."], y=400, size=8)
    first += block(["The text of the page goes on below it"], y=300)
    document = parsed(first, block(["and ends on the next page.", *prose(1)]))
    assert document.text.index("a caption.") < document.text.index("The text of the page")
    assert "below it\nand ends" in document.text


def test_two_columns_with_a_footnote_in_the_first() -> None:
    left = [*FILLER, "The keeper of the light climbs the"]
    left = [line[:38] for line in left]
    content = block(left, 60) + block(["1 A note in small type."], 60, 80, 8)
    content += block(["stairs every evening.", *(line[:38] for line in FILLER)], 330)
    found = parsed(content, block(prose(1))).text
    assert "climbs the\nstairs every evening." in found
    assert "1 A note in small type." in found


@pytest.mark.parametrize(
    ("end", "start"),
    [
        ("The sentence is at its end.", "Another one begins here."),
        ("Does it end here?", "it does."),
        ("and so on", "- a list begins"),
        ("A short line", "A heading"),
    ],
)
def test_what_ends_with_its_page(end: str, start: str) -> None:
    document = parsed(block([*FILLER, end]), block([start, "", *prose(1)]))
    assert f"{end}\n\n{start}" in document.text


@pytest.mark.parametrize("head", ["Tariff {}", "Invoice {}", "Lot {}", "Claim no. {}"])
def test_what_the_page_is_about_is_no_page_number(head: str) -> None:
    names = [head.format(2021 + index) for index in range(4)]
    document = parsed(*(text(name, y=TOP) + block(prose(at)) for at, name in enumerate(names)))
    assert all(name in document.text for name in names)
    assert [page.label for page in document.pages] == ["1", "2", "3", "4"]


def test_pages_are_numbered_within_their_chapter() -> None:
    feet = ["3-11", "3-12", "3-13", "4-1", "4-2", "4-3"]
    document = parsed(*(block(prose(at)) + text(foot, y=BOTTOM) for at, foot in enumerate(feet)))
    assert [page.label for page in document.pages] == feet
    assert [page.furniture for page in document.pages] == feet


def test_a_head_that_stands_once_counts_on_with_the_others() -> None:
    heads = ["Leases 40", "41 Harbour Board", "Leases 42"]
    document = parsed(*(text(head, y=TOP) + block(prose(at)) for at, head in enumerate(heads)))
    assert [page.label for page in document.pages] == ["40", "41", "42"]


def test_a_short_document_has_headings() -> None:
    document = parsed(
        text("Fees for guests", size=16) + block(prose(0), y=670),
        text("Fees for members", size=16) + block(prose(1), y=670),
    )
    assert [part.path for part in document.sections if part.path] == [
        ("Fees for guests",),
        ("Fees for members",),
    ]


def headed(first: str, second: str, size: float) -> str:
    """The text of pages with two lines close to each other at their head, the upper one bold."""
    contents = []
    for index in range(4):
        lines = prose(index)
        if index == 1:
            lines.append("Either party may end the lease of the shed by giving the other")
        if index == 2:
            lines[:0] = ["party a notice of nine weeks in writing."]
        head = text(first.format(index + 1), y=TOP, size=size, font="F2")
        head += text(second.format(THINGS[index]), y=TOP - 1.3 * size, size=size)
        contents.append(head + block(lines))
    return parsed(*contents).text


def test_a_bold_head_close_to_another_one_leaves_the_text() -> None:
    found = headed("HARBOUR OFFICE    {} of 4", "Lease of the net shed", 8)
    assert SENTENCE in found
    assert found.count("HARBOUR OFFICE") == 1


@pytest.mark.parametrize(
    ("second", "size"), [("Lease of the net shed", 12.0), ("What the {} is for", 8.0)]
)
def test_a_bold_line_as_large_as_the_text_or_above_words_of_its_page_may_be_a_heading(
    second: str, size: float
) -> None:
    found = headed("Plate {} of 4", second, size)
    assert found.count("Plate") == 4

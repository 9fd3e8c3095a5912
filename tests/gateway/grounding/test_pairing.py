"""A value of a table counts for the row and the column it stands in, and for no other."""

import pytest

from services.gateway.grounding.check import DraftQuote, DraftSentence, check_sentence
from services.gateway.grounding.quotes import SourceText, Span
from tests.text.grids import grid

ROWS = [
    "| Revenue >2 | Price (euros)",
    "| 2022 | 2021 | 2022",
    "Current assets: |",
    "Inventories | 5,877 | 4,946 | 12",
    "Inventories, net | 5,001 | 4,002 | 14",
    "Total assets | 19,300 | 18,400 | 16",
    "May fair | 33 | 44 | 55",
]
TABLE = grid(ROWS, head_rows=2)
SOURCE = SourceText(
    f"The fair began in 1960 with 16 stands.\n\n{TABLE.text}", tables=(TABLE.table.moved(40),)
)
REASON = "it takes a value from another row or column than the one it names"


def reasons(sentence: str, *quotes: str, source: SourceText = SOURCE) -> tuple[str, ...]:
    drafts = tuple(DraftQuote(0, quote, source.text.find(quote)) for quote in quotes)
    return check_sentence(DraftSentence(sentence, drafts), [source]).reasons


@pytest.mark.parametrize(
    ("sentence", "quotes"),
    [
        ("Inventories: Revenue, 2022 5,877", ["Inventories", "Revenue", "2022", "5,877"]),
        ("Inventories were 5,877 in 2022 and 4,946 in 2021.", [ROWS[3]]),
        ("In 2022 and 2021, inventories were 5,877 and 4,946.", [ROWS[3]]),
        ("Inventories were 5,877 in 2022, after 4,946 the year before.", [ROWS[3]]),
        ("Net of allowances, inventories, net were 5,001.", [ROWS[4]]),
        ("Inventories came to 5,877 and total assets to 19,300.", [ROWS[3], ROWS[5]]),
        # A row as it stands, below a head of fewer words.
        ("Price: Inventories | 5,877 | 4,946 | 12", ["Price", ROWS[3]]),
        ("It may be 33 in 2022.", [ROWS[6]]),
        ("The fair began with 16 stands.", ["The fair began in 1960 with 16 stands."]),
        (
            "Total assets are not told of here, but 16 stands are.",
            ["The fair began in 1960 with 16 stands."],
        ),
    ],
)
def test_a_value_beside_its_own_names_holds(sentence: str, quotes: list[str]) -> None:
    assert REASON not in reasons(sentence, *quotes)


@pytest.mark.parametrize(
    ("sentence", "quotes"),
    [
        # Another row than the one that is named.
        ("Inventories were 19,300 in 2022.", [ROWS[5]]),
        ("Inventories were 5,001 in 2022.", [ROWS[3], ROWS[4]]),
        ("Inventories: 2022 19,300", ["Inventories", "2022", "19,300"]),
        # Another column.
        ("Inventories were 4,946 in 2022.", [ROWS[3]]),
        ("Inventories were 5,877 in 2021 and 4,946 in 2022.", [ROWS[3]]),
        ("The price of inventories was 5,877.", [ROWS[3]]),
        # Two rows, one another's values.
        ("Inventories came to 19,300 and total assets to 5,877.", [ROWS[3], ROWS[5]]),
        # Quoted is the name alone; the figure stands elsewhere in the table.
        ("Inventories were 18,400.", ["Inventories"]),
    ],
)
def test_a_value_beside_another_name_fails(sentence: str, quotes: list[str]) -> None:
    assert REASON in reasons(sentence, *quotes)


def test_a_word_quoted_from_a_cell_is_held_against_its_row() -> None:
    table = grid(["Site | Monday | Sunday", "Mill | open | closed", "Harbour | closed | open"])
    source = SourceText(table.text, tables=(table.table,))
    mill_sunday, harbour_sunday = source.text.find("closed"), source.text.rfind("open")

    def verdict(start: int, text: str) -> tuple[str, ...]:
        drafts = (DraftQuote(0, "Mill"), DraftQuote(0, text, start))
        return check_sentence(DraftSentence(f"Mill: Sunday {text}", drafts), [source]).reasons

    assert verdict(mill_sunday, "closed") == ()
    assert verdict(harbour_sunday, "open") == (REASON,)


def test_a_quote_over_what_was_left_out_is_none() -> None:
    text = "Part | Price\n[…]\nPX-9 | 12"
    source = SourceText(text, gaps=(Span(12, 17),))
    assert reasons("PX-9 costs 12.", "PX-9 | 12", source=source) == ()
    assert reasons("PX-9 costs 12.", text, source=source) != ()


PARTS = ["Code | Flow (m3/h) | Head (m)", "GN270 | 45 | 12", "GN270-S | 48 | 14"]
WEIGHTS = ["Code | Weight (kg) | Length (mm)", "GN270 | 48 | 310", "GN270-S | 52 | 45"]


def two_tables() -> SourceText:
    """Two tables with the same codes and other columns; some figures stand in both."""
    first, second = grid(PARTS), grid(WEIGHTS)
    shift = len(first.text) + 2
    return SourceText(
        f"{first.text}\n\n{second.text}", tables=(first.table, second.table.moved(shift))
    )


@pytest.mark.parametrize(
    ("sentence", "quotes"),
    [
        ("GN270-S has a flow of 48 m3/h.", [PARTS[2]]),
        ("GN270-S: Flow (m3/h) 48", ["GN270-S | 48"]),
        ("GN270 weighs 48 kg.", [WEIGHTS[1]]),
        ("GN270 has a flow of 45 and a head of 12.", [PARTS[1]]),
        ("The length of GN270-S is 45 mm.", [WEIGHTS[2]]),
        ("GN270-S has a flow of 48 and weighs 52 kg.", [PARTS[2], WEIGHTS[2]]),
    ],
)
def test_a_code_in_two_tables_takes_its_own_values(sentence: str, quotes: list[str]) -> None:
    assert REASON not in reasons(sentence, *quotes, source=two_tables())


@pytest.mark.parametrize(
    ("sentence", "quotes"),
    [
        ("GN270-S has a flow of 45 m3/h.", [PARTS[1], PARTS[2]]),
        ("GN270 has a flow of 48 m3/h.", [PARTS[1], PARTS[2]]),
        ("GN270 has a flow of 48 m3/h.", [PARTS[2]]),
        ("The head (m) of GN270-S is 48.", [PARTS[2]]),
        ("The length of GN270-S is 310 mm.", [WEIGHTS[1], WEIGHTS[2]]),
    ],
)
def test_a_code_in_two_tables_takes_no_other_codes_values(sentence: str, quotes: list[str]) -> None:
    assert REASON in reasons(sentence, *quotes, source=two_tables())


@pytest.mark.parametrize(
    ("sentence", "quotes", "right"),
    [
        ("PX-12: Stock 9", ["PX-12", "Stock", "9"], True),
        ("PX-12: Price 7.00", ["PX-12", "Price", "7.00"], True),
        ("There are 9 of PX-12 in stock.", ["PX-12 | 7.00 | 9"], True),
        ("PX-12: Stock 12", ["PX-12", "Stock", "| 12"], False),
        ("PX-11: Stock 12", ["PX-11", "Stock", "| 12"], False),
    ],
)
def test_the_digits_of_a_code_are_no_value(sentence: str, quotes: list[str], right: bool) -> None:
    rows = ["Item | Price | Stock", "PX-10 | 4.50 | 12", "PX-11 | 6.25 | 3", "PX-12 | 7.00 | 9"]
    made = grid(rows, head_rows=1)
    stock = SourceText(f"Stock list.\n\n{made.text}", tables=(made.table.moved(13),))
    assert (REASON not in reasons(sentence, *quotes, source=stock)) is right

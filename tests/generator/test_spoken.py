"""Quotes of tables are said as a person reads them; what is not of a table stays as it is."""

from services.gateway.grounding.check import DraftQuote, DraftSentence, check_sentence
from services.gateway.grounding.quotes import SourceText
from services.generator.answers import Source, Span
from services.generator.extractive.tables import spoken
from tests.text.grids import grid

FAULT = ["Shown when | Reaction | Part", "twin pump not seen for 10 s | runs alone | PB3-060"]
BOLTS = ["Size | Bolts | Torque", "K65 | 8 x M12 | 68 Nm", "K80 | 8 x M12 | 74 Nm"]
FACTS = ["Property | Value", "Flow | 1 to 12 l/h", "Pressure | 7 bar"]
SHEET = ["| 2022 | 2021", "Current assets: >3", "Inventories | 5,877 | 4,946"]


def source(before: str, rows: list[str], behind: str, unit: str = "") -> Source:
    made = grid(rows)
    text = f"{before}\n\n{made.text}\n\n{behind}"
    table = made.table.moved(len(before) + 2)
    if unit:
        place = (text.index(unit), text.index(unit) + len(unit))
        table = type(table)(**{**vars(table), "unit": place})
    return Source(0, "Manual", text, tables=(table,))


def said(given: Source, start: str, end: str) -> list[str]:
    """The parts of a quote from one text to another; each is held against grounding, with its own quotes."""
    first, last = given.text.index(start), given.text.index(end) + len(end)
    found = spoken.parts(given, Span(first, last))
    for part in found:
        quotes = tuple(
            DraftQuote(0, given.text[one.start : one.end], one.start) for one in part.spans
        )
        sources = [SourceText(given.text, tables=given.tables)]
        assert check_sentence(DraftSentence(part.text, quotes), sources).reasons == ()
    return [part.text for part in found]


def test_a_heading_with_a_table_of_one_row_and_a_text() -> None:
    given = source("E-52 Partner lost", FAULT, "Without the cable both start.")
    assert said(given, "E-52", "start.") == [
        "E-52 Partner lost: Shown when: twin pump not seen for 10 s; Reaction: runs alone; Part: PB3-060",
        "Without the cable both start.",
    ]


def test_a_row_is_said_with_its_heads_and_quoted_with_them() -> None:
    given = source("Tighten the bolts crosswise.", BOLTS, "Then turn the shaft.")
    assert said(given, BOLTS[1], BOLTS[1]) == ["Size: K65; Bolts: 8 x M12; Torque: 68 Nm"]
    assert said(given, "Tighten", BOLTS[2]) == [
        "Tighten the bolts crosswise.",
        "Size: K65; Bolts: 8 x M12; Torque: 68 Nm. Size: K80; Bolts: 8 x M12; Torque: 74 Nm",
    ]
    (part,) = spoken.parts(
        given, Span(given.text.index("K65"), given.text.index("68 Nm") + len("68 Nm"))
    )
    assert [given.text[one.start : one.end] for one in part.spans] == [BOLTS[0], BOLTS[1]]


def test_a_list_of_properties_needs_no_heads() -> None:
    given = source("D12 cooling tower pump", FACTS, "Order now.")
    assert said(given, "D12", "7 bar") == [
        "D12 cooling tower pump: Flow: 1 to 12 l/h; Pressure: 7 bar"
    ]


def test_groups_and_units_are_said() -> None:
    given = source("Balance sheet (in millions)", SHEET, "See note 4.", unit="(in millions)")
    assert said(given, SHEET[2], SHEET[2]) == [
        "Current assets: Inventories; 2022: 5,877; 2021: 4,946 (in millions)"
    ]


def test_a_quote_that_cuts_a_row_or_has_no_table_stays_as_it_is() -> None:
    given = source("Tighten the bolts\ncrosswise.", BOLTS, "Then turn the shaft.")
    assert said(given, "Tighten", "crosswise.") == ["Tighten the bolts crosswise."]
    assert said(given, "8 x M12 | 68", "68 Nm") == ["8 x M12 | 68 Nm"]

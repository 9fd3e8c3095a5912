"""A figure of a table is what the sentence calls it, whatever other tables of its sources name."""

import pytest

from services.gateway.grounding.check import DraftQuote, DraftSentence, check_sentence
from services.gateway.grounding.quotes import SourceText
from tests.text.grids import grid

REASON = "it takes a value from another row or column than the one it names"
FLOWS = [
    "Code | Nominal flow (m3/h) | Head (m)",
    "GN270 | 45 | 12",
    "GN270-S | 48 | 14",
    "GN400 | 90 | 25",
]
WEIGHTS = ["Code | Weight (kg) | Length (mm)", "GN270 | 50 | 310", "GN270-S | 52 | 320"]
TURNED_WEIGHTS = ["Property | GN270 | GN270-S", "Weight (kg) | 50 | 52", "Length (mm) | 310 | 320"]
TURNED_FLOWS = ["Property | GN270 | GN270-S", "Flow (m3/h) | 45 | 48", "Head (m) | 12 | 14"]
PARTS = ["Part | What it is | Price (euros)", "PB3-093 | Seal | 9", "PB3-094 | Gasket | 11"]
SALES = [
    "Region | Revenue >2 | Staff >2",
    "| 2022 | 2021 | 2022 | 2021",
    "North | 310 | 290 | 71 | 72",
    "South | 410 | 390 | 81 | 82",
]
OLDER = ["Region | Revenue >2", "| 2020 | 2019", "North | 250 | 240", "South | 350 | 340"]
NET = ["Code | Net weight (kg)", "GN270-S | 47"]


def source(*tables: list[str], prose: str = "About the pumps.", head_rows: int = 1) -> SourceText:
    """Tables below each other."""
    text, found = prose, []
    for rows in tables:
        made = grid(rows, head_rows=2 if rows[1].startswith("|") else head_rows)
        found.append(made.table.moved(len(text) + 2))
        text += f"\n\n{made.text}"
    return SourceText(text, tables=tuple(found))


def holds(sentence: str, quotes: list[str], *sources: SourceText) -> bool:
    drafts = []
    for quote in quotes:
        index = next(at for at, each in enumerate(sources) if quote in each.text)
        drafts.append(DraftQuote(index, quote, sources[index].text.find(quote)))
    return REASON not in check_sentence(DraftSentence(sentence, tuple(drafts)), sources).reasons


BOTH = source(FLOWS, WEIGHTS)


@pytest.mark.parametrize(
    ("sentence", "quotes", "text"),
    [
        # Another table's column, by the whole head, by a word of it, in another form of the word.
        ("The nominal flow of GN270-S is 52.", [WEIGHTS[2]], BOTH),
        ("The flow of GN270-S is 52.", [WEIGHTS[2]], BOTH),
        ("GN270-S flows at 52.", [WEIGHTS[2]], BOTH),
        ("GN270-S: Nominal flow (m3/h) 52", ["GN270-S | 52"], BOTH),
        ("The flow of GN270-S is 52 and its head 14.", [WEIGHTS[2], FLOWS[2]], BOTH),
        ("The length of GN270-S is 48.", [FLOWS[2]], BOTH),
        # Another column of the same table, by a word of its head.
        ("The flow of GN270-S is 14.", [FLOWS[2]], source(FLOWS)),
        # Another row, which only the other table has.
        ("GN400 weighs 52 kg.", [WEIGHTS[2]], BOTH),
        ("GN400 weighs 52.", [WEIGHTS[2]], BOTH),
        # A code that no table has.
        ("GN500 weighs 52 kg.", [WEIGHTS[2]], source(WEIGHTS)),
        # Another unit: one that the other table has, one that none has, one before the figure.
        ("GN270-S takes 52 m3/h.", [WEIGHTS[2]], BOTH),
        ("GN270-S takes 52 l/min.", [WEIGHTS[2]], source(WEIGHTS)),
        ("GN270-S is 52 mm long.", [WEIGHTS[2]], source(WEIGHTS)),
        ("GN270-S costs $52.", [WEIGHTS[2]], source(WEIGHTS)),
        ("PB3-093 costs 9 dollars.", [PARTS[1]], source(PARTS)),
        ("PB3-093 weighs 9 kg.", [PARTS[1]], source(PARTS)),
        # Rows and columns changed over, in both tables or in one.
        ("The flow of GN270-S is 52.", [TURNED_WEIGHTS[1]], source(TURNED_FLOWS, TURNED_WEIGHTS)),
        ("The flow of GN270-S is 52.", [TURNED_WEIGHTS[1]], source(FLOWS, TURNED_WEIGHTS)),
        ("The flow of GN270-S is 52.", [WEIGHTS[2]], source(TURNED_FLOWS, WEIGHTS)),
        ("The flow of GN270-S is 14.", [TURNED_FLOWS[2]], source(TURNED_FLOWS)),
        ("GN270-S has a flow of 45.", [TURNED_FLOWS[1]], source(TURNED_FLOWS)),
        # Years of another table, under merged heads.
        ("Revenue of the North was 250 in 2022.", [OLDER[2]], source(SALES, OLDER)),
        ("Revenue of the North was 250 in 2022.", [OLDER[2]], source(OLDER)),
        ("Staff of the North was 250 in 2020.", [OLDER[2]], source(SALES, OLDER)),
        ("The North had a staff of 310 in 2022.", [SALES[2]], source(SALES)),
        ("Revenue of the North was 310 in 2022 and 290 in 2020.", [SALES[2]], source(SALES)),
        # A head that says more than the one that the figure stands under.
        ("The net weight of GN270-S is 52.", [WEIGHTS[2]], source(WEIGHTS, NET)),
    ],
)  # fmt: skip
def test_a_figure_of_something_else_fails(
    sentence: str, quotes: list[str], text: SourceText
) -> None:
    assert not holds(sentence, quotes, text)


@pytest.mark.parametrize(
    ("sentence", "quotes", "text"),
    [
        ("The nominal flow of GN270-S is 48.", [FLOWS[2]], BOTH),
        ("The flow of GN270-S is 48 m3/h.", [FLOWS[2]], BOTH),
        ("GN270-S weighs 52 kg.", [WEIGHTS[2]], BOTH),
        ("GN270-S weighs 52 kilograms.", [WEIGHTS[2]], BOTH),
        ("GN270-S weighs 52.", [WEIGHTS[2]], BOTH),
        ("It is 52.", [WEIGHTS[2]], BOTH),
        ("The pump weighs 52 kg.", [WEIGHTS[2]], BOTH),
        ("GN270-S, at a flow of 48, weighs 52.", [FLOWS[2], WEIGHTS[2]], BOTH),
        ("GN270-S is 320 mm long and has a head of 14 m.", [WEIGHTS[2], FLOWS[2]], BOTH),
        ("GN270-S: Weight (kg) 52", ["GN270-S | 52"], BOTH),
        ("The weight of GN270-S is 52 kg.", [TURNED_WEIGHTS[1]], source(FLOWS, TURNED_WEIGHTS)),
        ("The flow of GN270-S is 48.", [TURNED_FLOWS[1]], source(TURNED_FLOWS, WEIGHTS)),
        ("GN270-S weighs 52 kg.", [TURNED_WEIGHTS[1]], source(FLOWS, TURNED_WEIGHTS)),
        ("The seal costs 9 euros.", [PARTS[1]], source(PARTS, FLOWS)),
        ("The seal PB3-093 costs €9.", [PARTS[1]], source(PARTS, FLOWS)),
        # What the passage is about, named in its prose.
        ("The seal of a K65 costs 9 euros.", [PARTS[1]], source(PARTS, prose="Parts of K65")),
        ("Revenue of the North was 250 in 2020.", [OLDER[2]], source(SALES, OLDER)),
        ("Revenue of the North was 310 in 2022, after 290 in 2021.", [SALES[2]], source(SALES)),
        ("Revenue of the North was 310 million in 2022.", [SALES[2]], source(SALES, OLDER)),
        ("In 2022 the North had a staff of 71.", [SALES[2]], source(SALES, OLDER)),
        ("The North had 71 people in 2022.", [SALES[2]], source(SALES)),
        ("The net weight of GN270-S is 47 kg.", [NET[1]], source(WEIGHTS, NET)),
        ("The weight of GN270-S is 52 kg.", [WEIGHTS[2]], source(WEIGHTS, NET)),
    ],
)  # fmt: skip
def test_a_figure_of_what_is_named_holds(
    sentence: str, quotes: list[str], text: SourceText
) -> None:
    assert holds(sentence, quotes, text)


def test_the_table_that_tells_may_be_in_a_passage_that_is_not_quoted() -> None:
    flows, weights = source(FLOWS), source(WEIGHTS)
    assert not holds("The nominal flow of GN270-S is 52.", [WEIGHTS[2]], flows, weights)
    assert holds("The weight of GN270-S is 52 kg.", [WEIGHTS[2]], flows, weights)

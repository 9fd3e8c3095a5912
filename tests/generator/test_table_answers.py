"""A question about a table is answered with the cell of the row and the column that it names, or not from the table."""

import random
from dataclasses import replace

import pytest

from services.generator.answers import Finish, Result, Source
from services.generator.extractive.generator import ExtractiveGenerator
from services.generator.extractive.layout import Line
from services.generator.extractive.question import Question
from services.generator.extractive.tables import cells
from services.generator.extractive.windows import candidates
from services.minilm.model import MiniLM
from tests.text.grids import grid


def source(
    *tables: tuple[str, list[str], int], title: str = "Lake station", index: int = 0
) -> Source:
    """A text of tables, each with a line before it: (line, rows, number of head rows)."""
    text, found = "", []
    for before, rows, head_rows in tables:
        made = grid(rows, head_rows)
        text += before + "\n\n"
        found.append(made.table.moved(len(text)))
        text += made.text + "\n\n"
    return Source(index, title, text, tables=tuple(found))


BOATS = (
    "Boats for hire",
    [
        "Code | Boat | Weight (kg) | Price per hour (euros) | Stock",
        "B-10 | family raft | 45 | 39 | 3",
        "B-11 | single kayak | 21 | 12 | 14",
        "B-12 | double kayak | 33 | 18 | 6",
    ],
    1,
)
HOURS = (
    "Opening hours",
    [
        "Site | Monday | Saturday",
        "Mill | 9:00 to 17:00 | closed",
        "Harbour | 8:00 to 12:00 | 10:00 to 16:00",
    ],
    1,
)
SHEET = (
    "Balance sheet of the station",
    [
        "| 2024 | 2023",
        "Current assets: >3",
        "Inventories | 5,877 | 4,946",
        "Total current assets | 9,120 | 8,210",
        "Total assets | 19,300 | 18,400",
    ],
    1,
)
LAKE = source(BOATS, HOURS, SHEET)


def answer(encoder: MiniLM, question: str, *sources: Source) -> str | None:
    found = cells.read(Question.of(question), sources or (LAKE,), encoder).answer
    return cells.sentence(found).text if found else None


ANSWERS = {
    "What does B-11 weigh?": "B-11: Weight (kg) 21",
    "How much does the family raft cost an hour?": "B-10, family raft: Price per hour (euros) 39",
    "How many double kayaks are in stock?": "B-12, double kayak: Stock 6",
    "What does B-11 cost?": "B-11: Price per hour (euros) 12",
    "Which boat is B-10?": "B-10: Boat family raft",
    "When is the Mill open on Monday?": "Mill: Monday 9:00 to 17:00",
    "When is the harbour open on Saturdays?": "Harbour: Saturday 10:00 to 16:00",
    "What were total assets in 2023?": "Total assets: 2023 18,400",
    "What were the inventories in 2024?": "Current assets, Inventories: 2024 5,877",
    "What were the total current assets?": "Total current assets: 2024 9,120; 2023 8,210",
}


@pytest.mark.parametrize("question", ANSWERS)
def test_the_cell_is_said_with_its_heads(minilm: MiniLM, question: str) -> None:
    assert answer(minilm, question) == ANSWERS[question]


@pytest.mark.parametrize(
    "question",
    [
        "What does B-19 cost?",
        "How much does a kayak cost?",
        "What is the diameter of B-11?",
        "What is the budgeted price of the double kayak?",
        "Who built the double kayak?",
        "When does the Mill open on Sunday?",
        "What were total assets in 2021?",
        "What was the increase in inventories in 2024?",
        "Which boat is the heaviest?",
        "What did Northwind's total assets come to in 2023?",
    ],
)
def test_what_no_cell_says_is_not_answered_from_one(minilm: MiniLM, question: str) -> None:
    assert answer(minilm, question) is None


def test_a_word_near_the_table_does_not_make_its_rows_what_it_says(minilm: MiniLM) -> None:
    spending = ("3.2 Spending", ["Purpose | Pounds", "Staff | 1,286,000", "Bookmobile | 41,000"], 1)
    made = source(spending, title="Annual report")
    near = replace(made, text=made.text + "The town lends us a new electric van in May.\n")
    assert (
        answer(minilm, "How much was spent on the bookmobile?", near) == "Bookmobile: Pounds 41,000"
    )
    assert answer(minilm, "What would a new electric bookmobile cost?", near) is None
    assert answer(minilm, "What was the annual bookmobile spending?", near) is not None


def test_every_quote_is_a_cell_where_it_stands(minilm: MiniLM) -> None:
    found = cells.read(Question.of("What were the inventories in 2024?"), (LAKE,), minilm).answer
    assert found is not None
    quoted = cells.sentence(found).citations
    assert [one.quote for one in quoted] == ["Current assets", "Inventories", "2024", "5,877"]
    assert all(LAKE.text[one.start : one.end] == one.quote for one in quoted)


def test_one_of_1500_parts_is_found_by_its_number(minilm: MiniLM) -> None:
    numbers = random.Random(5).sample(range(10_000, 99_999), 1500)
    rows = [
        f"PX-{number} | valve {number % 70} mm | {number % 397}.{number % 89:02}"
        for number in numbers
    ]
    parts = source(("Spare parts", ["Part number | Name | Price in euros", *rows], 1))
    for number in numbers[::75]:
        said = answer(minilm, f"What does PX-{number} cost?", parts)
        assert said == f"PX-{number}: Price in euros {number % 397}.{number % 89:02}"


def test_rows_that_fit_equally_well_are_no_answer(
    minilm: MiniLM, extractive: ExtractiveGenerator
) -> None:
    rates = source(
        ("Rates", ["Room | Season | Price", "Loft | summer | 90", "Loft | winter | 60"], 1)
    )
    assert answer(minilm, "What does the loft cost?", rates) is None
    assert answer(minilm, "What does the loft cost in winter?", rates) == "Loft, winter: Price 60"
    assert extractive.extract("What does the loft cost?", (rates,)).finish is Finish.ABSTAINED


def test_tables_that_contradict_each_other_are_no_answer(minilm: MiniLM) -> None:
    other = source(("Boats", ["Code | Price", "B-11 | 15"], 1), title="Old list", index=1)
    assert answer(minilm, "What is the price of B-11?", LAKE, other) is None
    same = source(("Boats", ["Code | Price", "B-11 | 12"], 1), title="Old list", index=1)
    assert answer(minilm, "What is the price of B-11?", LAKE, same) is not None


def test_the_unit_of_a_table_is_said_with_its_figures(minilm: MiniLM) -> None:
    made = source(("(in thousands of dollars)", SHEET[1], 1))
    table = replace(made.tables[0], unit=(0, 25))
    said = answer(minilm, "What were total assets in 2023?", replace(made, tables=(table,)))
    assert said == "Total assets: 2023 18,400 (in thousands of dollars)"


def test_the_generator_answers_from_the_cell(extractive: ExtractiveGenerator) -> None:
    result: Result = extractive.extract("What does B-11 weigh?", (LAKE,))
    assert result.finish is Finish.COMPLETE
    assert [sentence.text for sentence in result.sentences] == ["B-11: Weight (kg) 21"]


@pytest.mark.parametrize(
    "question",
    [
        "What was the goodwill on the balance sheet in 2024?",
        "What were total assets in 2016?",
        "What does B-99 cost?",
    ],
)
def test_a_row_that_is_about_something_else_is_no_answer_either(
    extractive: ExtractiveGenerator, question: str
) -> None:
    assert extractive.extract(question, (LAKE,)).finish is Finish.ABSTAINED


def test_a_row_is_read_under_all_heads_of_its_table() -> None:
    made = source(("Sales", ["| Revenue >2", "| 2024 | 2023", "North >3", "Boats | 5 | 4"], 2))
    row = next(each for each in candidates([made]) if each.text.startswith("Boats"))
    assert row.line is Line.ROW
    assert [each.text for each in row.above][-3:] == ["Revenue", "2024 | 2023", "North"]


def test_the_measure_that_is_asked_for_goes_before_what_it_is_a_measure_of(minilm: MiniLM) -> None:
    rows = ["Size | Bolts | Torque (Nm)", "C5 | 8 x M12 | 68", "C8 | 8 x M16 | 74"]
    manual = source(("Tighten the casing bolts crosswise.", rows, 1), title="Manual")
    assert answer(minilm, "How tight do the bolts of a C5 go?", manual) == "C5: Torque (Nm) 68"
    assert answer(minilm, "Which bolts does a C5 have?", manual) == "C5: Bolts 8 x M12"
    boxes = ["Size | Box | Weight of it (kg)", "C5 | wood | 68", "C8 | card | 7"]
    assert answer(minilm, "How heavy is the box of C8?", source(("Boxes", boxes, 1))) == (
        "C8: Weight of it (kg) 7"
    )


def test_shares_and_counts_are_told_apart(minilm: MiniLM) -> None:
    made = source(
        (
            "Holders",
            ["Name | Shares held | %", "Harbour Trust | 4,310 | 12.5", "Lake Fund | 900 | 2.6"],
            1,
        )
    )
    assert answer(minilm, "How many shares does the Harbour Trust hold?", made) == (
        "Harbour Trust: Shares held 4,310"
    )
    assert answer(minilm, "What percentage of shares does the Harbour Trust hold?", made) == (
        "Harbour Trust: % 12.5"
    )


def test_a_column_is_found_by_another_form_of_its_word_and_by_any_currency(minilm: MiniLM) -> None:
    rows = ["Cost | 2024 >2 | 2025", "| plan | actual | plan", "Heating | 12 | 13 | 14"]
    costs = source(("Costs", [*rows, "Share of heating | 12% | 13% | 11%"], 2))
    assert (
        answer(minilm, "What is the planned heating for 2025?", costs) == "Heating: 2025, plan 14"
    )
    rows = ["Boat | Day | Week", "Punt | 8 | 40", "Skiff | 13 | 70"]
    hire = source(("Hire in crowns", rows, 1))
    assert answer(minilm, "What does a skiff cost a week?", hire) == "Skiff: Week 70"

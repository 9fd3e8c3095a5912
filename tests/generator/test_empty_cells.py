"""A question for the column that a row leaves empty is answered by no other value of the row, and by no other row."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from openpyxl import Workbook

from services.generator.answers import Finish, Source
from services.generator.extractive.generator import ExtractiveGenerator
from services.minilm.model import MiniLM
from services.retriever.parsing import csv, html, markdown
from services.retriever.parsing.office import xlsx
from tests.generator.test_table_answers import answer, source
from tests.retriever.parsing.office.files import saved

GAPS = {
    "csv": ["Year | Geese | Feathers (kg)", "2021 | 120 | 18", "2022 | 95 | 14", "2023 | 101"],
    "markdown": [
        "Year | Geese | Feathers (kg)",
        "2021 | 120 | 18",
        "2022 | 95 | 14",
        "2023 | 101 | ",
    ],
    "dash": ["Year | Geese | Feathers (kg)", "2021 | 120 | 18", "2022 | 95 | 14", "2023 | 101 | —"],
    "middle": ["Year | Feathers (kg) | Geese", "2021 | 18 | 120", "2022 | 14 | 95", "2023 | | 101"],
    "two heads": [
        "Year | Count | Sold",
        "| Geese | Feathers (kg)",
        "2021 | 120 | 18",
        "2022 | 95 | 14",
        "2023 | 101 |",
    ],
}


@pytest.mark.parametrize("rows", GAPS.values(), ids=GAPS)
def test_an_empty_cell_that_is_asked_for_is_no_answer(
    extractive: ExtractiveGenerator, minilm: MiniLM, rows: list[str]
) -> None:
    farm = source(("Farm", rows, 2 if rows[1].startswith("|") else 1), title="Farm")
    for question in (
        "How many feathers were there in 2023?",
        "How many kg of feathers came in 2023?",
    ):
        assert answer(minilm, question, farm) is None
        assert extractive.extract(question, (farm,)).finish is Finish.ABSTAINED
    result = extractive.extract("How many geese were there in 2023?", (farm,))
    assert next(sentence.text for sentence in result.sentences).endswith("Geese 101")
    result = extractive.extract("How many feathers were there in 2022?", (farm,))
    assert next(sentence.text for sentence in result.sentences).endswith("Feathers (kg) 14")


@pytest.mark.parametrize(
    "question",
    ["How much hay does the donkey get?", "What does the donkey weigh?", "How heavy is the mule?"],
)
def test_no_other_row_is_the_answer_for_one_without_a_value(
    extractive: ExtractiveGenerator, question: str
) -> None:
    rows = [
        "Animal | Hay | Weight (kg) | Shoes",
        "Horse | 9 kg | 510 | 4",
        "Mule | 7 kg | | 4",
        "Donkey | | | 2",
    ]
    stable = source(("Stable", rows, 1), title="Stable")
    assert extractive.extract(question, (stable,)).finish is Finish.ABSTAINED


def test_a_column_is_found_in_other_words_though_the_row_leaves_it_empty(
    extractive: ExtractiveGenerator,
) -> None:
    rows = ["Bird | Food a day | Walks", "Heron | fish | 2", "Stork | frogs | 3", "Owl | | 1"]
    aviary = source(("Aviary", rows, 1), title="Aviary")
    assert extractive.extract("What does the owl eat?", (aviary,)).finish is Finish.ABSTAINED
    assert extractive.extract("What does the heron eat?", (aviary,)).finish is Finish.COMPLETE


def test_what_a_text_says_is_an_answer_where_the_table_says_nothing(
    extractive: ExtractiveGenerator,
) -> None:
    farm = source(("Farm", GAPS["csv"], 1), title="Farm")
    farm = replace(farm, text=farm.text + "In 2023 the feathers weighed 16 kg.\n")
    result = extractive.extract("How many feathers were there in 2023?", (farm,))
    assert [sentence.text for sentence in result.sentences] == [
        "In 2023 the feathers weighed 16 kg."
    ]


HAY = [
    ["Field", "Cut", "Hay (t)", "Straw (t)"],
    ["Upper", "June", "12.5", "3.1"],
    ["Lower", "July", "9.8", "2.7"],
    ["Marsh", "August", "", "1.4"],
    ["Brook", "August", "6.2", ""],
]


def _of_csv() -> Source:
    found = csv.parse("\n".join(",".join(row).rstrip(",") for row in HAY).encode())
    return Source(0, "hay", found.text, tables=found.tables)


def _of_markdown() -> Source:
    lines = ["| " + " | ".join(row) + " |" for row in HAY]
    found = markdown.parse(
        "\n".join(["# Hay", "", lines[0], "|---" * 4 + "|", *lines[1:]]).encode()
    )
    return Source(0, "Hay", found.text, tables=found.tables)


def _of_html() -> Source:
    head, *rest = ["<tr>" + "".join(f"<td>{each}</td>" for each in row) + "</tr>" for row in HAY]
    rows = f"<thead>{head.replace('td>', 'th>')}</thead><tbody>{''.join(rest)}</tbody>"
    found = html.parse(f"<h1>Hay</h1><table>{rows}</table>".encode())
    return Source(0, "Hay", found.text, tables=found.tables)


def _of_xlsx() -> Source:
    book = Workbook()
    assert book.active is not None
    for row in HAY:
        book.active.append([float(each) if "." in each else each or None for each in row])
    found = xlsx.parse(saved(book))
    return Source(0, "hay", found.text, tables=found.tables)


@pytest.mark.parametrize("read", [_of_csv, _of_markdown, _of_html, _of_xlsx])
def test_gaps_of_every_kind_of_file(
    extractive: ExtractiveGenerator, read: Callable[[], Source]
) -> None:
    hay = read()
    for question in (
        "How much hay does the Marsh field give?",
        "How many tons of straw come from Brook?",
    ):
        assert extractive.extract(question, (hay,)).finish is Finish.ABSTAINED, question
    for question, value in {
        "How much straw does the Marsh field give?": " 1.4",
        "How much hay does the Brook field give?": " 6.2",
        "When is the hay of the Marsh field cut?": "August",
    }.items():
        (said,) = extractive.extract(question, (hay,)).sentences
        assert said.text.endswith(value), question


def test_a_row_of_merged_cells_alone(extractive: ExtractiveGenerator) -> None:
    head = "<tr><th>Tool</th><th>Count</th><th>Price</th></tr>"
    merged = "<tr>" + "".join(f"<td rowspan=2>{each}</td>" for each in ("12", "4", "")) + "</tr>"
    page = f"<h1>Shed</h1><table>{head}{merged}<tr></tr><tr><td>Axe</td><td>2</td><td>19 euros</td></tr></table>"
    found = html.parse(page.encode())
    shed = Source(0, "Shed", found.text, tables=found.tables)
    (said,) = extractive.extract("What does the axe cost?", (shed,)).sentences
    assert said.text == "Axe: Price 19 euros"

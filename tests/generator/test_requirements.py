"""What a text must say before it may answer: asked and answered with sentences of our own."""

import pytest

from services.generator.answers import Source, Span
from services.generator.extractive.generator import ExtractiveGenerator
from services.generator.extractive.layout import Line, layout
from services.generator.extractive.question import Question
from services.generator.extractive.requirements import met, unknown_text
from services.generator.extractive.windows import Candidate


def may(question: str, text: str, *, around: str = "", title: str = "Ferry notes") -> bool:
    """Whether `text`, in a source that holds `around` too, may answer."""
    source = Source(0, title, f"{text}\n\n{around}")
    return met(Question.of(question), Candidate(source, Span(0, len(text)), 0), text)


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Who wrote the harbour survey of Lindholm?", "Harbour survey of Lindholm."),
        ("How many cabins does the night ferry have?", "The night ferry has cabins with a window."),
        ("How many cabins does the night ferry have?", "Cabins of the night ferry: see page 14."),
        ("How many cabins does the night ferry have?", "The night ferry took 300 lorries."),
        ("How many cabins were built?", "The cabins were built in 2016."),
        ("How many more cabins has the Alma than the Berta?", "The Alma has 40 cabins."),
        (
            "How many more cabins has the Alma than the Berta?",
            "More than 40 cabins are on the Alma.",
        ),
        ("How many cabins are there in total?", "The Alma has 40 cabins, the Berta 12 cabins."),
        ("Which ship has the most cabins?", "The Alma is a ship with 40 cabins."),
        ("Which is the largest ship of the line?", "The Alma is a ship of the line."),
        ("What did a ticket cost in 2019?", "In 2021 a ticket cost 14 euros."),
        ("What is taught in unit 3?", "Unit 4: knots and ropes are taught."),
        ("When did traffic exceed 900,000 tonnes?", "Traffic reached 500,000 tonnes in May."),
        ('What does "stand by to go about" mean?', "To go about is to turn through the wind."),
    ],
)
def test_what_says_something_else_is_no_answer(question: str, text: str) -> None:
    assert not may(question, text)


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Is there a shop on the night ferry?", "There is a shop on the night ferry."),
        ("Who wrote the harbour survey of Lindholm?", "Maren Vik wrote the harbour survey."),
        ("How many cabins does the night ferry have?", "Forty cabins are on the night ferry."),
        ("How many pages has the guide?", "A two-page guide lies in each cabin."),
        ("After how many warnings is a car towed?", "A car is towed after the third warning."),
        ("How many more cabins has the Alma than the Berta?", "The Alma has 28 more cabins."),
        ("How many cabins are there in total?", "All ships together have 52 cabins."),
        ("Which ship has the most cabins?", "With 40, the Alma has the most cabins."),
        ("Which is the largest ship of the line?", "The Alma is the biggest ship of the line."),
        ("What did a ticket cost in 2019?", "From 2017 to 2020 a ticket cost 14 euros."),
        ("What is taught in unit 3?", "Units 2 to 4: knots and ropes are taught."),
        ('What does "stand by to go about" mean?', "Stand by to go about: the helmsman will turn."),
        ("Who pays for a trip of 1,500 euros?", "The board pays for trips above 1,000 euros."),
        ("How long may I stay after 12 years?", "After ten years you may stay three months."),
        ("Was ist der Preis?", "Der Preis."),
    ],
)
def test_what_says_it_may_answer(question: str, text: str) -> None:
    assert may(question, text)


def test_a_line_whose_only_figures_are_the_questions_gives_no_value() -> None:
    def may_row(question: str, row: str) -> bool:
        source = Source(0, "Ferry notes", row)
        return met(Question.of(question), Candidate(source, Span(0, len(row)), 0, Line.ROW), row)

    assert not may_row("Did traffic rise in Q2 of the year?", "Q2 % change of traffic")
    assert may_row("Did traffic rise in Q2 of the year?", "Q2 traffic 4.5 % up")
    assert may_row("What is D-207?", "D-207 Rope work")


def test_the_year_of_the_title_is_the_year_of_its_sentences() -> None:
    question, text = "What does a ticket cost in 2024?", "Since 2021 a ticket costs 14 euros."
    assert may(question, text, title="Fares 2024")
    assert not may(question, text, title="Fares", around="Printed in 2024.")


def test_one_text_is_meant_and_several_are_there() -> None:
    sources = [Source(0, "Fares", "a"), Source(1, "Timetable", "b")]
    assert unknown_text(Question.of("Who wrote this report?"), sources)
    assert not unknown_text(Question.of("Who wrote this report?"), sources[:1])
    assert not unknown_text(Question.of("Who wrote the fares?"), sources)


TANKS = """Lamps of the tanks

The lamp of a tank shows how warm its water is.

- blue cold water, up to 8 degrees
- amber warm water, 8 to 20 degrees
- red hot water, above 20 degrees

Bottles

- a bottle of water is sold at 2 euros
"""


def test_of_a_list_the_item_that_is_asked_for(extractive: ExtractiveGenerator) -> None:
    result = extractive.extract(
        "What temperature does the blue lamp show for the water of a tank?",
        [Source(0, "Manual", TANKS, relevance=0.9)],
    )
    said = " ".join(sentence.text for sentence in result.sentences)
    assert "up to 8 degrees" in said
    assert "20" not in said


def test_of_a_list_no_item_if_none_is_asked_for(extractive: ExtractiveGenerator) -> None:
    result = extractive.extract(
        "What temperature does the green lamp show for the water of a tank?",
        [Source(0, "Manual", TANKS, relevance=0.9)],
    )
    assert not any("degrees" in sentence.text for sentence in result.sentences)


def test_a_measure_that_the_sentence_before_names_is_quoted_with_it(
    extractive: ExtractiveGenerator,
) -> None:
    text = (
        "Of those who sail alone, 81 percent carry a radio. Among those who sail in pairs, that share is 64 percent."
        " The harbour has a new crane. Lessons begin in May."
    )
    result = extractive.extract(
        "What is the share among those who sail in pairs?", [Source(0, "Survey", text)]
    )
    assert "carry a radio" in result.sentences[0].citations[0].quote


def test_a_running_foot_is_no_header() -> None:
    found = [line for line, _ in layout(["The fares rise.", "9 | Ferry notes", "FARES OF 2025"])]
    assert found[1] is Line.FURNITURE
    table = ["Part | Torque", "9 | bolts", "12 | nuts"]
    assert [line for line, _ in layout(table)] == [Line.HEADER, Line.ROW, Line.ROW]

"""[n] markers: which sentence cites what, and what is no marker."""

import pytest

from services.generator.answers import NO_SOURCE, Source
from services.generator.markers import MarkerReader
from services.generator.providers import Text

SOURCES = [
    Source(10, "a", "Cats sleep 14 hours a day. Dogs sleep less."),
    Source(11, "b", "Dogs sleep 12 hours a day."),
    Source(12, "c", "Birds sleep on one leg."),
]


def read(text: str, step: int = 0) -> list[tuple[str, list[int]]]:
    """Sentences with the indices they cite; the text arrives in pieces of `step` characters."""
    reader = MarkerReader(SOURCES)
    step = step or max(1, len(text))
    said = [
        one for at in range(0, len(text), step) for one in reader.read(Text(text[at : at + step]))
    ]
    said += reader.finish()
    return [(one.text, [citation.source_index for citation in one.citations]) for one in said]


CASES = {
    "before the stop": ("Cats sleep 14 hours [1].", [("Cats sleep 14 hours.", [10])]),
    "after the stop": (
        "Cats sleep 14 hours.[1] Dogs sleep 12 hours. [2] Birds too.",
        [("Cats sleep 14 hours.", [10]), ("Dogs sleep 12 hours.", [11]), ("Birds too.", [])],
    ),
    "two": ("Both sleep [1][2].", [("Both sleep.", [10, 11])]),
    "a list": ("Both sleep [1, 3].", [("Both sleep.", [10, 12])]),
    "a range": ("All sleep [1-3].", [("All sleep.", [10, 11, 12])]),
    "an en dash": ("All sleep [1–3].", [("All sleep.", [10, 11, 12])]),
    "wide brackets": (
        "Cats sleep【1】. Dogs sleep【2†source】.",
        [("Cats sleep.", [10]), ("Dogs sleep.", [11])],
    ),
    "a footnote": ("Cats sleep [^1].", [("Cats sleep.", [10])]),
    "twice the same": ("Cats [1] sleep [1].", [("Cats sleep.", [10])]),
    "no such source": ("Cats sleep [7].", [("Cats sleep.", [NO_SOURCE])]),
    "zero": ("Cats sleep [0].", [("Cats sleep.", [NO_SOURCE])]),
    "code": ("Use `list[1]` here [2].", [("Use `list[1]` here.", [11])]),
    "a fence": ("```\na[1] = b[2]\n```", [("```\na[1] = b[2]\n```", [])]),
    "a link": ("See [1](page) for cats [1].", [("See [1](page) for cats.", [10])]),
    "a year": ("The [2024] edition [1].", [("The [2024] edition.", [10])]),
    "a word": ("The [sic] edition [1].", [("The [sic] edition.", [10])]),
    "a table row": (
        "Cats | 14 hours [1]\nDogs | 12 hours [2]",
        [("Cats | 14 hours", [10]), ("Dogs | 12 hours", [11])],
    ),
    "inside a table row": ("Cats [1] | 14 hours", [("Cats [1] | 14 hours", [10])]),
    "nothing": ("", []),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("step", [0, 1, 3])
def test_reads_markers_however_the_text_arrives(name: str, step: int) -> None:
    text, expected = CASES[name]
    found = read(text, step)
    if name == "a fence":
        assert [one for _, indices in found for one in indices] == []
        assert "".join(text for text, _ in found).replace(" ", "") == text.replace(
            "\n", ""
        ).replace(" ", "")
    else:
        assert found == expected


def test_the_quote_is_the_part_of_the_source_that_supports_the_sentence() -> None:
    reader = MarkerReader(SOURCES)
    (sentence,) = [
        *reader.read(Text("A cat will sleep 14 hours of the day [1].")),
        *reader.finish(),
    ]
    (citation,) = sentence.citations
    assert citation.quote == "Cats sleep 14 hours a day."
    assert SOURCES[0].text[citation.start : citation.end] == citation.quote


def test_a_source_that_says_nothing_of_it_gives_an_empty_quote() -> None:
    reader = MarkerReader(SOURCES)
    (sentence,) = [*reader.read(Text("Whales migrate through polar oceans [3].")), *reader.finish()]
    assert sentence.citations[0].quote == ""

"""The splitter: every sentence a slice, every mark of the text either in a sentence or between two."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.generator.sentences import MAX_CHARS, split


def pieces(text: str) -> list[str]:
    return [text[span.start : span.end] for span in split(text)]


CASES = {
    "plain": ("One is here. Two is there!  Three?", ["One is here.", "Two is there!", "Three?"]),
    "abbreviations": (
        "Dr. Weber met Mr. J. Smith at 3 p.m. on Jan. 5. He left, e.g. by car.",
        ["Dr. Weber met Mr. J. Smith at 3 p.m. on Jan. 5.", "He left, e.g. by car."],
    ),
    "decimals": (
        "It costs 3.50 euros. Version 2.1.4 is out.",
        ["It costs 3.50 euros.", "Version 2.1.4 is out."],
    ),
    "no": (
        "See No. 5 for more. The answer is no. Ask again.",
        ["See No. 5 for more.", "The answer is no.", "Ask again."],
    ),
    "quotes": ('He said "stop." Then he left.', ['He said "stop."', "Then he left."]),
    "brackets": ("It failed (twice.) Nobody knew.", ["It failed (twice.)", "Nobody knew."]),
    "wrapped lines": (
        "The pump is delivered with a seal kit that\nmust be fitted before use. Then fill it.",
        ["The pump is delivered with a seal kit that\nmust be fitted before use.", "Then fill it."],
    ),
    "list": (
        "You need:\n- a wrench\n- two bolts (M8)\n1. Open the valve.\n2. Wait.",
        ["You need:", "- a wrench", "- two bolts (M8)", "1. Open the valve.", "2. Wait."],
    ),
    "heading": (
        "4.2 Parental leave\n\nStaff get 16 weeks.",
        ["4.2 Parental leave", "Staff get 16 weeks."],
    ),
    "table": (
        "Part | Torque\nMP-200 | 45 Nm\nMP-300 | 60 Nm",
        ["Part | Torque", "MP-200 | 45 Nm", "MP-300 | 60 Nm"],
    ),
    "columns": (
        "MP-200   45 Nm   steel\nMP-300   60 Nm   brass",
        ["MP-200   45 Nm   steel", "MP-300   60 Nm   brass"],
    ),
    "chinese": ("第一句。第二句！“第三句？”", ["第一句。", "第二句！", "“第三句？”"]),
    "arabic": ("ما هذا؟ هذا كتاب.", ["ما هذا؟", "هذا كتاب."]),
    "ellipsis": ("Wait... Now go.", ["Wait...", "Now go."]),
    "empty": (" \n\t ", []),
}


@pytest.mark.parametrize("name", CASES)
def test_splits(name: str) -> None:
    text, expected = CASES[name]
    assert pieces(text) == expected


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=400))
def test_loses_nothing_but_white_space_and_overlaps_nothing(text: str) -> None:
    spans = split(text)
    assert "".join("".join(pieces(text)).split()) == "".join(text.split())
    assert all(before.end <= after.start for before, after in pairwise(spans))
    assert all(text[span.start : span.end].strip() == text[span.start : span.end] for span in spans)


def test_a_text_without_full_stops_is_cut() -> None:
    spans = split("word " * 2000)
    assert max(span.end - span.start for span in spans) <= MAX_CHARS
    assert len(spans) >= 8

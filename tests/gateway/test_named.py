"""Which hits hold the code that a question asks for."""

import pytest

from services.gateway.named import MOST_HOLDERS, codes, named


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("What does PX-1033 cost?", "| PX-1033 | hex bolt | 3.10 |"),
        ("What does PX-1033 cost?", "PX 1033: hex bolt"),
        ("px1033", "the part PX-1033."),
        ("What was PO 99803 for?", "PO-99803 was placed for paint"),
        ("What was order 99803 for?", "PO-99803,paint,12"),
        ("What does fault E-47 mean?", "E-47 The pump is dry."),
        ("Where is XJ-4711-B?", "XJ-4711-B: shelf 9"),
        ("price of 4711-B", "4711-B;3.20"),
        ("What does PX-2019 cost?", "PX-2019, bolt, 3.10"),
        ("Who has policy QX/88213?", "Policy QX/88213 is held by"),
    ],
)
def test_a_code_is_found_however_it_is_joined(question: str, text: str) -> None:
    assert named(question, ["something else", text]) == [False, True]


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("What does PX-1033 cost?", "| PX-10331 | hex bolt | 3.10 |"),
        ("What does PX-1033 cost?", "| PX-1033-A | hex bolt | 3.10 |"),
        ("What does PX-1033 cost?", "| APX-1033 | hex bolt | 3.10 |"),
        ("What was order 99803 for?", "PO-998031 was placed"),
        ("What was order 99803 for?", "a sum of 1.99803 and 99803.5"),
        ("What was revenue in FY2021?", "revenue in FY2021"),
        ("What was revenue in 2021?", "revenue in 2021"),
        ("What happened in Q4 2022?", "in Q4 2022"),
        ("How did COVID-19 change sales?", "COVID-19 lowered sales"),
        ("What does the 10-K say?", "the 10-K says"),
        ("Is the 30-day limit met?", "the 30-day limit"),
        ("Who came 25th?", "25th: Ash"),
    ],
)
def test_what_names_nothing_moves_nothing(question: str, text: str) -> None:
    assert named(question, [text, "something else"]) == [False, False]


def test_a_code_that_stands_everywhere_is_no_name() -> None:
    everywhere = ["ISO-9001 is met"] * (MOST_HOLDERS + 1)
    assert not any(named("Is ISO-9001 met?", everywhere))


def test_of_several_codes_all_must_be_held() -> None:
    texts = ["PX-1033 and PX-1038", "PX-1033 alone", "neither"]
    assert named("PX-1033 or PX-1038?", texts) == [True, False, False]
    assert len(codes("PX-1033 px1033")) == 1

"""Headings to sections, and which of them are top level."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from services.retriever.documents import Section
from services.retriever.parsing.sections import Heading, build, top_level


def test_levels_nest_and_text_before_them_has_no_path() -> None:
    headings = [Heading(10, 1, "A"), Heading(20, 3, "a"), Heading(30, 2, "b"), Heading(40, 1, "B")]
    assert build(headings, 50) == (
        Section((), 0, 10),
        Section(("A",), 10, 20),
        Section(("A", "a"), 20, 30),
        Section(("A", "b"), 30, 40),
        Section(("B",), 40, 50),
    )


def test_a_heading_right_before_another_is_only_in_its_path() -> None:
    headings = [Heading(0, 1, "Part"), Heading(0, 2, "Chapter")]
    assert build(headings, 9) == (Section(("Part", "Chapter"), 0, 9),)


def test_nothing_is_no_section() -> None:
    assert build([Heading(0, 1, "A")], 0) == ()
    assert top_level(()) == [0]


@given(
    st.lists(st.builds(Heading, st.integers(0, 120), st.integers(1, 4), st.sampled_from("ABC"))),
    st.integers(1, 100),
)
def test_sections_cover_the_text_in_order(headings: list[Heading], length: int) -> None:
    sections = build(headings, length)
    assert sections[0].char_start == 0
    assert sections[-1].char_end == length
    for section, following in itertools.pairwise(sections):
        assert section.char_start < section.char_end == following.char_start
    starts = top_level(sections)
    assert starts[0] == 0
    assert starts == sorted(set(starts))
    assert set(starts) <= {section.char_start for section in sections}

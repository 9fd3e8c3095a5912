"""Codes, bigrams, accents and edits, by example."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.retriever.search import lexical
from services.retriever.search.fusion import fuse


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("written in C++ and C#.", ["c++", "c#"]),
        ("(.NET)", [".net"]),
        ("AT&T, O'Brien", ["at&t"]),
        ("call +(1)2345.", ["+(1)2345"]),
        ("at 10.1.2.3;", ["10.1.2.3"]),
        ("part XJ-4711-B?", ["xj-4711-b"]),
        ("foo_bar and U.S. law", ["foo_bar", "u.s"]),
        ("a long-term plan for 2024, and/or more", []),
    ],
)
def test_codes(text: str, found: list[str]) -> None:
    assert lexical.codes(text) == found


def test_an_unspaced_script_becomes_overlapping_pairs() -> None:
    assert lexical.bigrams("带薪年假 a 日") == ["带薪", "薪年", "年假", "日"]


@pytest.mark.parametrize(
    ("left", "right", "edits"),
    [
        ("einstien", "einstein", 1),
        ("abc", "abc", 0),
        ("kitten", "sitting", 3),
        ("", "ab", 2),
        ("ca", "abc", 3),
    ],
)
def test_distance(left: str, right: str, edits: int) -> None:
    assert lexical.distance(left, right, 5) == edits


def test_the_closest_word_is_the_one_with_fewest_edits_then_most_documents() -> None:
    assert lexical.closest("einstien", [("einstein", 1), ("epstien", 9)]) == ["einstein"]
    assert lexical.closest("cart", [("card", 1), ("care", 5), ("carton", 9)]) == ["care", "card"]
    assert lexical.closest("cat", [("car", 9)]) == []


def test_a_query_is_bounded() -> None:
    assert len(lexical.query_terms("word " * 100_000)) < 100
    many = lexical.query_terms(" ".join(f"w{n}-1" for n in range(100_000)))
    assert len(many.split()) <= 3 * lexical.MAX_QUERY_WORDS
    # PostgreSQL's parser takes one token of these for a hundred thousand words.
    one = ",".join(f"w{n}" for n in range(100_000))
    assert len(lexical.query_terms(one)) < 2 * lexical.MAX_QUERY_CHARS


@given(st.text())
def test_any_text_has_terms(text: str) -> None:
    lexical.index_terms(text)
    lexical.words(text)
    lexical.query_terms(text)


def test_reciprocal_rank_fusion_by_hand() -> None:
    # 7 is first and second: 1/61 + 1/62; 9 is second and third; 3 only first.
    fused = fuse([[7, 9], [3, 7, 9]])
    assert [chunk for chunk, _ in fused] == [7, 9, 3]
    assert [score for _, score in fused] == pytest.approx(
        [1 / 61 + 1 / 62, 1 / 62 + 1 / 63, 1 / 61]
    )


def test_equal_scores_go_by_id_and_a_repeated_id_counts_once() -> None:
    assert [item for item, _ in fuse([[5], [4]])] == [4, 5]
    assert fuse([[5, 5, 5]]) == [(5, 1 / 61)]
    assert fuse([]) == []


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("58213", "Order PO-58213 was delivered"),
        ("PO 58213", "Order PO-58213 was delivered"),
        ("EN13480", "tested to EN-13480-3"),
        ("13480", "tested to EN-13480-3"),
        ("1734900", "it cost 1,734,900 euros"),
        ("compassionate", "a sick/compassionate leave form"),
        ("lanternfish.conf", "kept in /opt/gauges/lanternfish.conf on"),
        ("waterworks.example", "to brigid.oakes@waterworks.example before"),
        ("reader", "run file_reader_v2.py at night"),
        ("file_reader_v2", "run file_reader_v2.py at night"),
        ("node-17", "the server node-17.rack4.example failed"),
        ("rack4", "the server node-17.rack4.example failed"),
        ("limit", "set max_limit to nine"),
        ("12a", "as §12a says"),
    ],
)
def test_what_strokes_and_codes_join_is_found_apart(query: str, text: str) -> None:
    asked = set(lexical.query_terms(query).split()) - {"PO"}
    assert asked & set(lexical.index_terms(text).split())


def test_a_year_asks_for_no_code() -> None:
    assert lexical.code_query("sales in 2021") == ""
    assert lexical.code_query("order 99803") != ""

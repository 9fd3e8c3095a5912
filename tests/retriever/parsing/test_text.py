"""The cleaning function: what goes, what stays, and where every character came from."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.retriever.parsing.text import LINE_HYPHEN, clean, clean_line, position


@pytest.mark.parametrize(
    ("raw", "cleaned"),
    [
        ("a\x00b", "ab"),
        ("page\x0cbreak", "page\nbreak"),
        ("\ud835\udc5e and \ud800 alone", "\U0001d45e and alone"),
        ("\udc00\ud835", ""),
        ("Politik-\nwissenschaft", "Politikwissenschaft"),
        ("Politik\xad\nwissenschaft", "Politikwissenschaft"),
        ("Po\xadli\xadtik", "Politik"),
        ("a \xad \x00 b", "a b"),
        (f"Politik{LINE_HYPHEN}wissenschaft", "Politikwissenschaft"),
        ("Anglo-\nSaxon, pre-\n1990", "Anglo-Saxon, pre-\n1990"),
        (f"pre{LINE_HYPHEN}1990", "pre-1990"),
        ("a list:\n- one\n- two", "a list:\n- one\n- two"),
        ("o\ufb03ce \ufb01ve", "office five"),
        ("\ufeae\ufee3\ufea3", "رمح"),
        ("ＦＵＬＬ　ｗｉｄｔｈ", "ＦＵＬＬ ｗｉｄｔｈ"),
        ("東京都\nは", "東京都\nは"),
        ("שלום עולם", "שלום עולם"),
        ("e\u0301te\u0301", "été"),
        ("\u1112\u1161\u11ab\u1100\u116e\u11a8", "한국"),
        ("x² ½ Ⅳ №", "x² ½ Ⅳ №"),
        ("a\xa0 \t b", "a b"),
        ("1 Scope . . . . . . . 12\n2 Terms.......13", "1 Scope ... 12\n2 Terms...13"),
        ("Name: ________ and so on...", "Name: ___ and so on..."),
        ("one\r\ntwo\r\n\r\nthree\n\n\n\nfour", "one\ntwo\n\nthree\n\nfour"),
        ("  \n text \n ", "text"),
        ("abc\u202edef\u202c\u200b\ufeffg", "abcdefg"),
        ("safe\U000e0069\U000e0067\U000e006e", "safe"),
        ("می\u200cخواهم", "می\u200cخواهم"),
        ("👩\u200d🚀", "👩\u200d🚀"),
    ],
)
def test_cleaning(raw: str, cleaned: str) -> None:
    assert clean(raw).text == cleaned


def test_what_could_not_be_kept_is_counted() -> None:
    assert clean("a\x00\x01b\ud800").dropped == 3


def test_a_slice_maps_back_to_its_raw_characters() -> None:
    raw = "The \x00o\ufb03ce\r\n of Poli-\ntik"
    cleaned = clean(raw)
    assert cleaned.text == "The office\nof Politik"
    start = cleaned.text.index("office")
    assert [raw[source] for source in cleaned.sources[start : start + 6]] == list(
        "o\ufb03\ufb03\ufb03ce"
    )
    assert position(cleaned.sources, raw.index("tik")) == cleaned.text.index("tik")


def test_a_run_of_marks_costs_no_more_than_its_length() -> None:
    assert len(clean("a" + "\u0301\u0323" * 200_000).text) > 1000


def test_a_line_has_no_line_ends_and_a_bound() -> None:
    assert clean_line(" Ann\nual \x00 re-\nport\n\n2024 ") == "Ann ual report 2024"
    assert len(clean_line("x" * 10**7)) == 500


HOSTILE = st.text(
    st.one_of(
        st.characters(codec=None),
        st.sampled_from(
            "\x00\x02\x0c\r\n \t\xad-\u2010\ufb03\ud835\udc5e\u0301\u1161\u202e\ufdd0\u200b\xa0aA"
        ),
    ),
    max_size=200,
)


@given(HOSTILE)
def test_clean_text_can_be_stored_and_sent(raw: str) -> None:
    cleaned = clean(raw)
    text = cleaned.text
    text.encode("utf-8")
    assert not any(unicodedata.category(char) in ("Cc", "Cs") for char in text if char != "\n")
    assert "  " not in text
    assert "\n\n\n" not in text
    assert text == text.strip(" \n")
    assert len(cleaned.sources) == len(text)
    assert list(cleaned.sources) == sorted(cleaned.sources)
    assert all(source < len(raw) for source in cleaned.sources)


@given(st.text(st.sampled_from("abc XY\u00e9"), max_size=100))
def test_ordinary_text_stays_as_it_is(raw: str) -> None:
    words = " ".join(raw.split())
    assert clean(words).text == words

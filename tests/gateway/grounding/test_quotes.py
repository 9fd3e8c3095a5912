"""A quote is verbatim, or it is not a quote."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.gateway.grounding.quotes import SourceText, Span, find
from services.gateway.grounding.text import neutralise, normalise

TEXT = "In 2016, the office moved.\nLeave is 16 weeks, un-\nless agreed; a well-\nknown rule. It costs $1,000.50 now."


@pytest.mark.parametrize(
    ("quote", "found"),
    [
        ("Leave is 16 weeks", "Leave is 16 weeks"),
        ("moved. Leave is", "moved.\nLeave is"),
        ("  Leave\tis \n 16   weeks ", "Leave is 16 weeks"),
        ("weeks, unless agreed", "weeks, un-\nless agreed"),
        ("weeks, un-\nless agreed", "weeks, un-\nless agreed"),
        ("a well-known rule", "a well-\nknown rule"),
        ("16", "16"),
        ("$1,000.50", "$1,000.50"),
        ("un\u00adless agreed", "un-\nless agreed"),
        ("Leave\u200b is 16 weeks", "Leave is 16 weeks"),
        ("Leave\u200e is\u2069 1\U000e01006\ufe0f weeks", "Leave is 16 weeks"),
    ],
)
def test_a_verbatim_quote_is_found_where_it_stands(quote: str, found: str) -> None:
    span = find(quote, SourceText(TEXT))
    assert span is not None
    assert TEXT[span.start : span.end] == found


@pytest.mark.parametrize(
    "quote",
    [
        "",
        " ",
        "\u200b\u00ad\ufeff",
        "...",
        "leave is 16 weeks",
        "Leave is 17 weeks",
        "eave is 16 weeks",
        "Leave is 16 week",
        "Leave is 1",
        "000.50",
        "1,000",
        "x" * 30_000,
        "Leave is ... agreed",
    ],
)
def test_anything_else_is_not(quote: str) -> None:
    assert find(quote, SourceText(TEXT)) is None


def test_sixteen_is_not_in_two_thousand_and_sixteen() -> None:
    assert find("16", SourceText("In 2016 it moved.")) is None


def test_of_several_places_the_one_that_was_meant() -> None:
    text = "It is safe. It is not. It is safe."
    assert find("It is safe.", SourceText(text)) == Span(0, 11)
    assert find("It is safe.", SourceText(text), hint=20) == Span(23, 34)
    assert find("It is safe.", SourceText(text), hint=10**9) == Span(23, 34)


def test_ligatures_are_spelt_out() -> None:
    text = "The o\ufb03ce \ufb01le is here."
    span = find("office file", SourceText(text))
    assert span is not None
    assert text[span.start : span.end] == "o\ufb03ce \ufb01le"


def test_scripts_without_spaces_have_no_word_borders() -> None:
    assert find("休暇は有給", SourceText("育児休暇は有給です。")) == Span(2, 7)
    assert find("ខ្ញុំ", SourceText("នេះខ្ញុំទៅ")) == Span(3, 8)
    assert find("人々の", SourceText("町の人々の声")) == Span(2, 5)


def test_scripts_with_spaces_have_them_behind_han_too() -> None:
    """Latin letters of the block after Yi, which African languages use."""
    assert find("\ua78c\u0254", SourceText("w\ua78c\u0254n")) is None


def test_joiners_and_variants_make_no_other_quote() -> None:
    text = "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 \u2764\ufe0f here"
    span = find("\u0645\u06cc\u062e\u0648\u0627\u0647\u0645 \u2764 here", SourceText(text))
    assert span == Span(0, len(text))


def test_a_quote_of_right_to_left_text_is_found() -> None:
    text = "הכותרת: חופשה של 16 שבועות."
    assert find("חופשה של 16 שבועות", SourceText(text)) == Span(8, 26)


@given(st.text(max_size=200), st.integers(0, 200), st.integers(0, 200))
def test_every_found_span_is_the_quote(text: str, start: int, end: int) -> None:
    quote = text[start:end]
    span = find(quote, SourceText(text), start)
    if span is not None:
        found = text[span.start : span.end]
        assert normalise(found).text == normalise(quote).text or (
            normalise(found, join_hyphens=False).text == normalise(quote, join_hyphens=False).text
        )


@given(st.text(max_size=300))
def test_places_lead_back_to_the_original(text: str) -> None:
    normalised = normalise(text)
    assert len(normalised.places) == len(normalised.text)
    assert list(normalised.places) == sorted(normalised.places)


@pytest.mark.parametrize(
    ("shown", "safe"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]8;;http://evil\x07link\x1b]8;;\x07", "link"),
        ("\x1b]0;title\x1b\\text", "text"),
        ("a\x00b\x07c\x9b1md", "abcd"),
        ("a\u202eb\u2066c", "abc"),
        ("a\x1b\u200b[31mb", "ab"),
        ("of\u00adfice \u061cplan\U000e0069\U000e0067", "office plan"),
        (
            "\u0645\u06cc\u200c\u062e \U0001f469\u200d\U0001f680 \u2764\ufe0f",
            "\u0645\u06cc\u200c\u062e \U0001f469\u200d\U0001f680 \u2764\ufe0f",
        ),
        ("keeps\ttabs\nand lines", "keeps\ttabs\nand lines"),
        ("<b>text & 'more' \U0001f600</b>", "<b>text & 'more' \U0001f600</b>"),
    ],
)
def test_what_is_shown_is_plain_text(shown: str, safe: str) -> None:
    assert neutralise(shown) == safe

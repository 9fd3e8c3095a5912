"""Hyphens at line ends: the document's words decide, then a word list."""

import pytest

from services.retriever.parsing import markdown, plain
from services.retriever.parsing.hyphens import Hyphens
from services.retriever.parsing.parser import Parser
from services.retriever.parsing.text import LINE_HYPHEN

ENGLISH = "The work of the council is done in the house and that is as it was for the people. "
GERMAN = "Die Arbeit der Gemeinde ist nicht das, was der Rat mit den Leuten auf dem Markt will. "
FRENCH = "Le travail de la ville est fait par les gens qui sont dans la maison et que le maire. "
ITALIAN = "Il lavoro di una persona che non è nella casa della nonna con le altre per il pane. "


def decided(words: str, around: str = ENGLISH, following: str = "") -> str:
    text = around + words.replace("~", LINE_HYPHEN)
    found = Hyphens([text]).decided(text, following)
    return found.replace(LINE_HYPHEN, "").removeprefix(around)


@pytest.mark.parametrize(
    ("broken", "whole"),
    [
        ("part~time", "part-time"),
        ("long~serving", "long-serving"),
        ("well~known", "well-known"),
        ("short~term", "short-term"),
        ("decision~making", "decision-making"),
        ("depart~ment", "department"),
        ("infor~mation", "information"),
        ("tokeniz~ing", "tokenizing"),
        ("reinvest~ment", "reinvestment"),
        ("state-of-the~art", "state-of-the-art"),
        ("long-serv~ing", "long-serving"),
        ("Anglo~Saxon", "Anglo-Saxon"),
        ("pre~1990", "pre-1990"),
        ("Kuber~netes", "Kubernetes"),
    ],
)
def test_english(broken: str, whole: str) -> None:
    assert decided(broken) == whole


@pytest.mark.parametrize(
    ("around", "broken", "whole"),
    [
        (GERMAN, "Politik~wissenschaft", "Politikwissenschaft"),
        (GERMAN, "Donaudampf~schifffahrt", "Donaudampfschifffahrt"),
        (GERMAN, "Baden~Württemberg", "Baden-Württemberg"),
        (FRENCH, "gouverne~ment", "gouvernement"),
        (FRENCH, "aide~mémoire", "aide-mémoire"),
        (ITALIAN, "amministra~zione", "amministrazione"),
    ],
)
def test_other_languages(around: str, broken: str, whole: str) -> None:
    assert decided(broken, around) == whole


@pytest.mark.parametrize("parse", [plain.parse, markdown.parse])
def test_a_hyphen_for_the_rest_of_a_word_is_not_joined(parse: Parser) -> None:
    found = parse(
        "Die Haupt-\nund Nebenwege, die Süd-\noder Nordtür, long-\nand short-term.".encode()
    )
    assert "Haupt-\nund" in found.text
    assert "Süd-\noder" in found.text
    assert "long-\nand" in found.text


def test_the_document_has_the_first_word() -> None:
    assert decided("part~time", f"{ENGLISH}A parttime job. ") == "parttime"
    assert decided("depart~ment", f"{ENGLISH}The depart-ment. ") == "depart-ment"
    assert decided("Zwischen~raum", f"{GERMAN}Ein Zwischen-raum. ") == "Zwischen-raum"


def test_halves_of_broken_words_are_no_words_of_the_document() -> None:
    assert decided("frob~nicate and frob~nicate") == "frobnicate and frobnicate"


def test_what_follows_on_the_next_page_decides_too() -> None:
    assert decided("depart~", following="ment of works") == "depart"
    assert decided("part~", following="time workers") == "part-"
    assert decided("part~", following="") == "part-"


@pytest.mark.parametrize("parse", [plain.parse, markdown.parse])
def test_hard_wrapped_text_files(parse: Parser) -> None:
    words = f"{ENGLISH}All part-\ntime workers of the depart-\nment are long-\nserving.\n"
    found = parse(words.encode()).text
    assert "All part-time workers of the department are long-serving." in found

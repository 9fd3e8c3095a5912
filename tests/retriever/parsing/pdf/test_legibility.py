"""Cipher text, control characters and rows of signs are no text; codes, figures and many languages are."""

import json
import os
import random
import string
from pathlib import Path

import pytest

from services.retriever.parsing.pdf import pages
from services.retriever.parsing.pdf.legibility import is_legible
from tests.retriever.parsing.pdfs import make, text

ENGLISH = (
    "The smokehouse is open from May until the first frost. Fish that was caught in the morning is hung before noon"
    " and taken down the day after, when the wood of the alder has burned away and the door may be opened again."
)
GERMAN = (
    "Die Räucherei ist von Mai bis zum ersten Frost offen. Was am Morgen gefangen wurde, hängt vor dem Mittag und"
    " wird am Tag danach abgenommen, sobald das Holz der Erle verbrannt ist und die Tür wieder aufgehen darf."
)
RUSSIAN = (
    "Коптильня открыта с мая до первых заморозков. Рыбу, пойманную утром, вешают до полудня и снимают на следующий"
    " день, когда ольховые дрова прогорели и дверь можно открыть снова."
)
POLISH = (
    "Wędzarnia jest otwarta od maja do pierwszych przymrozków. Ryby złowione rano wiesza się przed południem i zdejmuje"
    " następnego dnia, gdy drewno olchowe się wypali i można znów otworzyć drzwi."
)
TURKISH = (
    "Tütsühane mayıstan ilk dona kadar açıktır. Sabah tutulan balıklar öğleden önce asılır ve ertesi gün, kızılağaç"
    " odunu yanıp bittiğinde ve kapı yeniden açılabildiğinde indirilir."
)
GREEK = "Το καπνιστήριο είναι ανοιχτό από τον Μάιο έως τον πρώτο παγετό και κλείνει τον χειμώνα."
CODE = (
    "for item in items:\n    if item.width > limit:\n        total += item.price * count[item.name]\n"
    * 3
)
LEADERS = "\n".join(f"Chapter {at} {'.' * 200} {at}" for at in range(1, 20))
CODES = "\n".join(f"PX-{1000 + at} BRT {at * 37 % 991} QZ{at}W XKCD JFH" for at in range(60))


def shifted(words: str, by: int) -> str:
    """Every printable character as the one `by` places on, as a font with a shifted encoding gives it."""
    return "".join(chr(33 + (ord(c) - 33 + by) % 94) if "!" <= c <= "~" else c for c in words)


def permuted(words: str, seed: int) -> str:
    letters = list(string.ascii_lowercase)
    random.Random(seed).shuffle(letters)
    return words.lower().translate(str.maketrans(string.ascii_lowercase, "".join(letters)))


@pytest.mark.parametrize(
    "words",
    [
        ENGLISH,
        GERMAN,
        RUSSIAN,
        POLISH,
        TURKISH,
        GREEK,
        CODE,
        CODES,
        LEADERS,
        "7",
        "12.50 13.75 --",
        "",
    ],
    ids=["en", "de", "ru", "pl", "tr", "el", "code", "codes", "leaders", "7", "figures", "nothing"],
)
def test_what_people_write_is_legible(words: str) -> None:
    assert is_legible(words, words)


@pytest.mark.parametrize("by", [1, 3, 13, 29, 47, 85])
@pytest.mark.parametrize("words", [ENGLISH, GERMAN])
def test_a_shifted_font_is_not(words: str, by: int) -> None:
    assert not is_legible(shifted(words, by), shifted(words, by))


def test_nor_are_permuted_letters() -> None:
    found = sum(is_legible(permuted(ENGLISH, seed), permuted(ENGLISH, seed)) for seed in range(40))
    assert found <= 2


@pytest.mark.parametrize(
    "words",
    [
        "%\n\n&\n\n%",
        "-\n-\n--\n-",
        "\x01\x02\x03\x04\x05\x06\x07\x08\x0e\x0f\x10 ab",
        "\ue001\ue002" * 8,
    ],
    ids=["signs", "dashes", "controls", "private"],
)
def test_nor_are_signs(words: str) -> None:
    assert not is_legible(words, words)


def test_nor_are_ideographs_at_random() -> None:
    drawn = random.Random(1)
    words = "".join(chr(drawn.randrange(0x4E00, 0x9FA5)) for _ in range(200))
    assert not is_legible(words, words)


def test_such_a_page_counts_as_unread() -> None:
    lines = [ENGLISH[at : at + 70] for at in range(0, len(ENGLISH), 70)]
    page = b"".join(text(shifted(line, 3), y=700 - 14 * at) for at, line in enumerate(lines))
    document = pages.parse(make([page, text("A page that can be read.")]))
    assert [each.text for each in document.pages] == ["", "A page that can be read."]
    assert document.empty_pages == (0,)
    assert any("legible" in warning and "pages 1" in warning for warning in document.warnings)


@pytest.mark.data
@pytest.mark.parametrize("language", ["en", "zh", "ar"])
def test_paragraphs_of_other_scripts(language: str) -> None:
    root = Path(__file__).resolve().parents[4]
    data = Path(os.environ.get("FOLIO_DATA") or root.parent / "shared" / "data") / "xquad"
    found = [path for path in data.rglob(f"*{language}*.json")] if data.exists() else []
    if not found:
        pytest.skip(f"no xquad at {data}; set FOLIO_DATA to the public data's folder")
    articles = json.loads(found[0].read_text())["data"]
    texts = [part["context"] for article in articles for part in article["paragraphs"]]
    assert len(texts) > 100
    assert [words for words in texts if not is_legible(words, words)] == []

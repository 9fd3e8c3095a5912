"""Cipher text, control characters and rows of signs are no text; codes, figures and many languages are."""

import json
import os
import random
import string
from pathlib import Path

import pytest

from services.retriever.parsing.pdf import pages
from services.retriever.parsing.pdf.legibility import is_legible
from tests.retriever.parsing.pdfs import make, stream, text

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


def mapped(letters: str, to: str, base: str = "Helvetica-Bold") -> dict[int, bytes]:
    """F2 as a font whose map to Unicode says `to` for `letters`."""
    lines = "".join(f"<{ord(a):02x}> <{ord(b):04x}>\n" for a, b in zip(letters, to, strict=True))
    cmap = (
        "/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /X def /CMapType 2 def"
        " 1 begincodespacerange <00> <ff> endcodespacerange"
        f" {len(letters)} beginbfchar\n{lines}endbfchar endcmap end end"
    )
    font = f"<< /Type /Font /Subtype /Type1 /BaseFont /{base} /Encoding /WinAnsiEncoding /ToUnicode 1001 0 R >>"
    return {4: font.encode(), 1001: stream(cmap.encode())}


def turned(seed: int) -> str:
    """The letters, each one another."""
    if seed == 0:
        return string.ascii_letters.translate(str.maketrans(string.ascii_letters, ROT13))
    small, large = list(string.ascii_lowercase), list(string.ascii_uppercase)
    random.Random(seed).shuffle(small)
    random.Random(seed).shuffle(large)
    return "".join(small + large)


ROT13 = "nopqrstuvwxyzabcdefghijklmNOPQRSTUVWXYZABCDEFGHIJKLM"
SHORT = "Salmon hangs in the smoke for nineteen hours"


@pytest.mark.parametrize("base", ["Helvetica", "Times-Roman", "Times-Italic", "Helvetica-Bold"])
@pytest.mark.parametrize(
    "words",
    [
        SHORT,
        "Lachs h\u00e4ngt f\u00fcr neunzehn Stunden im Rauch",
        "Le saumon reste dix-neuf heures dans la fum\u00e9e",
        "Lohi roikkuu savussa yhdeks\u00e4ntoista tuntia",
        "Invoice QX-88213, Fennel Quay, Mr J. Illingworth",
    ],
)
def test_one_line_of_a_font_with_a_wrong_map_is_unread(base: str, words: str) -> None:
    line = text(words, font="F2")
    assert pages.parse(make([line], extra=mapped("a", "a", base))).text.startswith(words[:5])
    missed = 0
    for seed in range(12):
        document = pages.parse(make([line], extra=mapped(string.ascii_letters, turned(seed), base)))
        assert (document.text == "") is (document.empty_pages == (0,))
        missed += document.text != ""
        assert seed or not document.text
    assert missed <= 4


def test_of_two_fonts_the_wrong_one_is_left_out() -> None:
    lines = [ENGLISH[at : at + 70] for at in range(0, len(ENGLISH), 70)]
    page = b"".join(text(line, y=700 - 14 * at) for at, line in enumerate(lines))
    page += text(SHORT + " 4711", y=500, font="F2")
    document = pages.parse(make([page], extra=mapped(string.ascii_letters, ROT13)))
    assert document.text.replace("\n", " ") == " ".join(line.strip() for line in lines)
    assert any("does not say which letters" in warning for warning in document.warnings)
    assert document.empty_pages == ()


@pytest.mark.parametrize("font", ["F1", "F2"])
@pytest.mark.parametrize(
    "words",
    [
        "PX-1033 XKCD QZW JFH BRT 8821 MMWQ IILJ",
        "Illicit jilting; fill, till, lift it",
        "WWW MAMMOTH WOMBAT GAMMA MAXIM WIGWAM VOWEL",
        "Xylofon, kvas, cwm, jynx, vozhd, qoph, zax",
        "Tr\u1ea7n Th\u1ecb Minh Nguy\u1ec7t, Ph\u1ea1m Xu\u00e2n Qu\u1ef3nh",
    ],
)
def test_real_words_of_any_kind_have_their_widths(words: str, font: str) -> None:
    words = words.encode("latin-1", "ignore").decode("latin-1")
    assert pages.parse(make([text(words, font=font)])).text == words


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

"""Text encodings: told by their letters, named by the sender, or refused; never letters of another alphabet."""

import contextlib

import pytest

from services.retriever.parsing import html, markdown, media, plain
from services.retriever.parsing.encodings import decode
from services.retriever.parsing.parser import Hints
from services.rpc.errors import InvalidArgument

RU = "Срок хранения карт составляет девяносто дней. Потерянная карта заменяется бесплатно один раз в год."
UK = "Бібліотека відкрита з дев'ятої ранку. Їжа та напої в читальних залах заборонені цілий рік."
EL = "Η βιβλιοθήκη είναι ανοιχτή από τις εννέα το πρωί. Την Κυριακή οι αίθουσες είναι κλειστές."
JA = "図書館は午前九時から午後六時まで開いています。本は二十八日間借りることができます。"
KO = "도서관은 오전 아홉 시부터 오후 여섯 시까지 문을 엽니다. 책은 이십팔 일 동안 빌릴 수 있습니다."
ZH = "图书馆从上午九点开放到下午六点。图书可以借阅二十八天，星期日和节假日不开放。"
ZHT = "圖書館從上午九點開放到下午六點。圖書可以借閱二十八天，星期日和節假日不開放。"
DE = "Die Bücherei ist von neun Uhr früh bis sechs Uhr abends geöffnet. Die Größe des Krans: fünf Meter."
FR = "La bibliothèque est ouverte de neuf heures à six heures. Les salles sont fermées les jours fériés."
PL = (
    "Czytelnicy, którzy ukończyli sześćdziesiąt pięć lat, nie płacą za upomnienia. W niedzielę i święta"
    " sale są zamknięte, a zgubioną kartę wymienia się bezpłatnie. Książki oddaje się w ciągu miesiąca."
)
AR = "المكتبة مفتوحة من التاسعة صباحا حتى السادسة مساء. تعار الكتب لمدة ثمانية وعشرين يوما فقط."
EN = "The café’s “Round Room” is open from nine to six – a reminder costs £2.50, or €3 on Sundays."

LEGACY = [
    (RU, "cp1251"), (RU, "koi8-r"), (RU, "iso8859-5"), (RU, "cp866"), (UK, "koi8-u"), (UK, "cp1251"),
    (EL, "iso8859-7"), (EL, "cp1253"), (JA, "cp932"), (JA, "euc-jp"), (JA, "iso2022-jp"), (KO, "cp949"),
    (ZH, "gbk"), (ZH, "gb18030"), (ZHT, "big5"), (DE, "cp1252"), (DE, "iso8859-1"), (FR, "cp1252"),
    (FR, "iso8859-15"), (PL, "cp1250"), (PL, "iso8859-2"), (AR, "cp1256"), (EN, "cp1252"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "encoding"), LEGACY)
def test_an_older_encoding_is_told_by_its_letters(text: str, encoding: str) -> None:
    found, warnings = decode(text.encode(encoding))
    assert found == text
    assert warnings or encoding == "iso2022-jp"


@pytest.mark.parametrize("text", [RU, UK, EL, JA, KO, ZH, DE, AR, EN])
@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be", "utf-16"])
def test_unicode_without_a_mark_and_with_one(text: str, encoding: str) -> None:
    assert decode(text.encode(encoding)) == (text, ())
    assert media.media_type(text.encode(encoding), "a.txt") == "text/plain"


def encodable() -> list[tuple[str, str]]:
    encodings = (
        *("cp1251", "koi8-r", "cp932", "euc-jp", "cp949", "gb18030", "big5"),
        *("cp1250", "cp1252", "mac-roman", "cp850"),
    )
    found = []
    for text in (RU, UK, EL, JA, KO, ZH, ZHT, DE, FR, PL, AR, EN):
        for encoding in encodings:
            with contextlib.suppress(UnicodeError):
                text.encode(encoding)
                found.append((text, encoding))
    return found


@pytest.mark.parametrize(("text", "encoding"), encodable())
def test_what_is_read_is_right_or_refused(text: str, encoding: str) -> None:
    for chars in (15, 40, 90, 400):
        found = ""
        with contextlib.suppress(InvalidArgument):
            found, _ = decode(text[:chars].encode(encoding))
        assert found in ("", text[:chars])


def test_the_sender_names_the_encoding() -> None:
    data = "Срок: сорок дней".encode("koi8-r")
    assert media.charset('text/plain; charset="koi8-r"') == "koi8-r"
    hints = Hints(charset="koi8-r")
    for parse in (plain.parse, markdown.parse, html.parse):
        document = parse(data, hints)
        assert (document.text, document.warnings) == ("Срок: сорок дней", ())


@pytest.mark.parametrize("name", ["klingon", "rot13", "base64"])
def test_a_name_that_is_no_encoding_is_refused(name: str) -> None:
    with pytest.raises(InvalidArgument, match="no text encoding"):
        plain.parse(b"words", Hints(charset=name))


@pytest.mark.parametrize(
    ("said", "encoding"),
    [
        ("iso-8859-1", "utf-8"),
        ("iso-8859-1", "cp1252"),
        ("us-ascii", "cp1252"),
        ("utf-8", "cp1252"),
    ],
)
def test_a_page_may_be_wrong_about_itself(said: str, encoding: str) -> None:
    page = f'<meta charset="{said}"><p>{EN}</p>'
    assert html.parse(page.encode(encoding)).text == EN


def test_a_bad_byte_costs_that_byte() -> None:
    data = "Größe des Krans: fünf Meter. ".encode() * 3 + b"\xfc " + "Ende über.".encode()
    document = plain.parse(data)
    assert document.text.count("Größe") == 3
    assert document.text.count("\ufffd") == 1
    assert document.warnings


def test_a_stray_byte_in_ascii_costs_that_byte() -> None:
    document = plain.parse(b"All rooms are open from nine to six. " * 40 + b"\xd6 end")
    assert "\ufffd end" in document.text or "Ö end" in document.text
    assert document.warnings


def test_random_bytes_are_not_read_as_text() -> None:
    with pytest.raises(InvalidArgument):
        plain.parse(bytes(range(128, 256)) * 3)


@pytest.mark.parametrize(
    "data", ["Größe: zwölf. ".encode() + b"\xe9 Ende", "Größe und Öffnung: 8 €".encode()[:-1]]
)
def test_a_bad_byte_in_a_short_text_costs_that_byte(data: bytes) -> None:
    document = plain.parse(data)
    assert document.text.startswith("Größe")
    assert document.text.count("\ufffd") == 1
    assert document.warnings

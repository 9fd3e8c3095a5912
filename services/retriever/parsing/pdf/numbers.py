"""Words of a page's edge that may return, and the numbers in them that may count the pages."""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field

_NUMBER = re.compile(r"(?<![\w.,/:-])\d{1,4}(?=/\d{1,4}(?![\w/])|(?![\w/:]|[.,-]\d))")
# "3-12" or "A.7", alone on its line: a page is numbered within its chapter.
_IN_CHAPTER = re.compile(r"(?<!\S)((?:[a-z]|\d{1,2}|[ivx]{1,5})[-\u2013.])(\d{1,3})(?!\S)")
# What bears a number of its own: it counts with the pages where each has one of them.
_NUMBERED = re.compile(
    r"\b(?:invoice|receipt|order|account|customer|claim|policy|contract|case|lot|item|part|chapter|section|article|clause|"
    r"appendix|annex|schedule|exhibit|attachment|form|table|figure|map|plan|unit|lesson|exercise|question|problem|task|step|"
    r"week|day|month|year|class|group|team|room|apartment|flat|house|berth|building|floor|zone|area|tariff|version|volume|"
    r"issue|series|line|route|station|rechnung|beleg|auftrag|konto|kunde|los|teil|kapitel|abschnitt|artikel|anlage|anhang|"
    r"formular|tabelle|abbildung|einheit|lektion|\u00fcbung|frage|aufgabe|schritt|woche|tag|monat|jahr|klasse|gruppe|raum|zimmer|"
    r"wohnung|haus|linie|facture|commande|compte|client|chapitre|article|annexe|formulaire|tableau|exercice|question|semaine|"
    r"jour|mois|salle|chambre|appartement|factura|pedido|cuenta|cap\u00edtulo|anexo|tabla|ejercicio|semana|d\u00eda|sala|fattura|"
    r"capitolo|allegato|tabella|settimana|giorno|hoofdstuk|bijlage|factuur|week|dag)"
    r"(?:\s+(?:[a-z]|no|nr|num|number|nummer|n[\u00b0\u00bao]))?[\s.:#\u2013-]*$"
)
# Pages that are cited by a name of their own, where it is said how many there are: "Sheet 3 of 7".
_SHEETS = re.compile(
    r"\W*(?:sheets?|leaf|folio|slide|blatt|folie|bogen|feuille|feuillet|planche|hoja|lámina|foglio|tavola|folha|blad|arkusz|"
    r"лист)\W*"
)
_OF_HOW_MANY = re.compile(r"\s*(?:/|of|von|de|du|sur|di|da|del|av|af|van|z|из)\s*\d{1,4}\b")
_YEAR = range(1900, 2100)
_ROMAN = re.compile(r"m{0,3}(?:cm|cd|d?c{0,3})(?:xc|xl|l?x{0,3})(?:ix|iv|v?i{0,3})")
_EDGE_WORDS = re.compile(r"^\W*([ivxlcdm]+)\b|\b([ivxlcdm]+)\W*$")
_PAGE_WORDS = re.compile(
    r"(?:page|pages|pg|p|seite|seiten|s|pagina|página|pagine|pag|pág|side|sida|sivu|strana|strona|str|oldal|sayfa|halaman|trang|стр|страница|of|von|de|du|sur|"
    r"di|da|del|av|af|van|из|z|folie|slide)?",
    re.IGNORECASE,
)
_ROMAN_VALUES = {"i": 1, "v": 5, "x": 10, "l": 50, "c": 100, "d": 500, "m": 1000}


@dataclass(frozen=True)
class Number:
    """A number that counts the pages, as it is printed: `value` = page index * step + a constant."""

    text: str
    value: int
    roman: bool


@dataclass(frozen=True)
class Key:
    """What returns: words with {} for a number, which is the page's index times `step` plus `offset`; step 0: none.

    `attached`: the number stands right behind words that may name what is on the page: "Harbour works 3", "Patient 3".
    """

    edge: str
    words: str
    step: int = 0
    offset: int = 0
    roman: bool = False
    attached: bool = field(default=False, compare=False)

    @property
    def only_counts(self) -> bool:
        """Whether it is a page number and nothing more: "Lot 7" counts too, but lots."""
        return bool(self.step) and all(only_counts(word, "") for word in self.words.split())


def keys_of(
    edge: str, text: str, index: int, apart: Collection[int] = ()
) -> Iterator[tuple[Key, str, int]]:
    """`apart`: which of the words, counted from 0, have a wide gap in front of them."""
    words = " ".join(text.casefold().split())
    yield Key(edge, words), "", 0
    found = list(_NUMBER.finditer(words))
    for match in found:
        if _counts_something_else(words, match):
            continue
        attached = _is_attached(words, match.start(), match.end(), apart)
        alike = [other for other in found if other[0] == match[0]]
        for replaced in {(match.span(),), tuple(other.span() for other in alike)}:
            template = _with_gaps(words, replaced)
            for step in (1, 2):
                yield (
                    Key(edge, template, step, int(match[0]) - step * index, attached=attached),
                    match[0],
                    int(match[0]),
                )
    yield from _in_chapter(edge, " ".join(text.split()), index)
    for match in _EDGE_WORDS.finditer(words):
        printed = match[1] or match[2]
        value = roman_value(printed)
        group = 1 if match[1] else 2
        if value and not _NUMBERED.search(words[: match.start(group)]):
            attached = _is_attached(words, match.start(group), match.end(group), apart)
            template = words[: match.start(group)] + "{}" + words[match.end(group) :]
            shown = text.strip()
            shown = shown.split()[0 if group == 1 else -1].strip("-\u2013.()[]| ")
            yield Key(edge, template, 1, value - index, True, attached), shown, value


def _is_attached(words: str, start: int, end: int, apart: Collection[int]) -> bool:
    """Whether a number stands right behind a word that is no page's."""
    before = words[:start].split(" ")
    if before[-1]:
        return any(map(str.isalpha, before[-1])) and not only_counts(before[-1], "")
    word = before[-2] if len(before) > 1 else ""
    if word.endswith((":", "#")):
        return not only_counts(word, "")
    if len(before) - 1 in apart or not any(map(str.isalnum, word)):
        return False
    if _SHEETS.fullmatch(word) and _OF_HOW_MANY.match(words, end):
        return False
    year = word.strip("()[],;")
    return not (only_counts(word, "") or (year.isdigit() and int(year) in _YEAR))


def _counts_something_else(words: str, number: re.Match[str]) -> bool:
    """Whether it is the year or the number of what stands on the page: "Tariff 2024", "Invoice 1003"."""
    before, behind = words[: number.start()], words[number.end() :]
    if int(number[0]) in _YEAR and not all(only_counts(w, "") for w in (before + behind).split()):
        return True
    return _NUMBERED.search(before) is not None


def _in_chapter(edge: str, text: str, index: int) -> Iterator[tuple[Key, str, int]]:
    match = _IN_CHAPTER.search(text.lower())
    if match is None:
        return
    template = text[: match.start()] + "{}" + text[match.end() :]
    key = Key(edge, template.casefold(), 1, int(match[2]) - index)
    if key.only_counts:
        yield key, text[match.start() : match.end()], int(match[2])


def _with_gaps(words: str, spans: Sequence[tuple[int, int]]) -> str:
    parts, at = [], 0
    for start, end in spans:
        parts += [words[at:start], "{}"]
        at = end
    return "".join([*parts, words[at:]])


def roman_value(text: str) -> int:
    """0 for what is no roman number."""
    text = text.casefold()
    if not text or not _ROMAN.fullmatch(text):
        return 0
    values = [_ROMAN_VALUES[char] for char in text]
    return sum(
        -value if value < following else value
        for value, following in zip(values, [*values[1:], 0], strict=True)
    )


def only_counts(word: str, number: str) -> bool:
    """Whether a word says the page's number, of how many, or that it is a page."""
    bare = re.sub(r"[\W_]+", "", word.partition("/")[0] if word[:1].isdigit() else word)
    return (
        bare == re.sub(r"\W+", "", number)
        or bool(_PAGE_WORDS.fullmatch(bare))
        or roman_value(bare) > 0
    )

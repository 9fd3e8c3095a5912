"""Numbers, dates and codes in a text, written one way, so that 1,000 is 1000 and sixteen is 16."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

from services.text.codes import CODE, measure
from services.text.dates import MONTHS, month
from services.text.invisible import without_invisible
from services.text.numbers import (
    FRACTIONS,
    HUNDRED,
    LOOSE_MULTIPLES,
    MULTIPLES,
    ORDINALS,
    SCALES,
    SHORT_SCALES,
    TENS,
    UNITS,
)

# Words that may count something: enough to support a figure, too little to be held against one.
_LOOSE = {
    **MULTIPLES,
    **LOOSE_MULTIPLES,
    "one": Decimal(1),
    "first": Decimal(1),
    "second": Decimal(2),
}
_MONTH_PATTERN = "|".join([r"sept\.?", *(f"{name}|{name[:3]}\\.?" for name in MONTHS)])
_SPELT = "|".join([*UNITS, *TENS, *SCALES, *ORDINALS, HUNDRED])

# 1,000.50 or 1 000; 1.000,50; 1.000.000; 16 or 0.5 or 0,5; .5
_DIGITS = re.compile(
    r"(?<![\w.,-])([$€£¥]\s?)?"
    r"([+\-\u2212]?(?:\d{1,3}(?:[,\u00a0\u202f' ]\d{3})+(?!\d)(?:\.\d+)?|\d{1,3}(?:\.\d{3})+,\d+"
    r"|\d{1,3}(?:\.\d{3}){2,}|\d+(?:[.,]\d+)?|\.\d+))"
    r"\s?(?:(thousand|million|billion|trillion)\b|(k|mn?|bn?)\b)?",
    re.IGNORECASE,
)
_POINTS_GROUP = re.compile(r"[+-]?\d{1,3}(?:(?:\.\d{3})+,\d+|(?:\.\d{3}){2,})")
_HYPHEN = re.compile(r"(?<=\d)-(?=\d)")
_LETTERS = re.compile(r"[a-z]+")
# What the head of a table says of its figures.
_SCALED = re.compile(r"\bin (?:\S+ )?(thousand|million|billion)s\b", re.IGNORECASE)
_WORDS = re.compile(rf"\b(?:{_SPELT})(?:[\s-]+(?:and\s+)?(?:{_SPELT}))*\b", re.IGNORECASE)
_ISO = re.compile(r"\b(\d{4})-(\d{2})-(\d{2})\b")
_DAY_FIRST = re.compile(
    rf"\b(\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?({_MONTH_PATTERN})(?:,?\s+(\d{{4}}))?\b",
    re.IGNORECASE,
)
_MONTH_FIRST = re.compile(
    rf"\b({_MONTH_PATTERN})\s+(\d{{1,2}})(?:st|nd|rd|th)?(?:,?\s+(\d{{4}}))?\b", re.IGNORECASE
)
# Months without a day. "May" and "March" are other words too, so they need a sign that the month is meant.
_NAMED_MONTH = re.compile(
    rf"\b(?P<plain>{'|'.join(name.title() for name in MONTHS if name not in ('march', 'may'))})\b"
    r"|\b(?P<dated>[A-Z][a-z]{2,4})\.?,? (?=(?:19|20)\d\d\b)"
    r"|\b(?:in|by|until|since|of|during|before|after|late|early|mid|from|through)[ -](?P<placed>March|May)\b"
)
_MONTH_WORD = re.compile(rf"\b(?:{_MONTH_PATTERN})(?!\w)", re.IGNORECASE)
_MONTH_NUMBER = re.compile(r"\b(\d{1,2})[/.](?=\d{4}\b)|\b\d{4}-(\d{2})\b")
_SLASHED = re.compile(r"\b(\d{1,2})[/.](\d{1,2})[/.](\d{4})\b")
# Longer than any code: looked at by nobody, so that no text can make the patterns slow. A claim with one fails.
LONG_WORD = re.compile(r"[!-~]{201,}")
_LIST_MARKER = re.compile(r"^\s*(?:\(?\d{1,2}[.)]\s+)")
_MARKER = re.compile(r"\[\d{1,3}\]")


# Year (0 where none is given), month, day.
Date = tuple[int, int, int]


@dataclass(frozen=True)
class Figures:
    """What a text states exactly. A date is the set of its readings: 03/04/2025 has two.

    `doubtful` are numbers with two readings: "5 m" is five metres or five million. `loose` are those that a word may
    mean ("one", "twice"). `months` are named without a day; `month_words` is all that may mean a month. `scales` are
    those of a table "in millions".
    """

    numbers: frozenset[Decimal]
    dates: frozenset[frozenset[Date]]
    codes: frozenset[str]
    doubtful: frozenset[frozenset[Decimal]] = frozenset()
    loose: frozenset[Decimal] = frozenset()
    months: frozenset[int] = frozenset()
    month_words: frozenset[int] = frozenset()
    scales: frozenset[int] = frozenset()


def figures(text: str) -> Figures:
    """All numbers, dates and codes of a text. Citation markers ([1]) and list markers (1.) are none."""
    text = LONG_WORD.sub(" ", without_invisible(text))
    text = _MARKER.sub(" ", _LIST_MARKER.sub("", text)).translate(
        {0x2010: "-", 0x2011: "-", 0x2012: "-", 0x2013: " - ", 0x2014: " - "}
    )
    dates, rest = _take_dates(text)
    months = frozenset(_named_months(rest))
    codes, rest = _take_codes(rest)
    numbers = list(_numbers(_HYPHEN.sub(" - ", rest)))
    return Figures(
        numbers=frozenset(readings[0] for readings in numbers if len(readings) == 1),
        dates=frozenset(dates),
        codes=frozenset(codes),
        doubtful=frozenset(frozenset(readings) for readings in numbers if len(readings) > 1),
        loose=frozenset(
            _LOOSE[word] for word in set(_LETTERS.findall(text.lower())) & _LOOSE.keys()
        ),
        months=months,
        month_words=frozenset(_month_words(text)),
        scales=frozenset(SCALES[scale.lower()] for scale in _SCALED.findall(text)),
    )


def dates(text: str) -> Iterator[tuple[int, int]]:
    """Where a text says a day."""
    for pattern in (_ISO, _DAY_FIRST, _MONTH_FIRST, _SLASHED):
        yield from (match.span() for match in pattern.finditer(text))


def _take_dates(text: str) -> tuple[set[frozenset[Date]], str]:
    dates: set[frozenset[Date]] = set()

    def take(*readings: Date) -> str:
        valid = frozenset(date for date in readings if 1 <= date[1] <= 12 and 1 <= date[2] <= 31)
        if valid:
            dates.add(valid)
        return " "

    text = _ISO.sub(lambda m: take((int(m[1]), int(m[2]), int(m[3]))), text)
    text = _DAY_FIRST.sub(lambda m: take((int(m[3] or 0), month(m[2]), int(m[1]))), text)
    text = _MONTH_FIRST.sub(lambda m: take((int(m[3] or 0), month(m[1]), int(m[2]))), text)
    text = _SLASHED.sub(
        lambda m: take((int(m[3]), int(m[2]), int(m[1])), (int(m[3]), int(m[1]), int(m[2]))), text
    )
    return dates, text


def _named_months(text: str) -> Iterator[int]:
    for match in _NAMED_MONTH.finditer(text):
        dated = match["dated"]
        if not dated or _MONTH_WORD.fullmatch(dated):
            yield month(match["plain"] or match["placed"] or dated)


def _month_words(text: str) -> Iterator[int]:
    for match in _MONTH_WORD.finditer(text):
        yield month(match[0])
    for match in _MONTH_NUMBER.finditer(text):
        yield int(match[1] or match[2])


def _take_codes(text: str) -> tuple[set[str], str]:
    codes: set[str] = set()

    def take(match: re.Match[str]) -> str:
        word = match[0].rstrip(".,;:")
        if _POINTS_GROUP.fullmatch(word):
            return match[0]
        if measured := measure(word):
            number, unit = measured
            return f" {number}{unit if unit.lower() in SHORT_SCALES else ''} "
        codes.add(word.casefold())
        return " "

    return codes, CODE.sub(take, text)


def _numbers(text: str) -> Iterator[tuple[Decimal, ...]]:
    """The readings of each number, nearly always one."""
    for match in _DIGITS.finditer(text):
        currency, digits, word, short = match.groups()
        scale = SCALES.get((word or "").lower()) or SHORT_SCALES.get((short or "").lower(), 1)
        value = _decimal(digits)
        if value is None:
            continue
        scaled = (value * scale).normalize()
        # A letter may be a unit of measure, but not of money.
        unit = short and len(short) == 1 and not currency
        yield (scaled, value.normalize()) if unit else (scaled,)
    for symbol, value in FRACTIONS.items():
        if symbol in text:
            yield (value,)
    # "1.5 million" is one number, and its "million" no other.
    for match in _WORDS.finditer(_DIGITS.sub(" ", text)):
        yield from ((value,) for value in _spelt(match[0]))


def _decimal(digits: str) -> Decimal | None:
    digits = digits.replace("\u2212", "-")
    if _POINTS_GROUP.fullmatch(digits):
        digits = digits.replace(".", "").replace(",", ".")
    if re.fullmatch(r"[+-]?\d+,\d{1,2}", digits):  # a decimal comma
        digits = digits.replace(",", ".")
    try:
        return abs(Decimal(re.sub(r"[,\u00a0\u202f' +]", "", digits)))
    except InvalidOperation:
        return None


def _spelt(words: str) -> Iterator[Decimal]:
    """The value of number words; "one" alone counts nothing, it is a pronoun more often."""
    parts = [part for part in re.split(r"[\s-]+", words.lower()) if part != "and"]
    if parts in (["one"], ["second"], ["first"]):
        return
    total = current = 0
    for part in parts:
        if part in SCALES:
            total, current = total + max(current, 1) * SCALES[part], 0
        elif part == HUNDRED:
            current = max(current, 1) * 100
        else:
            current += UNITS.get(part, TENS.get(part, ORDINALS.get(part, 0)))
    yield Decimal(total + current).normalize()

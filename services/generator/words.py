"""Words of a text as evidence: content words, numbers, codes, names. Pure; no model."""

import re
from dataclasses import dataclass

from services.text.codes import is_exact
from services.text.dates import MONTH_ABBREVIATIONS, MONTHS, WEEKDAYS
from services.text.numbers import CARDINALS, MULTIPLES, ORDINALS
from services.text.scripts import ONE_CHARACTER_WORDS
from services.text.words import STOP_WORDS, stem

# A word, a number (1,234.5; 12%), or a code (AB-1200/3): letters and digits with inner joints. One CJK character
# is one word, as the model's tokenizer has it.
_WORD = re.compile(
    rf"[{ONE_CHARACTER_WORDS}]"
    rf"|[^\W_{ONE_CHARACTER_WORDS}]+(?:[-./,'’_][^\W_{ONE_CHARACTER_WORDS}]+)*"
)
_NUMBER = re.compile(r"\d[\d,.]*")
_NUMBER_WORDS = CARDINALS | ORDINALS.keys() | MULTIPLES.keys() | {"several", "none"}
_TIME = frozenset({*MONTHS, *MONTH_ABBREVIATIONS, *WEEKDAYS}) | frozenset(
    """
    century decade year years month
    months week weeks day days hour hours minute minutes annually daily weekly monthly quarterly
    spring summer autumn winter today
    """.split()  # noqa: SIM905
)


@dataclass(frozen=True)
class Word:
    """One word: as written, its form for matching, its place."""

    text: str
    stem: str
    start: int
    end: int

    @property
    def is_number(self) -> bool:
        return self.text[0].isdigit()

    @property
    def is_code(self) -> bool:
        """A part number, a paragraph, a date."""
        return is_exact(self.text)

    @property
    def is_name(self) -> bool:
        return self.text[0].isupper()


def words(text: str) -> list[Word]:
    """All words of a text in order."""
    return [
        Word(match.group(), stem(match.group()), match.start(), match.end())
        for match in _WORD.finditer(text)
    ]


def content_words(text: str) -> list[Word]:
    """The words that carry meaning: no stop words."""
    return [word for word in words(text) if word.text.lower() not in STOP_WORDS]


def numbers(text: str) -> frozenset[str]:
    """Numbers without thousands separators and trailing points: 1,200. gives 1200."""
    return frozenset(found.replace(",", "").rstrip(".") for found in _NUMBER.findall(text))


def names(question: str) -> list[Word]:
    """Words written as names: a capital letter, not merely the first word of a sentence."""
    found = words(question)
    return [
        word
        for position, word in enumerate(found)
        if word.is_name
        and word.text.lower() not in STOP_WORDS
        and (position > 0 or not word.text[1:].islower())
    ]


def has_number(candidates: list[Word]) -> bool:
    return any(word.is_number or word.text.lower() in _NUMBER_WORDS for word in candidates)


def has_date(candidates: list[Word]) -> bool:
    return any(word.is_number or word.text.lower() in _TIME for word in candidates)


def has_name(candidates: list[Word]) -> bool:
    return any(word.is_name and word.text.lower() not in STOP_WORDS for word in candidates)

"""Words of a text as evidence: content words, numbers, codes, names. Pure; no model."""

import re
from dataclasses import dataclass
from functools import lru_cache

STOP_WORDS = frozenset(
    """
    a about above after again against all also am an and any are aren't as at be because been
    before being below between both but by can could did do does doing don't down during each
    few for from further had has have having he her here hers him his how i if in into is isn't
    it its itself just me more most my no nor not of off on once only or other our out over own
    same she should so some such than that the their them then there these they this those
    through to too under until up us very was we were what when where which while who whom whose
    why will with would you your tell give list explain describe please may might must shall
    many much long often kind type name called according
    """.split()  # noqa: SIM905
)

# A word, a number (1,234.5; 12%), or a code (AB-1200/3): letters and digits with inner joints. One CJK character
# is one word, as the model's tokenizer has it.
_WORD = re.compile(
    r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uac00-\ud7af]"
    r"|[^\W_\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\uac00-\ud7af]+(?:[-./,'’_][^\W_\u3040-\u30ff\u3400-\u9fff]+)*"
)
_NUMBER = re.compile(r"\d[\d,.]*")
_WORD_NUMBERS = frozenset(
    """
    zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen
    fifteen sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty
    ninety hundred thousand million billion trillion dozen half twice once first second third
    fourth fifth sixth seventh eighth ninth tenth both several none
    """.split()  # noqa: SIM905
)
_MONTHS = frozenset(
    """
    january february march april may june july august september october november december jan
    feb mar apr jun jul aug sep sept oct nov dec
    """.split()  # noqa: SIM905
)
_TIME = _MONTHS | frozenset(
    """
    monday tuesday wednesday thursday friday saturday sunday century decade year years month
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
        """Letters and digits in one word, or digits with joints: a part number, a paragraph, a date."""
        return any(char.isdigit() for char in self.text) and any(
            char.isalpha() or char in "-/_" for char in self.text
        )

    @property
    def is_name(self) -> bool:
        return self.text[0].isupper()


@lru_cache(maxsize=4096)
def stem(word: str) -> str:
    """Lower case without the commonest English endings. Crude on purpose: the vectors do the rest."""
    word = word.lower().replace("’", "'")
    word = word.removesuffix("'s").removesuffix("'")
    if word[:1].isdigit():
        return word.replace(",", "")
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    for ending in ("ing", "ed", "es", "s", "ly"):
        if word.endswith(ending) and len(word) - len(ending) >= 4 and not word.endswith("ss"):
            word = word[: -len(ending)]
            break
    return word[:-1] if word.endswith("e") and len(word) > 4 else word


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
    return any(word.is_number or word.text.lower() in _WORD_NUMBERS for word in candidates)


def has_date(candidates: list[Word]) -> bool:
    return any(word.is_number or word.text.lower() in _TIME for word in candidates)


def has_name(candidates: list[Word]) -> bool:
    return any(word.is_name and word.text.lower() not in STOP_WORDS for word in candidates)

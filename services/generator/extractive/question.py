"""What a question asks for: its words, the kind of its answer, the numbers and names that must be met."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from services.generator.words import (
    Word,
    content_words,
    has_date,
    has_name,
    has_number,
    names,
    numbers,
)


class Kind(Enum):
    """What an answer must hold, beyond the question's own words."""

    ANY = "any"
    NUMBER = "number"
    DATE = "date"
    NAME = "name"


_KINDS = (
    (
        Kind.DATE,
        re.compile(
            r"\b(?:when|what (?:year|date|day|month|century|time)|which (?:year|date|day|month)"
            r"|in what year|how (?:long|old|often|soon|late|early)|by what date)\b"
        ),
    ),
    (
        Kind.NUMBER,
        re.compile(
            r"\bhow (?:many|much|far|fast|tall|high|large|big|heavy|deep|wide|hot|cold)\b"
            r"|\bwhat (?:percentage|percent|number|amount|fraction|proportion|share|rate|price|cost"
            r"|size|temperature|speed|distance|pressure|weight|torque|voltage)\b"
        ),
    ),
    (
        Kind.NAME,
        re.compile(
            r"\b(?:who|whom|whose|what (?:country|city|state|town|company|person|is the name)"
            r"|which (?:country|city|state|town|company|person)|where)\b"
        ),
    ),
)


@dataclass(frozen=True)
class Question:
    """A question taken apart."""

    text: str
    words: tuple[Word, ...]
    stems: frozenset[str]
    names: frozenset[str]
    exact: frozenset[str]
    """Numbers and codes, lower case: they stand in the source or it is about something else."""
    kind: Kind

    @classmethod
    def of(cls, text: str) -> "Question":
        found = content_words(text)
        lower = text.lower()
        kind = next((kind for kind, pattern in _KINDS if pattern.search(lower)), Kind.ANY)
        exact = {word.text.lower() for word in found if word.is_code} | numbers(text)
        return cls(
            text=text,
            words=tuple(found),
            stems=frozenset(word.stem for word in found),
            names=frozenset(word.stem for word in names(text)),
            exact=frozenset(exact),
            kind=kind,
        )

    def answers_kind(self, candidate: Sequence[Word]) -> float:
        """1 if the words hold what is asked for and not said in the question, -1 if not, 0 if no kind is asked for."""
        if self.kind is Kind.ANY:
            return 0.0
        new = [word for word in candidate if word.stem not in self.stems]
        found = {Kind.NUMBER: has_number, Kind.DATE: has_date, Kind.NAME: has_name}[self.kind](new)
        return 1.0 if found else -1.0

"""Part numbers and fault codes that a question asks about: what answers it says them, best at its beginning. Pure."""

import re

from services.generator.extractive.question import Question
from services.generator.extractive.windows import Candidate
from services.generator.words import words
from services.text.codes import is_part_number


def codes(text: str) -> frozenset[str]:
    """The codes of a text, lower case, without joints: e47 of E-47."""
    return frozenset(_plain(word.text) for word in words(text) if is_part_number(word.text))


def said(candidate: Candidate) -> frozenset[str]:
    """The codes of a sentence and of what it stands under."""
    return codes(f"{candidate.context}\n{candidate.text}")


def defined(asked: frozenset[str], candidate: Candidate) -> bool:
    """Whether a sentence, or a heading above it, begins with one of the codes: it is about it, others mention it."""
    return any(_beginning(one.text) & asked for one in (candidate, *candidate.above))


def asked_about(question: Question) -> frozenset[str]:
    """The codes of a question."""
    return codes(question.text)


def _beginning(text: str) -> frozenset[str]:
    """The first two words: before the code may stand an article or the number of a section."""
    return frozenset(_plain(word.text) for word in words(text[:80])[:2])


def _plain(word: str) -> str:
    return re.sub(r"[\W_]", "", word).lower()

"""Words as a table and a question about it share them: codes whatever their joints, words by their stems. Pure."""

import re
from functools import lru_cache

from services.generator.words import words
from services.text.codes import is_exact
from services.text.words import FUNCTION_WORDS, STOP_WORDS, stem

# Of a row's name these tell it from another: "Other assets" is not "Assets", "before tax" not "after tax".
_TELLING = frozenset(
    {
        "other",
        "not",
        "all",
        "any",
        "before",
        "after",
        "under",
        "over",
        "below",
        "above",
        "up",
        "down",
    }
)
_GRAMMAR = (
    FUNCTION_WORDS | {"a", "an", "as", "at", "by", "in", "is", "of", "on", "or", "to", "it", "its"}
) - _TELLING
# What questions say around what they ask for.
GENERIC = frozenset(
    stem(word)
    for word in """
    amount figure number value table row column list show shown state stated report reported record recorded give given
    get end ended ending year month fiscal financial period date company firm document page level please people person
    exactly currently one ones item entry there per go goes
    """.split()  # noqa: SIM905
)
# One word for what tables shorten and questions bend.
_SAME = {
    "avg": "average", "max": "maximum", "min": "minimum", "qty": "quantity", "temp": "temperature",
    "percentage": "percent", "held": "hold", "paid": "pay", "sold": "sell", "made": "make", "spent": "spend",
    "bought": "buy", "built": "build", "grew": "grow", "grown": "grow", "won": "win", "lost": "lose", "met": "meet",
    "ran": "run", "took": "take", "taken": "take", "began": "begin", "begun": "begin", "written": "write",
    "wrote": "write", "drawn": "draw", "drove": "drive", "driven": "drive", "men": "man", "women": "woman",
}  # fmt: skip
# Forms of one word begin alike: declare, declaration.
MIN_ALIKE = 6
MIN_NAME = 2
_FISCAL = re.compile(r"fy[-' ]?((?:19|20)\d\d)", re.IGNORECASE)
_YEAR = re.compile(r"(?:19|20)\d\d")
# "Planned" is of "plan"; "fall" and "class" end so themselves.
_DOUBLED = re.compile(r"(?<=[^\W\d_]{2})([bdgmnprt])\1$")
_ASIDE = re.compile(r"\([^)]*\)|\[\^[^\]]*\]")


@lru_cache(maxsize=8192)
def terms(text: str) -> frozenset[str]:
    """What a text is matched by, without its grammar."""
    found = {
        term(word.text, word.stem) for word in words(text) if word.text.lower() not in _GRAMMAR
    }
    return frozenset(found | {"percent"} if "%" in text else found)


def naming(text: str) -> frozenset[str]:
    """The terms that name something: without what stands in brackets, unless that is all there is."""
    return terms(_ASIDE.sub(" ", text)) or terms(text)


def main_part(text: str) -> frozenset[str]:
    """The terms before the first comma, where they are a name by themselves: "Translation adjustments, net of tax"."""
    first = terms(re.split(r"[,;(]", text, maxsplit=1)[0])
    return first if len(first) >= MIN_NAME else frozenset()


def content(text: str) -> frozenset[str]:
    """The terms that carry meaning."""
    return frozenset(
        term(word.text, word.stem) for word in words(text) if word.text.lower() not in STOP_WORDS
    )


def exact(text: str) -> frozenset[str]:
    """Codes and numbers: a table that does not say them is about something else."""
    return frozenset(
        term(word.text, word.stem) for word in words(text) if is_exact(word.text) or word.is_number
    )


def term(word: str, stemmed: str) -> str:
    fiscal = _FISCAL.fullmatch(word)
    if fiscal:
        return fiscal[1]
    if is_exact(word):
        return re.sub(r"[\W_]", "", word).lower()
    return _SAME.get(word.lower().rstrip("."), _DOUBLED.sub(r"\1", stemmed))


def common(asked: frozenset[str], said: frozenset[str]) -> frozenset[str]:
    """Those of `asked` that are said, in whatever form."""
    same = asked & said
    return same | {
        one
        for one in asked - same
        if len(one) >= MIN_ALIKE and one.isalpha() and any(_alike(one, other) for other in said)
    }


def _alike(one: str, other: str) -> bool:
    return len(other) >= MIN_ALIKE and (one.startswith(other) or other.startswith(one))


def years(found: frozenset[str]) -> frozenset[str]:
    return frozenset(one for one in found if _YEAR.fullmatch(one))

"""Tells sentences that need a source from those that only lead through an answer.

By form, not by meaning: numbers, dates, names, codes, instructions and plain statements need one; greetings,
announcements ("Here is what the documents say:"), hedges about the answer itself and questions do not.
"""

import re
from enum import StrEnum

from services.text.codes import CODE, measure
from services.text.dates import MONTHS, WEEKDAYS
from services.text.invisible import without_invisible
from services.text.numbers import CARDINALS, FRACTIONS


class Fact(StrEnum):
    """Why a sentence needs a source."""

    NUMBER = "number"
    DATE = "date"
    NAME = "name"
    CODE = "code"
    INSTRUCTION = "instruction"
    STATEMENT = "statement"

    @property
    def one(self) -> str:
        """ "a number", "an instruction"."""
        return f"an {self}" if self is Fact.INSTRUCTION else f"a {self}"


# "One" is a pronoun more often.
_NUMBER_WORDS = (CARDINALS - {"one"}) | {"half", "twice", "thrice", "dozen", "percent"}

_DATE = re.compile(
    rf"\b(?:\d{{4}}-\d{{2}}-\d{{2}}|\d{{1,2}}[/.]\d{{1,2}}[/.]\d{{2,4}}|(?:1[89]|20)\d\d"
    rf"|\d{{1,2}}(?:st|nd|rd|th)?\s+(?:of\s+)?(?:{'|'.join(MONTHS)})|(?:{'|'.join(MONTHS[:4] + MONTHS[5:])}|may\s+\d)"
    rf"|(?:{'|'.join(WEEKDAYS)})s?|q[1-4])\b",
    re.IGNORECASE,
)
_NUMBER = re.compile(
    rf"\d|[{''.join(FRACTIONS)}]|\b(?:{'|'.join(sorted(_NUMBER_WORDS))})\b", re.IGNORECASE
)
_INSTRUCTION = re.compile(
    r"\b(?:must|shall|should|may not|cannot|can't|can not|need(?:s)? to|ha(?:ve|s) to|required|requires?|mandatory|"
    r"prohibited|forbidden|not (?:allowed|permitted)|do not|don't|never|always|ought to|allowed to|permitted)\b",
    re.IGNORECASE,
)
_IMPERATIVE = re.compile(
    r"^(?:please |first,? |then,? |next,? |finally,? |to \w+(?: \w+){0,4}, )?"
    r"(?:press|turn|open|close|click|select|enter|remove|insert|install|use|check|contact|call|send|submit|fill|wear|"
    r"keep|store|disconnect|connect|switch|hold|wait|report|ask|apply|add|replace|clean|write|sign|return|"
    r"tighten|loosen|ensure|make sure|follow|read|go|set|unplug|avoid|notify|complete|attach)\b",
    re.IGNORECASE,
)
# Words that lead in stand alone; pleasantries may go on, but not to a "but".
_LEADING = re.compile(
    r"^(?:sure|certainly|of course|hello|hi|in summary|to summari[sz]e|in short|in conclusion|overall|yes|no)[.,!:]*$"
    r"|^(?:(?:great|good) question|i hope|i'm sorry|sorry|i apologi[sz]e|let me know|feel free|please let me|thanks|"
    r"thank you)\b(?:(?!\bbut\b)[^.:;]){0,60}[.!]?$",
    re.IGNORECASE,
)
_ANNOUNCEMENT = re.compile(
    r"^(?:here(?:'s| is| are)|the following|below(?: is| are)?)\b[^.:,;]{0,80}:$"
    r"|^(?:according to|based on|from) (?:the|your|these) (?:provided |given )?"
    r"(?:documents?|sources?|passages?|context|excerpts?)(?: provided| above| given)?[:,]$",
    re.IGNORECASE,
)
_TURNS = re.compile(
    r"[;:\u2014]| [-\u2013] |\bbecause\b|, (?:but|however|although|though|and|so|yet|since|as)\b",
    re.IGNORECASE,
)
_ABOUT_THE_ANSWER = re.compile(
    r"^(?:(?:however|unfortunately|that said|otherwise),? )?(?:(?:the|these|your|provided|given) )*"
    r"(?:documents?|sources?|passages?|context|excerpts?|information|text)(?: provided| above| given)? "
    r"(?:do(?:es)? not|don't|doesn't|did not|didn't|cannot|can't) "
    r"(?:say|state|mention|specify|contain|provide|answer|include|give|cover)\b"
    r"|^(?:(?:however|unfortunately),? )?i (?:do not|don't|could not|couldn't|cannot|can't) "
    r"(?:know|find|tell|answer|say|determine)\b",
    re.IGNORECASE,
)
_NAME = re.compile(
    r"(?<![.!?:] )(?<!^)\b[A-Z][a-zà-ÿ]+\b|\b[A-Z]{2,}s?\b|\b(?:Mr|Mrs|Ms|Dr|Prof)\.\s+[A-Z]"
)
_WORD = re.compile(r"[^\W\d_]+(?:['\u2019][^\W\d_]+)?")
# Words that English writes with a capital although they name nothing.
_CAPITALISED = frozenset({"I", "OK", "TV", "PDF"})


def facts(sentence: str) -> frozenset[Fact]:
    """What in a sentence needs a source; empty if it needs none."""
    text = without_invisible(sentence).strip().strip("*_#>- \t")
    if not any(character.isalnum() for character in text):
        return frozenset()
    found: set[Fact] = set()
    if _DATE.search(text):
        found.add(Fact.DATE)
    if any(not measure(match.group()) for match in CODE.finditer(text)):
        found.add(Fact.CODE)
    if _NUMBER.search(text) and not found:
        found.add(Fact.NUMBER)
    about = _ABOUT_THE_ANSWER.search(text) and not _TURNS.search(text)
    announces = _LEADING.match(text) or _ANNOUNCEMENT.match(text) or about
    if text.endswith("?") or announces:
        # A question or an announcement needs a source only for what it slips in.
        return frozenset(found)
    if any(match.group() not in _CAPITALISED for match in _NAME.finditer(text)):
        found.add(Fact.NAME)
    if _INSTRUCTION.search(text) or _IMPERATIVE.match(text):
        found.add(Fact.INSTRUCTION)
    if not found and (len(_WORD.findall(text)) >= 3 or not text.isascii()):
        found.add(Fact.STATEMENT)
    return frozenset(found)

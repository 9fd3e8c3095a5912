"""What a text must say before it may answer a question: rules that no similarity overrules. Pure.

They are English, as the patterns of question.Kind are; where a question says nothing that they know, they ask nothing.
"""

import re
from collections.abc import Iterator, Sequence

from services.generator.answers import Source
from services.generator.extractive.layout import Line
from services.generator.extractive.question import Kind, Question
from services.generator.extractive.windows import Candidate
from services.generator.sentences import is_row
from services.generator.words import words
from services.text.dates import MONTH_ABBREVIATIONS, MONTHS
from services.text.numbers import CARDINALS, LOOSE_MULTIPLES, MULTIPLES, ORDINALS
from services.text.words import STOP_WORDS

# "Is it", "do you": a sentence that repeats the words of the question answers it.
_OPEN = re.compile(r"\b(?:what|which|who|whom|whose|when|where|why|how|name|list)\b", re.IGNORECASE)
_YES_OR_NO = re.compile(
    r"\W*(?:is|are|was|were|do|does|did|has|have|had|can|could|may|must|shall|should|will|would)\b",
    re.IGNORECASE,
)
_COUNT = re.compile(
    r"\bhow (?:many|much)\b|\b(?:what|which) (?:(?:is|are|was|were) )?(?:the )?(?:percentage|percent|number)\b",
    re.IGNORECASE,
)
_COUNTED = re.compile(r"\bhow many\b(?P<rest>[^.?!]*)", re.IGNORECASE)
# Counts without a figure.
_AMOUNTS = (
    CARDINALS
    | {*ORDINALS, *MULTIPLES, *LOOSE_MULTIPLES}
    | {"several", "none", "no", "free", "unlimited"}
)
# Figures that count nothing: the number of a page, of an item.
_PLACES = re.compile(
    r"\b(?:pages?|pp?\.)\s*\d+(?:\s*(?:-|–|to|and|,)\s*\d+)*|^\W*\(?\d{1,3}[.)]\s", re.IGNORECASE
)
_YEAR = re.compile(r"(?<![\d,.$€£/])(?:19|20)\d\d(?![\d/]|[.,]\d)")

# What compares or adds up, and the words of a text that has done so.
_COMPUTED = (
    (
        re.compile(
            r"\bhow (?:many|much) (?:more|less|fewer|higher|lower|greater|larger|smaller|longer|older)\b"
            r"|\bgap\b|\b(?:percentage|percent) (?:change|difference)\b",
            re.IGNORECASE,
        ),
        re.compile(
            r"\b(?:more|less|fewer|higher|lower|greater|larger|smaller|longer|older|differ\w*|gap|exceed\w*"
            r"|(?:in|de)creas\w*|grew|rose|fell|dropped|changed?|up|down|doubled|tripled|twice|half)\b",
            re.IGNORECASE,
        ),
    ),
    (
        re.compile(r"\b(?:in total|altogether|combined|(?:the )?sum of)\b", re.IGNORECASE),
        re.compile(r"\b(?:total\w*|altogether|combined|together|sum|overall|all)\b", re.IGNORECASE),
    ),
    (
        re.compile(r"\b(?:ratio|multiple) of\b|\bhow many times\b", re.IGNORECASE),
        re.compile(
            r"\b(?:ratio|times|multiple|\w+fold|once|twice|thrice|doubled?|tripled?|half|per)\b",
            re.IGNORECASE,
        ),
    ),
)
# "More than 60,000" bounds a figure and compares nothing.
_BOUND = re.compile(
    r"\b(?:more|less|fewer|higher|lower|greater|larger|longer|older) than\s+\W?(?=\d)",
    re.IGNORECASE,
)
_SUPERLATIVE = re.compile(
    r"\bthe (?:most|least|fewest)\b"
    r"|\b(?:high|low|larg|small|bigg|great|long|short|old|young|fast|slow|cheap|heavi|light|strong|weak|deep|tall)est\b",
    re.IGNORECASE,
)
_SAID_SUPERLATIVE = re.compile(
    r"\b(?:most|least|fewest|\w{3,}est|best|worst|m(?:ax|in)imum|top|only|first|last|main|peak\w*|record|lead\w*"
    r"|primar\w+|foremost)\b",
    re.IGNORECASE,
)
# "Quarter 3" of a question; what stands before such a number in other places is no name of a thing.
_NUMBERED = re.compile(r"\b(?P<name>[^\W\d_]{4,})\s+(?P<number>\d{1,3})(?![\d.,:/%°]*\d|[%°\w])")
_NO_NAMES = frozenset(
    """
    least than nearly almost around exactly every within next past last first without plus minus times since with
    """.split()  # noqa: SIM905
) | {*STOP_WORDS, *MONTHS, *MONTH_ABBREVIATIONS}
_QUOTED = re.compile('["\u201c\u201f«]([^"\u201c-\u201f«»]{4,})["\u201d»]')
# The text that is meant must be known: nobody says it.
_THIS_TEXT = re.compile(
    r"\b(?:this (?:document|file|paper|report|case|study|article|book|manual|presentation|letter|agreement|contract"
    r"|policy|form|survey|guide|section|chapter|page|slide|table|chart)|the (?:document|file|presentation))\b",
    re.IGNORECASE,
)
_DIGITS = re.compile(r"\d+(?:[.,]\d+)*")
# A year, four digits and more, or a number with its scale.
_LARGE = re.compile(
    r"(?P<number>(?<![\w.,])\d{1,3}(?:,\d{3})+(?:\.\d+)?|(?<!\d)\d{4,}(?!\d)|(?<![\w.,])\d+(?:\.\d+)?(?=\s+(?:thousand|million"
    r"|billion|trillion)\b))"
)
_YEARS = re.compile(r"(?<!\d)((?:19|20)\d\d)\s*(?:-|–|to|until|through)\s*((?:19|20)\d\d)(?!\d)")
# "Above 1,000 euros": said of every number on that side of it.
_BOUNDED = re.compile(
    r"\b(?:above|over|below|under|between|beyond|exceed\w*|up to|at (?:least|most)|from"
    r"|(?:more|less|fewer|higher|lower) than)"
    r"\s+\W?\d",
    re.IGNORECASE,
)
_REACHES = re.compile(r"\b(?:exceed|reach|surpass|pass)\w*\b", re.IGNORECASE)


def unknown_text(question: Question, sources: Sequence[Source]) -> bool:
    """Whether a question means one text ("this report") and the sources are of several."""
    return (
        _THIS_TEXT.search(question.text) is not None
        and len({source.title for source in sources}) > 1
    )


def met(question: Question, candidate: Candidate, quoted: str) -> bool:
    """Whether a sentence, `quoted` with what it cannot do without, may answer."""
    heads = f"{candidate.context}\n{quoted}"
    return (
        _adds(question, quoted)
        and not _only_a_head(question, candidate)
        and _counts(question, heads, quoted)
        and _compares(question, heads)
        and _same_number(question, heads)
        and _known(question, candidate.source, quoted)
    )


def _adds(question: Question, quoted: str) -> bool:
    """Says more than the question itself: what only repeats it is a heading or a reference."""
    if _YES_OR_NO.match(question.text) or not _OPEN.search(question.text):
        return True
    return any(
        word.stem not in question.stems and word.text.lower() not in STOP_WORDS
        for word in words(quoted)
    )


def _only_a_head(question: Question, candidate: Candidate) -> bool:
    """Whether a line taken for a row because of its figures has none but the question's: "Q2 % change".

    It gives no value and settles nothing; what a code is, it may say: "D-207 Rope work".
    """
    settles = question.kind in (Kind.NUMBER, Kind.DATE) or _YES_OR_NO.match(question.text)
    if not settles or candidate.line is not Line.ROW or is_row(candidate.text):
        return False
    figures = {word.text for word in words(candidate.text.lower()) if _has_digit(word.text)}
    return bool(figures) and figures <= {word.text for word in words(question.text.lower())}


def _has_digit(word: str) -> bool:
    return any(map(str.isdigit, word))


def _counts(question: Question, heads: str, quoted: str) -> bool:
    """Where a number of things is asked for: says a number, and the things or what they stand under."""
    if not _COUNT.search(question.text):
        return True
    said = list(_parts(_YEAR.sub(" ", _PLACES.sub(" ", quoted))))
    asked = {number.replace(",", "") for number in _DIGITS.findall(question.text)}
    if not any(
        word in _AMOUNTS or (word[0].isdigit() and word.replace(",", "") not in asked)
        for word in said
    ):
        return False
    counted = _COUNTED.search(question.text)
    thing = next(_content(counted["rest"]), None) if counted else None
    return thing is None or any(thing & other for other in _content(heads))


def _parts(text: str) -> Iterator[str]:
    """Words and numbers, lower case, "two-page" as two."""
    yield from re.findall(r"\d+(?:[.,]\d+)*|[^\W\d_]+", text.lower())


def _content(text: str) -> Iterator[set[str]]:
    """Of each word that carries meaning, and of those of joined words, its stem and its singular."""
    for word in words(text.replace("-", " ")):
        if word.text.lower() not in STOP_WORDS:
            yield {word.stem, word.text.lower().removesuffix("s")}


def _compares(question: Question, heads: str) -> bool:
    """Where something is to be computed or compared: a text says that it was; nobody here computes."""
    text = question.text
    said = _BOUND.sub(" ", heads)
    for asks, says in _COMPUTED:
        if asks.search(text) and not says.search(said):
            return False
    return not _SUPERLATIVE.search(text) or _SAID_SUPERLATIVE.search(said) is not None


def _same_number(question: Question, heads: str) -> bool:
    """Speaks of the year, the quarter, the section that is asked about, where it names one."""
    years, said = set(_YEAR.findall(question.text)), set(_YEAR.findall(heads))
    if years and said and not any(min(said) <= year <= max(said) for year in years):
        return False
    for found in _NUMBERED.finditer(question.text):
        name = found["name"].rstrip("s")
        if found["name"].lower() in _NO_NAMES:
            continue
        ranges = re.findall(
            rf"\b{re.escape(name)}s?\s+(\d{{1,3}})(?!\d)(?:\s*(?:-|–|to|and)\s*(\d{{1,3}})(?!\d))?",
            heads,
            re.IGNORECASE,
        )
        number = int(found["number"])
        if ranges and not any(int(first) <= number <= int(last or first) for first, last in ranges):
            return False
    return True


def _known(question: Question, source: Source, quoted: str) -> bool:
    """The source has the years and the large numbers of the question, and what it quotes; else it is of other things.

    A small number may be anybody's case ("after 12 years"), and so is any that the text sets a bound for.
    """
    text = f"{source.title}\n{source.text}"
    have = {number.replace(",", "") for number in _DIGITS.findall(text)}
    spans = [(first, last) for first, last in _YEARS.findall(text)]
    bounded = _BOUNDED.search(quoted) and not _REACHES.search(question.text)
    for found in _LARGE.finditer(question.text):
        number = found["number"].replace(",", "")
        if number in have:
            continue
        if _YEAR.fullmatch(number):
            if not any(first <= number <= last for first, last in spans):
                return False
        elif not bounded:
            return False
    phrases = [" ".join(_parts(found)) for found in _QUOTED.findall(question.text)]
    whole = f" {' '.join(_parts(text))} " if phrases else ""
    return all(f" {phrase} " in whole for phrase in phrases if " " in phrase)

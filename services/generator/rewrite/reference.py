"""What a message refers to without naming it: pronouns, ellipsis, "that one". Pure; English."""

import re
from collections.abc import Sequence

from services.generator.rewrite.antecedent import named_inside, without_expletives
from services.generator.sentences import split
from services.generator.words import Word, words
from services.text.words import STOP_WORDS

# Words that stand for something said before.
_PRONOUN = re.compile(
    r"\b(?:it|its|itself|they|them|their|theirs|he|him|his|she|her|hers"
    r"|(?:this|that|these|those)(?! (?:is|are|was|were)\b [a-z]+ (?:that|which|who)\b)"
    r"|(?:the )?(?:former|latter|same)(?! \w)|there)\b",
    re.IGNORECASE,
)
# "that" after a verb or a noun is a conjunction.
_CONJUNCTION = re.compile(
    r"\b(?:that)\s+(?:i|we|you|a|an|the|is|are|was|were|has|have|can|must|may|will|should|apply|applies|do|does)\b",
    re.IGNORECASE,
)
# A message that goes on where the last question stopped.
_CONTINUES = re.compile(
    r"^\W*(?:and|but|or|so|also|what about|how about|what if|and if|then|plus|same for|likewise|only|just"
    r"|for|in|on|at|with|without|from|until|since|during|per|as for|regarding|except)\b",
    re.IGNORECASE,
)
_BARE = re.compile(
    r"^\W*(?:why(?: not)?|how(?: so| come| much| many| long| often)?|when|where|who|which(?: one| ones)?|what(?: else)?"
    r"|really|are you sure|tell me more|more|go on|explain|elaborate|details?|continue|an? example)\W*$",
    re.IGNORECASE,
)
_CHOICE = re.compile(
    r"\b(?:(?:this|that|the|which|the (?:first|second|third|last|other)) ones?"
    r"|the (?:first|second|third|last|other)(?! \w))\b",
    re.IGNORECASE,
)
_AUXILIARY = re.compile(
    r"^\W*(?:what|which|who|whom|whose|when|where|why|how|is|are|was|were|do|does|did|can|could|may|must|should|will"
    r"|would|has|have|had|am|list|give|tell|show|explain|describe|name|find|compare|summari[sz]e|define)\b",
    re.IGNORECASE,
)
# Nouns that mean something only of something, with nothing beside them that could say of what.
_INCOMPLETE = re.compile(
    r"^\W*(?:what(?:’s|'s| is| are| was)|how (?:much|high|long|big) (?:is|are|was)|what (?:does|do)|when is|which is"
    r"|tell me) the (?:current |new |exact )?(?P<noun>limits?|prices?|costs?|codes?|deadline|rates?|fees?|charges?"
    r"|amounts?|numbers?|values?|maximum|minimum|sizes?|period|percentage|distance|duration|settings?|date|penalty"
    r"|discount|allowance)"
    r"(?: mean| stand for)?\W*$",
    re.IGNORECASE,
)
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")


def pronoun(message: str, *, without: frozenset[str] = frozenset()) -> str:
    """The first word of a message that stands for something outside it and is not in `without`; or empty."""
    blanked = without_expletives(message)
    blanked = _CONJUNCTION.sub(lambda m: " " * len(m.group()), blanked)
    for match in _PRONOUN.finditer(blanked):
        word = match.group().lower()
        # The department.
        if word in without or (match.group() == "IT" and not message.isupper()):
            continue
        after = re.match(r"\s+([a-z]+)", blanked[match.end() :], re.IGNORECASE)
        following = after.group(1).lower() if after else ""
        # "this handbook": the noun itself is searchable.
        if word in {"this", "that", "these", "those"} and following and following not in STOP_WORDS:
            continue
        # A name in the message itself may be what is meant: "Does Merrow pay for its travel?"
        if any(name.end <= match.start() for name in phrases(message)):
            continue
        if named_inside(message, match.start()):
            continue
        return match.group()
    return ""


def incomplete(message: str) -> str:
    """The noun that a message asks about without saying of what: the "limit" of "What is the limit?"; or empty."""
    match = _INCOMPLETE.match(message)
    return match.group("noun") if match else ""


def chooses(message: str) -> bool:
    """Whether a message picks one of several things: "that one", "the second"."""
    return _CHOICE.search(message) is not None and len(words(message)) <= 8


def continues(message: str) -> bool:
    """Whether a message makes no question by itself: "and in 2024?", "what about part-time staff?", "Why?"."""
    if _BARE.match(message):
        return True
    found = words(message)
    if _CONTINUES.match(message) and len(found) <= 9:
        return True
    return len(found) <= 4 and not _AUXILIARY.match(message)


def bare(message: str) -> bool:
    """Whether a message holds nothing but a question word: "Why?", "Tell me more"."""
    return _BARE.match(message) is not None


def remainder(message: str) -> str:
    """What a continuing message adds: "part-time staff" of "And what about part-time staff?"."""
    rest = message.strip()
    while True:
        shorter = re.sub(
            r"^\W*(?:and|but|or|so|also|then|plus|what about|how about|what if|same for|as for|regarding)\b\W*",
            "",
            rest,
            flags=re.IGNORECASE,
        )
        if shorter == rest:
            return rest.rstrip(" ?.!")
        rest = shorter


def phrases(text: str) -> list[Word]:
    """Names, codes and capitalised runs of a text, each as one Word, in order; not the first word of a sentence."""
    starts = {span.start for span in split(text)}
    found: list[Word] = []
    for word in words(text):
        named = (
            word.is_name and (word.start not in starts or not word.text[1:].islower())
        ) or word.is_code
        if not named or word.text.lower() in STOP_WORDS or word.text == "I":
            continue
        last = found[-1] if found else None
        if (
            last is not None
            and text[last.end : word.start] in (" ", "-", "’s ", "'s ")
            and not word.is_code
        ):
            joined = text[last.start : word.end]
            found[-1] = Word(joined, joined.lower(), last.start, word.end)
        else:
            found.append(word)
    return found


def topic(question: str) -> str:
    """What a question is about: its last noun phrase by position, with its names; stop words and auxiliaries cut."""
    runs: list[list[Word]] = [[]]
    before = ""
    for word in words(question):
        # "Who approves travel?": what follows who is a verb.
        verb = before in {"who", "whom"} or word.text.lower() in _VERBS
        before = word.text.lower()
        if verb or before in STOP_WORDS:
            runs.append([])
        else:
            runs[-1].append(word)
    kept = [run for run in runs if run]
    if not kept:
        return ""
    best = max(
        kept, key=lambda run: (sum(w.is_name or w.is_code for w in run), len(run), run[0].start)
    )
    return question[best[0].start : best[-1].end]


_VERBS = frozenset(
    """
    get gets take takes took apply applies works pays need needs require requires happen happens
    use used make makes made start starts end ends begin mean means cover covers allow allowed change changes changed
    become became last lasts entitled include includes increase decrease
    """.split()  # noqa: SIM905
)


def years(text: str) -> list[str]:
    """Years 1900 to 2099 as written."""
    return _YEAR.findall(text)


def with_year(question: str, year: str) -> str:
    """The question with its one year replaced, or with the year added."""
    if len(years(question)) == 1:
        return _YEAR.sub(year, question)
    return f"{question.rstrip(' ?.!')} in {year}?"


def candidates(texts: Sequence[str]) -> list[str]:
    """What a reference may mean: the names of texts, latest text first, each once."""
    found: dict[str, str] = {}
    for text in texts:
        for phrase in phrases(text):
            found.setdefault(phrase.text.lower(), phrase.text)
    return list(found.values())

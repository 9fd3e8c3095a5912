"""Whether a pronoun stands for anything outside its message: a noun before it is what it means. Pure; English.

Precision first: a question asked back for nothing costs more than a search with a pronoun in it.
"""

import re

from services.generator.words import Word, words
from services.text.dates import MONTHS, WEEKDAYS
from services.text.words import STOP_WORDS

# What a noun follows.
_BEFORE_NOUN = frozenset(
    """
    a an the my your our his her its their this that these those any every each some no another one two three
    of about with without for from in on at by per under during
    """.split()  # noqa: SIM905
)
# What a verb follows: "he pays", "what happens".
_BEFORE_VERB = frozenset(
    """
    i you he she it we they who what which that this there to can could may might must shall should will would do does
    did not
    """.split()  # noqa: SIM905
)
_ADVERBS = frozenset(
    "still already even ever never always really actually now again soon maybe perhaps please".split()  # noqa: SIM905
)
_ADVERB = r"(?:(?:\w+ly|so|too|very|quite|not|still|more|less|also|even) ){0,2}"
_WEATHER = r"(?:rain|snow|freez|thunder|storm|hail|cold|hot|warm|dark|wet|icy|windy|foggy)"
_TIMES = (
    rf"(?:{'|'.join([*MONTHS, *WEEKDAYS])}|spring|summer|autumn|winter|christmas|easter|midnight|noon|late|early|time"
    r"|\d)"
)
# "It" that means nothing: "is it possible to", "it takes a week to", "it's freezing", "is it true that".
_EXPLETIVE = re.compile(
    rf"\b(?:it|this) (?:\w+ )?(?:take|takes|took|taken|cost|costs|mean|means|help|helps|matter|matters)\b[^.?!,]*?"
    rf"\b(?:to|for|before|until|if|when|whether)\b"
    rf"|\b(?:it(?:’s|'s| is| was| be| gets| becomes)|(?:is|was) it|(?:make|makes|made|find|finds) it) {_ADVERB}"
    rf"(?:possible|true|allowed|necessary|required|legal|safe|ok|okay|(?:a |an )?[\w-]+ (?:to|that|for|if|when|whether"
    rf"|who|how)\b|{_WEATHER}\w*|{_TIMES}\b)"
    rf"|\bit (?:will |does |to )?{_WEATHER}\w*"
    r"|\b(?:is|are|was|were|will|would|can|could|be) there\b|\bthere (?:is|are|was|were|will|would|be|exists?)\b",
    re.IGNORECASE,
)
# "When it arrives, where do I put the pump?"
_SUBORDINATE = re.compile(
    r"^\W*(?:when|if|before|after|once|while|since|although|because|as|until|unless|should)\b[^,.?!]*,",
    re.IGNORECASE,
)


def without_expletives(message: str) -> str:
    """The message with each "it" and "there" that means nothing blanked, and nothing moved."""
    return _EXPLETIVE.sub(lambda match: " " * len(match.group()), message)


def named_inside(message: str, start: int) -> bool:
    """Whether the pronoun at `start` can mean something that its own message names."""
    if has_noun(message[:start]):
        return True
    clause = _SUBORDINATE.match(message)
    return clause is not None and start < clause.end() and has_noun(message[clause.end() :])


def has_noun(text: str) -> bool:
    """Whether a text names a thing or a person: a determiner and a word, a plural, a verb and its object."""
    previous: Word | None = None
    run = 0
    for word in words(text):
        lower = word.text.lower()
        plain = lower in STOP_WORDS or lower in _ADVERBS or lower.endswith("ly")
        run = 0 if plain else run + 1
        before = previous.text.lower() if previous is not None else ""
        if not plain and (
            before in _BEFORE_NOUN or run == 2 or (_plural(lower) and before not in _BEFORE_VERB)
        ):
            return True
        previous = word
    return False


def _plural(word: str) -> bool:
    return len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is"))

"""English words without content, and the stems of those with it."""

from functools import lru_cache

# Grammar alone: what is left of two sentences without these is what they are about.
FUNCTION_WORDS = frozenset(
    """
    the and for are was were has have had with from that this these those which who whom its
    their there been being not nor but any all may can will would should must shall into onto
    than then also such other each per does did
    """.split()  # noqa: SIM905
)
# Of a question: its grammar, and the words that only ask ("explain", "what kind of"). The extractive answerer's
# weights were trained with this list: whoever changes it trains them anew.
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


@lru_cache(maxsize=4096)
def stem(word: str) -> str:
    """Lower case without the commonest English endings. Crude on purpose; trained weights depend on it."""
    word = word.lower().replace("\u2019", "'")
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

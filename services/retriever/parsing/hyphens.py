"""Hyphens at the ends of lines: the typesetter's, or the word's own.

The document decides first: a word that it writes elsewhere in one piece, or with a hyphen, is written so here. Then a
list of words does, in the document's language: "parttime" is no word, "part" and "time" are.
"""

import gzip
import json
import re
from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache, cached_property
from importlib import resources

from services.retriever.parsing.text import LINE_HYPHEN, Cleaned

_DASH = "-\u2010"
_WORD = re.compile(rf"[^\W\d_]+(?:[{_DASH}'\u2019][^\W\d_]+)*")
_BEFORE = re.compile(rf"[^\W\d_]+(?:[{_DASH}'\u2019][^\W\d_]+)*$")
_AFTER = re.compile(r"[^\W\d_]+")
_LOOK = 80  # Characters before and behind a hyphen: no word is longer.
# Frequent small words tell the language.
_SMALL_WORDS = {
    "en": "the of and to in is that for it with as was on are be this which",
    "de": "der die und das den von zu mit sich des auf ist nicht ein eine dem im",
    "fr": "le la les des et en du est que une dans qui pour sur par au pas",
    "es": "el la de que los se del las por con una para su es al como más",
    "it": "il di che la per una del della sono con non le dei gli nel alla è",
    "nl": "de het een van en in is dat op te zijn voor met die niet aan er",
    "pt": "o a de que e do da os em um para com não uma dos as por no",
}
# Two words that together are in no list are most often written with a hyphen in these languages. In the others they are
# a long word that the list lacks.
_HYPHENATES = frozenset({"en", "fr", "pt"})
_ENDINGS = frozenset(
    ("able", "al", "ally", "ance", "ation", "ed", "ence", "er", "ers", "est", "ful", "ible", "ic", "ing", "ings", "ion",
     "ions", "ism", "ist", "ity", "ive", "ize", "less", "ly", "ment", "ments", "ness", "or", "ous", "sion", "sions",
     "tion", "tional", "tions", "tive", "ty")
)  # fmt: skip


class Hyphens:
    """Decides for one document. In `texts`, its pages, LINE_HYPHEN stands for the hyphens in question."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._words: Counter[str] = Counter()
        for text in texts:
            for match in _WORD.finditer(text):
                # Halves of broken words are no words.
                start, end = match.span()
                if LINE_HYPHEN not in (text[start - 1 : start], text[end : end + 1]):
                    self._words[match.group().casefold()] += 1

    def decided(self, text: str, following: str = "") -> str:
        """LINE_HYPHEN stays where the hyphen goes, else it becomes "-". `following`: what comes behind the text."""
        if LINE_HYPHEN not in text:
            return text
        chars = list(text)
        whole = text + following[:_LOOK]
        for at, char in enumerate(chars):
            if char == LINE_HYPHEN:
                before, after = whole[max(0, at - _LOOK) : at], whole[at + 1 : at + 1 + _LOOK]
                chars[at] = LINE_HYPHEN if self.joins(before, after) else "-"
        return "".join(chars)

    def joins(self, before: str, after: str) -> bool:
        """Whether two texts that meet at a hyphen are one word without it."""
        left, right = _BEFORE.search(before), _AFTER.match(after)
        if left is None or right is None or not right.group()[0].islower():
            return False
        first, second = left.group().casefold(), right.group().casefold()
        last = re.split(f"[{_DASH}'\u2019]", first)[-1]
        count = self._words
        whole = count[first + second] + (count[last + second] if last != first else 0)
        apart = count[f"{first}-{second}"] + (count[f"{last}-{second}"] if last != first else 0)
        if whole or apart:
            return whole >= apart
        known = _words_of(self._language)
        if last + second in known:
            return True
        if f"{last}-{second}" in known:
            return False
        two = (last in known or count[last] > 0) and (second in known or count[second] > 0)
        return not two or second in _ENDINGS or self._language not in _HYPHENATES

    @cached_property
    def _language(self) -> str:
        def share(language: str) -> int:
            return sum(self._words[word] for word in _SMALL_WORDS[language].split())

        return max(_SMALL_WORDS, key=share)


def settled(pages: Sequence[Cleaned]) -> list[Cleaned]:
    """Pages that were cleaned with `line_hyphens`, their hyphens decided by all of them."""
    if not any(LINE_HYPHEN in page.text for page in pages):
        return list(pages)
    hyphens = Hyphens(page.text for page in pages)
    return [_settled(page, hyphens) for page in pages]


def _settled(page: Cleaned, hyphens: Hyphens) -> Cleaned:
    text = hyphens.decided(page.text)
    if LINE_HYPHEN not in text:
        return replace(page, text=text)
    kept = [at for at, char in enumerate(text) if char != LINE_HYPHEN]
    sources = array("I", (page.sources[at] for at in kept))
    return replace(page, text=text.replace(LINE_HYPHEN, ""), sources=sources)


@cache
def _words_of(language: str) -> frozenset[str]:
    """The dictionary of the package pyspellchecker."""
    packed = resources.files("spellchecker").joinpath("resources", f"{language}.json.gz")
    return frozenset(json.loads(gzip.decompress(packed.read_bytes())))

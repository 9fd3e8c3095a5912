"""Whether the characters of a page are the letters that it shows.

Fonts without a map to Unicode, or with a wrong one, give text that looks right on the page and is read as another:
control characters, punctuation, or a cipher. A cipher has the wrong pairs of letters for every language. Only words
count: codes, part numbers and tables of figures are no cipher.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache

from services.retriever.parsing.pdf import letter_pairs

_LEAST_CHARS = 3
_WRITING = 0.2  # Of the characters: the least share of letters and digits.
_LEAST_WRITING = 50  # Letters and digits: a page of rows of dots has them.
_BROKEN = 0.4  # Of the characters: the most that are none.
_LEAST_BROKEN = 10
_KNOWN = 0.5  # Of the letters: the least share in a script whose pairs are known.
# Number of pairs, and the least share of common ones. Real pages have 0.6 and more, ciphers about a quarter.
_COMMON = ((100, 0.45), (45, 0.25))
# A sign between letters or figures, as no word, code or figure has it; a program has some, with common pairs.
_ODD = re.compile(r"(?<=\w)[\]\[{}|~<>#$%&*;?!\"^`\\@+=](?=\w)")
_LEAST_WORDS, _LEAST_PAIRS = 15, 25
# Share of words with such a sign, and the least share of common pairs then. Programs have 0.7 and more.
_COMMON_AMONG_ODD = ((0.15, 0.62), (0.05, 0.5))
_SIGN, _SIGNS = (
    re.compile(r"[^\w\s.,\-·•|…/()]"),
    0.3,
)  # Signs that rows of dots and figures do not have.
_LETTERS_AMONG_ODD = 0.55
_IDEOGRAPHS, _COMMON_IDEOGRAPHS = 60, 0.7
_MOST_CHARS = 20_000
_CIPHERED_SCRIPTS = (
    (re.compile(r"[a-z]+"), letter_pairs.LATIN),
    (re.compile(r"[\u0430-\u045f]+"), letter_pairs.CYRILLIC),
    (re.compile(r"[\u0620-\u064a\u066e-\u06d3]+"), letter_pairs.ARABIC),
)
_IDEOGRAPH = re.compile(r"[\u3400-\u9fff]")


def is_legible(text: str, drawn: Iterable[str]) -> bool:
    """Whether a page's text can be what it shows. `drawn` are its characters before control characters left it."""
    solid = [char for char in drawn if not char.isspace()]
    broken = sum(map(_is_broken, solid))
    if len(solid) >= _LEAST_BROKEN and broken > _BROKEN * len(solid):
        return False
    shown = [char for char in solid[:_MOST_CHARS] if not _is_broken(char)]
    written = sum(map(_is_writing, shown))
    if len(shown) >= _LEAST_CHARS and written < min(_WRITING * len(shown), _LEAST_WRITING):
        return False
    text = text[:_MOST_CHARS]
    return _has_common_pairs(text) and _has_common_ideographs(text)


@lru_cache(10_000)
def _is_writing(char: str) -> bool:
    return char.isalnum() or unicodedata.category(char)[0] == "M"


@lru_cache(10_000)
def _is_broken(char: str) -> bool:
    return unicodedata.category(char) in ("Cc", "Cn", "Co", "Cs") or char == "\ufffd"


def _has_common_pairs(text: str) -> bool:
    tokens = text.split()
    long = [token for token in tokens if len(token) > 2 and not _is_address(token)]
    odd = sum(_ODD.search(token) is not None for token in long)
    suspicion = odd / len(long) if len(long) >= _LEAST_WORDS else 0.0
    among_odd = next((least for share, least in _COMMON_AMONG_ODD if suspicion > share), 0.0)
    # Where signs stand in words, letters that became figures or capitals count as well.
    words = _folded(tokens if among_odd else filter(_is_word, tokens))
    if suspicion > _COMMON_AMONG_ODD[0][0] and _letters(text) < _LETTERS_AMONG_ODD:
        return False
    if len(long) >= _LEAST_WORDS and len(_SIGN.findall(text)) > _SIGNS * len("".join(tokens)):
        return False
    letters = sum(map(str.isalpha, words))
    for pattern, languages in _CIPHERED_SCRIPTS:
        runs = pattern.findall(words)
        if sum(map(len, runs)) < _KNOWN * letters:
            continue
        pairs = [run[at : at + 2] for run in runs for at in range(len(run) - 1)]
        least = next((share for count, share in _COMMON if len(pairs) >= count), 0.0)
        if among_odd and len(pairs) >= _LEAST_PAIRS:
            least = among_odd
        if least and max(_share(pairs, common) for common in languages) < least:
            return False
    return True


def common_pairs(text: str) -> float:
    """The share of pairs of Latin letters that are common in the language that has most of them; 1 without any."""
    runs = re.findall(r"[a-z]+", _folded([text]))
    pairs = [run[at : at + 2] for run in runs for at in range(len(run) - 1)]
    return max(_share(pairs, common) for common in letter_pairs.LATIN) if pairs else 1.0


def _letters(text: str) -> float:
    solid = "".join(text.split())
    return sum(map(str.isalpha, solid)) / max(1, len(solid))


def _share(pairs: list[str], common: frozenset[str]) -> float:
    return sum(pair in common for pair in pairs) / len(pairs)


def _is_word(word: str) -> bool:
    """Not a code, a figure, an address, an abbreviation in capitals."""
    return not (word.isupper() or any(map(str.isdigit, word)) or _is_address(word))


def _is_address(word: str) -> bool:
    return "//" in word or "www." in word or ("@" in word and "." in word)


def _folded(words: Iterable[str]) -> str:
    """In small letters without accents; Arabic without its vowels."""
    joined = unicodedata.normalize("NFD", " ".join(words).casefold())
    marks = [char for char in set(joined) if unicodedata.combining(char)]
    return joined.translate(dict.fromkeys(map(ord, marks))) if marks else joined


def _has_common_ideographs(text: str) -> bool:
    """Whether most ideographs are among the few thousand that one of China, Taiwan and Japan teaches first."""
    found = _IDEOGRAPH.findall(text)
    if len(found) < _IDEOGRAPHS:
        return True
    return max(_taught(found, *level) for level in _LEVELS) >= _COMMON_IDEOGRAPHS * len(found)


_LEVELS: tuple[tuple[str, Callable[[int], bool]], ...] = (
    ("gb2312", lambda lead: 0xB0 <= lead <= 0xD7),
    ("big5", lambda lead: 0xA4 <= lead <= 0xC6),
    ("euc_jp", lambda lead: 0xB0 <= lead <= 0xCF),
    ("euc_kr", lambda lead: 0xCA <= lead <= 0xFD),
)


def _taught(ideographs: Iterable[str], encoding: str, first_level: Callable[[int], bool]) -> int:
    return sum(first_level(code[0]) for code in _codes(ideographs, encoding) if len(code) == 2)


def _codes(chars: Iterable[str], encoding: str) -> Iterator[bytes]:
    for char in chars:
        yield char.encode(encoding, "ignore")

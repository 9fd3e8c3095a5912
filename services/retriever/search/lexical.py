"""Words as the sparse leg sees them: what PostgreSQL's text search parser would lose is added as terms of its own.

The parser reads "C++" as "c", ".NET" as "net" and "XJ-4711-B" as "xj", "-4711" and "b", takes "sick/compassionate" for
a path and a run of Chinese for one word. So a code becomes one opaque term in the index and in the query, and so does a
number within it; what strokes and addresses join is indexed apart as well; an unspaced script becomes bigrams, and a
word with accents is indexed without them too. Words also give the vocabulary in which misspelt ones are looked up.
"""

import hashlib
import re
import unicodedata
from collections.abc import Iterable

from services.text.codes import is_indexed
from services.text.scripts import INDEXED_IN_PAIRS

MAX_CODE_CHARS = 64
MAX_QUERY_WORDS = 256
MAX_QUERY_CHARS = 8192
_LETTERS = str.maketrans("0123456789abcdef", "abcdefghijklmnop")

_TOKEN = re.compile(r"\S+")
_OPENING, _CLOSING = "([{<\"'`\u201c\u2018\u00ab\u201e*", ")]}>\"'`\u201d\u2019\u00bb,;:!?*."
_WORD = re.compile(r"[^\W\d_]{3,32}")
_JOINS = re.compile(r"[/\\@]+")
# Names of programs and hosts: file_reader_v2.py, node-17.rack4.example. Not 3.5, and not "e.g".
_NAME = re.compile(r"(?=.*[^\W\d_]{2})[\w-]{2,}(?:\.[\w-]{2,})+|[^\W_]{2,}(?:_[^\W_]{2,})+")
_LETTERS_DIGITS = re.compile(r"[^\W\d_]+|\d+")
_AMOUNT = re.compile(r"\d{1,3}(?:[.,'\u2019]\d{3})+(?:[.,]\d+)?")
_NUMBER = re.compile(r"\d{3,64}")
_YEAR = re.compile(r"(?:19|20)\d\d")
_UNSPACED = re.compile(f"[{INDEXED_IN_PAIRS}]+")


def codes(text: str) -> list[str]:
    """The tokens that are names rather than words: part numbers, versions, addresses, C++, .NET, AT&T. Distinct."""
    found: dict[str, None] = {}
    for match in _TOKEN.finditer(unicodedata.normalize("NFKC", text)):
        token = match.group().lstrip(_OPENING).rstrip(_CLOSING)
        if 2 <= len(token) <= MAX_CODE_CHARS and is_indexed(token):
            found.setdefault(token.lower())
    return list(found)


def code_term(code: str) -> str:
    """A code as one word of letters that no parser splits and no stemmer cuts."""
    digest = hashlib.blake2b(code.lower().encode("utf-8", "replace"), digest_size=8).hexdigest()
    return f"zq{digest.translate(_LETTERS)}q"


def _code_terms(text: str) -> list[str]:
    """Each code as written, and without its punctuation: XJ-4711-B is found as XJ4711B, XJ4711 and 4711."""
    terms: dict[str, None] = {}
    for code in codes(text):
        terms.setdefault(code_term(code))
        compact = re.sub(r"\W|_", "", code)
        # "§12a" is found as 12a.
        if compact != code and len(compact) >= (3 if code[0] == "§" else 4):
            terms.setdefault(code_term(compact))
        if not _AMOUNT.fullmatch(code):
            parts = _LETTERS_DIGITS.findall(code)
            for before, part in zip(["", *parts], parts, strict=False):
                if _NUMBER.fullmatch(part):
                    terms.setdefault(code_term(part))
                    if before.isalpha():
                        terms.setdefault(code_term(before + part))
    return list(terms)


def _number_terms(text: str) -> list[str]:
    """The numbers of a query that may be those of a code, or an amount with its thousands marked; no years."""
    tokens = (match.group().strip(_OPENING + _CLOSING) for match in _TOKEN.finditer(text))
    return [
        code_term(token)
        for token in dict.fromkeys(tokens)
        if _NUMBER.fullmatch(token) and not _YEAR.fullmatch(token)
    ]


def _amounts(text: str) -> list[str]:
    """Amounts without the marks of their thousands, as others write them: 1,734,900 as 1734900."""
    return [re.sub(r"\D", "", code) for code in codes(text) if _AMOUNT.fullmatch(code)]


def _joined(text: str) -> list[str]:
    """What strokes, addresses and names in code join: sick/compassionate, /opt/gauges/lanternfish.conf,
    oakes@waterworks.example, file_reader_v2.py."""
    found: dict[str, None] = {}
    for match in _TOKEN.finditer(text):
        token = match.group().lstrip(_OPENING).rstrip(_CLOSING)
        if len(token) > 4 * MAX_CODE_CHARS or not (_JOINS.search(token) or _NAME.fullmatch(token)):
            continue
        for piece in _JOINS.split(token):
            parts = piece.split(".") if _NAME.fullmatch(piece) else []
            for word in (piece, *parts, *re.split(r"[\W_]+", piece)):
                if len(word) > 2 and any(char.isalpha() for char in word):
                    found.setdefault(word)
            for part in parts:
                if 2 < len(part) <= MAX_CODE_CHARS and is_indexed(part):
                    found.setdefault(code_term(part))
    return list(found)


def bigrams(text: str) -> list[str]:
    """Overlapping pairs of characters of the scripts that have no spaces; a lone character is itself."""
    found: dict[str, None] = {}
    for match in _UNSPACED.finditer(text):
        run = match.group()
        for start in range(max(1, len(run) - 1)):
            found.setdefault(run[start : start + 2])
    return list(found)


def fold(word: str) -> str:
    """Lower case, compatibility forms unified, accents off."""
    decomposed = unicodedata.normalize("NFKD", word.casefold())
    return "".join(char for char in decomposed if not unicodedata.combining(char))


def _unaccented(text: str) -> list[str]:
    found: dict[str, None] = {}
    for match in _WORD.finditer(text):
        word = match.group()
        if (
            not word.isascii()
            and not _UNSPACED.search(word)
            and (folded := fold(word)) != word.lower()
        ):
            found.setdefault(folded)
    return list(found)


def index_terms(text: str) -> str:
    """What is indexed beside the text itself."""
    return " ".join([*_code_terms(text), *_word_terms(text)])


def row_terms(row: str, text: str) -> str:
    """What is indexed beside the text of a row with its heads: of codes the row's own alone, for those of its heads
    name all rows."""
    return " ".join([*_code_terms(row), *_word_terms(text)])


def _word_terms(text: str) -> list[str]:
    return [*_joined(text), *bigrams(text), *_unaccented(text)]


def bounded(text: str) -> str:
    """As much of a query as the sparse leg reads: MAX_QUERY_WORDS distinct tokens within MAX_QUERY_CHARS."""
    return " ".join(list(dict.fromkeys(_TOKEN.findall(text[:MAX_QUERY_CHARS])))[:MAX_QUERY_WORDS])


def query_terms(text: str) -> str:
    """The text of a sparse query: what is read of it, and its terms."""
    kept = bounded(text)
    terms = [*index_terms(kept).split(), *_number_terms(kept), *_amounts(kept)]
    return f"{kept} {' '.join(terms[: 2 * MAX_QUERY_WORDS])}"


def code_query(text: str) -> str:
    """The terms of the codes in a query alone; empty if it has none."""
    return " ".join([*_code_terms(text), *_number_terms(text)][:MAX_QUERY_WORDS])


def words(text: str) -> set[str]:
    """The vocabulary of a text: folded words of 3 to 32 letters, and codes."""
    found = {fold(word) for word in set(_WORD.findall(text)) if not _UNSPACED.search(word)}
    return {word for word in found if len(word) <= MAX_CODE_CHARS} | {
        code for code in codes(text) if len(code) >= 4
    }


def trigrams(word: str) -> list[str]:
    """The distinct trigrams of a word, padded as pg_trgm pads: two spaces before, one after."""
    padded = f"  {word} "
    return sorted({padded[start : start + 3] for start in range(len(padded) - 2)})


def distance(left: str, right: str, most: int) -> int:
    """Edits between two words, swapped neighbours counting one (optimal string alignment); most + 1 when more."""
    if abs(len(left) - len(right)) > most:
        return most + 1
    before: list[int] = []
    last = list(range(len(right) + 1))
    for i, a in enumerate(left, 1):
        row = [i]
        for j, b in enumerate(right, 1):
            cost = min(last[j] + 1, row[j - 1] + 1, last[j - 1] + (a != b))
            if i > 1 and j > 1 and a == right[j - 2] and left[i - 2] == b:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        if min(row) > most:
            return most + 1
        before, last = last, row
    return last[-1]


def edits_allowed(word: str) -> int:
    """None for words of three letters, one up to five, two beyond."""
    return 0 if len(word) < 4 else 1 if len(word) < 6 else 2


def closest(word: str, candidates: Iterable[tuple[str, int]], keep: int = 2) -> list[str]:
    """The candidates (word, documents) within the edits allowed: fewest edits, then most documents, then a to z."""
    most = edits_allowed(word)
    ranked = sorted(
        (edits, -documents, candidate)
        for candidate, documents in candidates
        if 0 < (edits := distance(word, candidate, most)) <= most
    )
    return [candidate for edits, _, candidate in ranked[:keep] if edits == ranked[0][0]]

"""Finds the scope that a question names ("in the 2025 handbook", "only policies") among what there is. Pure.

Conservative: a scope needs a cue ("in the", "according to", "only") and a thing of the organization's own. A wrong
scope hides the answer; a missed one costs little.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from folio.common.v1.document_pb2 import Filter

_CUE = r"(?:in|from|within|inside|per|under|according to|based on)"
# After these a name without an article is a document's; "in parental leave" and "in New York" are no places to search.
_SOURCE_CUE = r"(?:according to|based on)"
_ONLY = r"(?:only|just|exclusively|solely)"
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
# Of documents only: shares are issued and books are written in some year too.
_OF_DOCUMENTS = (
    r"\b(?:documents?|files?)\s+(?:(?:that were\s+)?(?:published|issued|dated|written)\s+)?"
)
_DATED = re.compile(rf"{_OF_DOCUMENTS}(?:in|from|of)\s+((?:19|20)\d\d)\b", re.IGNORECASE)
_SINCE = re.compile(rf"{_OF_DOCUMENTS}since\s+((?:19|20)\d\d)\b", re.IGNORECASE)
_BEFORE = re.compile(rf"{_OF_DOCUMENTS}before\s+((?:19|20)\d\d)\b", re.IGNORECASE)
_WORD = re.compile(r"\w+")
# Words of a title that do not tell it from others.
_EDITION = re.compile(
    r"edition|version|revision|rev|v|the|an?|pdf|(?:19|20)\d\d|\d+(?:st|nd|rd|th)|v?\d(?:\.\d+)*"
)
# A name that fits more documents than this tells nothing.
MANY = 8


@dataclass(frozen=True)
class KnownDocument:
    """A document that a question may name."""

    id: int
    title: str
    published_on: str = ""


@dataclass(frozen=True)
class Vocabulary:
    """What an organization has: the things that a scope may name."""

    collections: tuple[str, ...]
    kinds: tuple[str, ...]
    documents: tuple[KnownDocument, ...]


@dataclass(frozen=True)
class Scope:
    """A filter found in a question, in words for people."""

    filter: Filter
    descriptions: tuple[str, ...]


@dataclass(frozen=True)
class Scoped:
    """The filter to search with, and the scope that is in it, if any."""

    filter: Filter
    scope: Scope | None = None


def find(question: str, vocabulary: Vocabulary) -> Scope | None:
    """The scope that a question names, or None."""
    text = " ".join(_WORD.findall(question.casefold()))
    documents = _documents(text, vocabulary.documents)
    collections = [name for name in vocabulary.collections if _named(text, name, "collection")]
    kinds = [] if documents else [kind for kind in vocabulary.kinds if _kind_named(question, kind)]
    since, until = ("", "") if documents else _dates(question)
    named = Filter(
        document_ids=[document.id for document in documents],
        collections=collections,
        kinds=kinds,
        published_from=since,
        published_until=until,
    )
    if named == Filter():
        return None
    described = [f"document: {document.title}" for document in documents]
    described += [f"collection: {name}" for name in collections]
    described += [f"kind: {kind}" for kind in kinds]
    if since or until:
        described.append(f"published: {since or '...'} to {until or '...'}")
    return Scope(named, tuple(described))


def combine(scope: Filter, caller: Filter) -> tuple[Filter, bool]:
    """Both filters in one, and whether a part of the scope gave way: where the caller set a part, the caller wins."""
    dated = bool(caller.published_from or caller.published_until)
    yields = (
        bool(scope.document_ids and caller.document_ids)
        or bool(scope.collections and caller.collections)
        or bool(scope.kinds and caller.kinds)
        or bool(dated and (scope.published_from or scope.published_until))
    )
    return (
        Filter(
            document_ids=caller.document_ids or scope.document_ids,
            collections=caller.collections or scope.collections,
            kinds=caller.kinds or scope.kinds,
            published_from=caller.published_from if dated else scope.published_from,
            published_until=caller.published_until if dated else scope.published_until,
        ),
        yields,
    )


def _documents(text: str, known: Sequence[KnownDocument]) -> list[KnownDocument]:
    """Documents named by title after a cue, narrowed by a year in the same phrase."""
    found: list[tuple[int, KnownDocument, bool]] = []
    for document in known:
        words = _WORD.findall(document.title.casefold().removesuffix(".pdf"))
        name = [word for word in words if not _EDITION.fullmatch(word)]
        years = [word for word in words if _YEAR.fullmatch(word)] or [document.published_on[:4]]
        for phrase, alone in _names(name):
            if phrase not in text:
                continue
            match = re.search(
                rf"\b(?:({_SOURCE_CUE})|{_CUE}) (the |our |your )?(?:((?:19|20)\d\d) )?(?:edition of the )?"
                rf"{re.escape(phrase)}(?: (?:edition )?(?:of )?(?:the )?((?:19|20)\d\d))?\b",
                text,
            )
            if match is None:
                continue
            year = match[3] or match[4]
            if year in years if year else alone and (match[1] or match[2]):
                found.append((len(phrase), document, year is not None))
                break
    # "the Staff Handbook 2025" names one edition, and so leaves the others out; the longest title named wins.
    longest = max((length for length, _, _ in found), default=0)
    best = [(document, dated) for length, document, dated in found if length == longest]
    dated = [document for document, by_year in best if by_year]
    chosen = dated or [document for document, _ in best]
    return chosen if len(chosen) <= MANY else []


def _names(words: Sequence[str]) -> list[tuple[str, bool]]:
    """How people may call a document, longest first, and whether that is enough without a year.

    For "Acme Staff Handbook": "acme staff handbook" and "staff handbook" are; "handbook" is not, but "the 2025
    handbook" is.
    """
    names = [(" ".join(words[start:]), True) for start in range(len(words) - 1)]
    return [*names, (words[-1], False)] if words and len(words[-1]) >= 4 else names


def _kind_named(question: str, kind: str) -> bool:
    """ "only policies: ...", "only in the policies", "policies only", "in the policy documents".

    Not "only the policy", nor "are only policies valid" or "forms only staff sign": there, "only" says something else.
    """
    one, many = _forms(kind)
    asked = " ".join(question.casefold().split())
    words = " ".join(_WORD.findall(asked))
    return bool(one) and bool(
        re.search(
            rf"(?:^|[,;:(] ?|\b(?:search|use|check|consider) ){_ONLY} (?:the |our )?{many}\b"
            rf"|\b{many} {_ONLY} ?(?:[,;:.?!)]|$)",
            asked,
        )
        or re.search(
            rf"\b(?:{_ONLY} (?:in|from) (?:the |our )?(?:{one}|{many})|{_CUE} (?:the |our )?{one} documents?)\b",
            words,
        )
    )


def _named(text: str, name: str, noun: str) -> bool:
    phrase = re.escape(" ".join(_WORD.findall(name.casefold())))
    if not phrase:
        return False
    return bool(
        re.search(
            rf"\b{_CUE} (?:the |our )?{phrase} {noun}\b|\b{_CUE} (?:the )?{noun} {phrase}\b", text
        )
    )


def _forms(kind: str) -> tuple[str, str]:
    """A kind's name as patterns: one of it, many of it."""
    word = " ".join(_WORD.findall(kind.casefold()))
    if word.endswith("ies"):
        return re.escape(word[:-3] + "y"), re.escape(word)
    if word.endswith("s"):
        return re.escape(word[:-1]), re.escape(word)
    return re.escape(word), re.escape(word[:-1] + "ies" if word.endswith("y") else word + "s")


def _dates(question: str) -> tuple[str, str]:
    if match := _DATED.search(question):
        return f"{match[1]}-01-01", f"{match[1]}-12-31"
    if match := _SINCE.search(question):
        return f"{match[1]}-01-01", ""
    if match := _BEFORE.search(question):
        return "", f"{int(match[1]) - 1}-12-31"
    return "", ""

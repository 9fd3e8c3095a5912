"""Golden sets: questions with the pages that answer them, or the knowledge that none does.

    corpus: ../corpus/manifest.yaml                # the documents; `hostile` names a second manifest
    cases:
    - id: leave-2025
      organization: brackwater
      question: How many days of leave do full-time staff have in 2025?
      history: [{role: user, text: ...}]           # oldest first; roles are user and assistant
      expect: answer                               # answer | clarify | abstain | refuse
      relevant:                                    # the pages that answer; `quote` is what says so
      - {document: staff-handbook-2025.pdf, page: 7, grade: 3, quote: Full-time staff have 27 days}
      - {document: staff-handbook-2025.pdf, page: [16, 17], grade: 1}
      answer_must_include: [full-time, [27 days, twenty-seven days]]  # each must occur; of a list, one
      answer_must_not_include: [forty-two herons]  # an answer with one of these is wrong
      absent: [gym]                                # words that no document has: why a case must be abstained
      scope: {kinds: [handbook]}                   # a filter that the caller sets
      tags: [lookup]

Pages are physical and 0-based, first and last inclusive. A fifth of the cases, chosen by the hash of their id, is held
out: nothing is tuned on them, and a run includes them only when told to, which it records.
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from evals import nodes
from evals.files import BadFile
from evals.library import Library, LibraryDocument, join, load_library

EXPECTATIONS = ("answer", "clarify", "abstain", "refuse")
ROLES = ("user", "assistant")
MAX_GRADE = 3
SCOPE_KEYS = ("documents", "collections", "kinds", "published_from", "published_until")


@dataclass(frozen=True)
class Relevant:
    """Pages first to last (physical, 0-based, inclusive) of a document, and how well they answer (1 to 3)."""

    document: str
    first: int
    last: int
    grade: int

    @property
    def id(self) -> str:
        """Names this item in rankings."""
        pages = f"{self.first}" if self.first == self.last else f"{self.first}-{self.last}"
        return f"{self.document}#{pages}"


@dataclass(frozen=True)
class Scope:
    """A filter that the caller sets. Documents are paths of the library."""

    documents: tuple[str, ...] = ()
    collections: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    published_from: str = ""
    published_until: str = ""


@dataclass(frozen=True)
class Case:
    """One question and what a right answer is."""

    id: str
    organization: str
    question: str
    expect: str
    history: tuple[tuple[str, str], ...] = ()
    relevant: tuple[Relevant, ...] = ()
    # Each inner tuple lists the ways to say one thing; one of them must occur.
    must_include: tuple[tuple[str, ...], ...] = ()
    must_not_include: tuple[str, ...] = ()
    scope: Scope = Scope()
    tags: tuple[str, ...] = ()
    # Whole documents with their grades, where a public collection judges those instead of pages.
    grades: Mapping[str, int] = field(default_factory=dict)

    @property
    def judgements(self) -> Mapping[str, int]:
        """Item id -> grade, for metrics."""
        return self.grades or {item.id: item.grade for item in self.relevant}

    def answers_from(self, document: str, first: int, last: int) -> bool:
        """A page of this span is one that answers (any page, where whole documents are judged).

        Where other pages have a higher grade, one of grade 1 only looks right: an answer from it is from a wrong page.
        """
        least = min(2, max((item.grade for item in self.relevant), default=1))
        return document in self.grades or any(
            document == item.document and first <= item.last and item.first <= last
            for item in self.relevant
            if item.grade >= least
        )

    @property
    def held_out(self) -> bool:
        """One in five, by SHA-256 of the id: adding cases never moves another."""
        return int(hashlib.sha256(self.id.encode()).hexdigest(), 16) % 5 == 0


def choose(cases: Iterable[Case], *, held_out: bool) -> tuple[Case, ...]:
    """The working cases; all of them with `held_out`."""
    return tuple(case for case in cases if held_out or not case.held_out)


@dataclass(frozen=True)
class GoldenSet:
    """Cases and the documents that they are about. `digest` is the SHA-256 of the files, in their order."""

    library: Library
    cases: tuple[Case, ...]
    digest: str


def load_golden(paths: Iterable[Path]) -> GoldenSet:
    """Reads golden sets that share one space of ids. BadFile with file, line and what to do."""
    documents: dict[str, LibraryDocument] = {}
    cases: dict[str, Case] = {}
    digest = hashlib.sha256()
    for path in paths:
        top = nodes.compose(path)
        top.only("corpus", "hostile", "cases")
        digest.update(path.read_bytes())
        library = _library(path, top)
        documents |= library.documents
        count = len(cases)
        for entry in top.mappings("cases"):
            case = _case(entry, library)
            if case.id in cases:
                raise entry.bad("id", f"the id {case.id!r} is used twice; give this case another")
            cases[case.id] = case
        if len(cases) == count:
            raise BadFile(path, 0, "no case in it; expected a list `cases`")
    return GoldenSet(Library(documents), tuple(cases.values()), digest.hexdigest())


def _library(path: Path, top: nodes.Mapping) -> Library:
    """Of the manifests that a set names; the paths in both start beside the first."""
    corpus = (path.parent / top.text("corpus")).resolve()
    hostile = top.text("hostile", "")
    libraries = [load_library(corpus)]
    if hostile:
        libraries.append(load_library((path.parent / hostile).resolve(), corpus.parent))
    return join(libraries)


def _case(entry: nodes.Mapping, library: Library) -> Case:
    entry.only(
        "id",
        "organization",
        "question",
        "history",
        "expect",
        "relevant",
        "answer_must_include",
        "answer_must_not_include",
        "absent",
        "scope",
        "tags",
    )
    organization, expect = entry.text("organization"), entry.text("expect")
    if organization not in library.organizations:
        known = ", ".join(library.organizations)
        raise entry.bad("organization", f"no organization {organization!r}; there are: {known}")
    if expect not in EXPECTATIONS:
        raise entry.bad("expect", f"{expect!r} is none of: {', '.join(EXPECTATIONS)}")
    if "draft" in entry.texts("tags"):
        raise entry.bad(
            "tags", "a draft is not a case yet: read it, correct it, then remove its tag"
        )
    relevant = tuple(_relevant(item, organization, library) for item in entry.mappings("relevant"))
    if expect == "answer" and not relevant:
        raise entry.bad("relevant", "a case with expect: answer needs a relevant page; add it")
    if expect in ("abstain", "refuse") and relevant:
        raise entry.bad("relevant", f"expect: {expect} says that no page answers; drop `relevant`")
    if len({item.id for item in relevant}) < len(relevant):
        raise entry.bad("relevant", "the same pages are here twice; keep one")
    return Case(
        entry.text("id"),
        organization,
        entry.text("question"),
        expect,
        tuple(_turn(item) for item in entry.mappings("history")),
        relevant,
        entry.alternatives("answer_must_include"),
        entry.texts("answer_must_not_include"),
        _scope(entry.mapping("scope"), organization, library),
        entry.texts("tags"),
    )


def _turn(entry: nodes.Mapping) -> tuple[str, str]:
    entry.only("role", "text")
    role = entry.text("role")
    if role not in ROLES:
        raise entry.bad("role", f"{role!r} is none of: {', '.join(ROLES)}")
    return role, entry.text("text")


def _relevant(entry: nodes.Mapping, organization: str, library: Library) -> Relevant:
    entry.only("document", "page", "grade", "quote")
    document = _document(entry, "document", entry.text("document"), organization, library)
    pages = library.documents[document].pages
    first, last = entry.span("page")
    if not 0 <= first <= last < pages:
        raise entry.bad(
            "page",
            f"{document} has pages 0 to {pages - 1} (physical, 0-based), not {first} to {last}",
        )
    grade = entry.integer("grade", 1)
    if not 1 <= grade <= MAX_GRADE:
        raise entry.bad("grade", f"{grade} is not 1 to {MAX_GRADE}; drop pages that do not answer")
    return Relevant(document, first, last, grade)


def _scope(entry: nodes.Mapping | None, organization: str, library: Library) -> Scope:
    if entry is None:
        return Scope()
    entry.only(*SCOPE_KEYS)
    return Scope(
        tuple(
            _document(entry, "documents", name, organization, library)
            for name in entry.texts("documents")
        ),
        entry.texts("collections"),
        entry.texts("kinds"),
        entry.text("published_from", ""),
        entry.text("published_until", ""),
    )


def _document(
    entry: nodes.Mapping, key: str, name: str, organization: str, library: Library
) -> str:
    try:
        document = library.find(name)
    except KeyError as error:
        raise entry.bad(key, error.args[0]) from None
    if document.organization != organization:
        raise entry.bad(
            key, f"{document.path} belongs to {document.organization}, not {organization}"
        )
    return document.path

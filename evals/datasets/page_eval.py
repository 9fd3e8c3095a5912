"""Questions over PDF files with the pages that answer them (page_eval.jsonl; pages are 0-based, physical)."""

import ast
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from evals.datasets.sampling import by_hash
from evals.files import BadFile, read_jsonl, text_of
from evals.golden import Case, GoldenSet, Relevant, Scope
from evals.library import Library, LibraryDocument
from services.rpc.errors import InvalidArgument


@dataclass(frozen=True)
class PageQuestion:
    """One question. `kinds` says where its answer stands ("text", "table", "figure", ...)."""

    id: str
    question: str
    answer: str
    answerable: bool
    # Relative to the folder of public data.
    pdf: str
    pages: tuple[int, ...]
    n_pages: int
    kinds: tuple[str, ...]


KINDS = {
    "Pure-text (Plain-text)": "text",
    "Table": "table",
    "Figure": "figure",
    "Chart": "chart",
    "Generalized-text (Layout)": "layout",
}


def load_page_eval(data: Path) -> tuple[PageQuestion, ...]:
    """Every question without a label issue. BadFile for an unknown file or a page outside of it."""
    path = data / "page_eval.jsonl"
    found = []
    for line, row in read_jsonl(path):
        if row.get("label_issue"):
            continue
        pdf, pages = text_of(path, line, row, "pdf"), tuple(row["pages0"])
        if not (data / pdf).is_file():
            raise BadFile(path, line, f"no file {pdf} beside it")
        if any(not 0 <= page < row["n_pages"] for page in pages):
            raise BadFile(path, line, f"a page of {pages} is outside of 0 to {row['n_pages'] - 1}")
        found.append(
            PageQuestion(
                text_of(path, line, row, "id"),
                text_of(path, line, row, "question"),
                text_of(path, line, row, "answer"),
                bool(row["answerable"]),
                pdf,
                # A page may be named twice, once for each part of the answer that stands on it.
                tuple(dict.fromkeys(pages)),
                row["n_pages"],
                _kinds(text_of(path, line, row, "kind")),
            )
        )
    if not any(question.pages for question in found):
        raise BadFile(path, 0, "no question has a page, so nothing can be measured; check the file")
    return tuple(found)


def as_golden(
    data: Path, organization: str, *, document_known: bool, files: int = 0, pages: int = 0
) -> GoldenSet:
    """The questions as a golden set over their PDF files; with `document_known`, each is asked of its own file only.

    `files` keeps so many files, chosen by hash, of those with at most `pages` pages; 0 keeps all.
    """
    questions = _of_files(_one_name(data, load_page_eval(data)), files, pages)
    documents = {
        question.pdf: LibraryDocument(
            question.pdf, data / question.pdf, organization, "", "", "", "", question.n_pages
        )
        for question in questions
    }
    cases = tuple(
        Case(
            question.id,
            organization,
            question.question,
            "answer" if question.answerable else "abstain",
            relevant=tuple(Relevant(question.pdf, page, page, 1) for page in question.pages),
            must_include=((question.answer,),) if question.answerable else (),
            scope=Scope(documents=(question.pdf,)) if document_known else Scope(),
            tags=question.kinds,
        )
        for question in questions
    )
    digest = hashlib.sha256((data / "page_eval.jsonl").read_bytes()).hexdigest()
    return GoldenSet(Library(documents), cases, digest)


def _one_name(data: Path, questions: Sequence[PageQuestion]) -> list[PageQuestion]:
    """Five filings are in both folders, byte for byte: one document, by the name that comes first."""
    first: dict[str, str] = {}
    names = {}
    for pdf in sorted({question.pdf for question in questions}):
        digest = hashlib.sha256((data / pdf).read_bytes()).hexdigest()
        names[pdf] = first.setdefault(digest, pdf)
    return [replace(question, pdf=names[question.pdf]) for question in questions]


def _of_files(questions: Sequence[PageQuestion], files: int, pages: int) -> list[PageQuestion]:
    sizes = {question.pdf: question.n_pages for question in questions}
    fitting = by_hash(pdf for pdf, size in sizes.items() if not pages or size <= pages)
    if not fitting:
        raise InvalidArgument(f"no file has {pages} pages or fewer; allow more")
    kept = set(fitting[: files or None])
    return [question for question in questions if question.pdf in kept]


def _kinds(kind: str) -> tuple[str, ...]:
    """MMLongBench prints a list of sources; FinanceBench names how a question was made (its answers are mixed)."""
    if not kind.startswith("["):
        return (kind,)
    return tuple(sorted(KINDS.get(name, "other") for name in ast.literal_eval(kind)))

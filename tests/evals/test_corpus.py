"""The sample documents are what their sources say, and the golden set is true of them."""

from __future__ import annotations

import hashlib
import html
import re
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any

import pypdfium2
import pytest
import yaml

EVALS = Path(__file__).parents[2] / "evals"
CORPUS = EVALS / "corpus"
TAGS = {
    "ambiguous", "code", "edition", "false-premise", "follow-up", "injection", "lookup",
    "multi-hop", "near-miss", "non-english", "numeric", "other-tenant", "out-of-scope",
    "paraphrase", "scoped", "table", "typo",
}  # fmt: skip
FIELDS = {
    "id", "organization", "question", "history", "scope", "relevant", "answer_must_include",
    "answer_must_not_include", "expect", "absent", "tags",
}  # fmt: skip


def load(path: Path) -> Any:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


MANIFEST: list[dict[str, Any]] = load(CORPUS / "manifest.yaml")["documents"]
HOSTILE: list[dict[str, Any]] = load(CORPUS / "hostile" / "manifest.yaml")["documents"]
CASES: list[dict[str, Any]] = load(EVALS / "golden" / "folio.yaml")["cases"]
DEMO: list[dict[str, Any]] = load(CORPUS / "demo.yaml")["questions"]
BY_NAME = {Path(d["path"]).name: d for d in MANIFEST + HOSTILE}


def folded(text: str) -> str:
    """Join hyphenated line ends, make white space one blank, ignore case."""
    return re.sub(r"\s+", " ", re.sub("[\ufffe\x02\u00ad]\\s*", "", text)).strip().casefold()


@cache
def pages(name: str) -> tuple[str, ...]:
    """The folded text of each physical page of a built document."""
    path = CORPUS / BY_NAME[name]["path"]
    if path.suffix == ".pdf":
        with pypdfium2.PdfDocument(path) as pdf:
            return tuple(folded(page.get_textpage().get_text_range()) for page in pdf)
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".html":
        text = html.unescape(re.sub(r"<!--.*?-->|<[^>]+>", " ", text, flags=re.DOTALL))
    if path.suffix == ".md":  # a quote of a table reads across its cells
        text = text.replace("|", " ")
    return tuple(folded(page) for page in text.split("\f"))


def where(name: str, text: str) -> list[int]:
    return [i for i, page in enumerate(pages(name)) if folded(text) in page]


def named(cases: list[dict[str, Any]]) -> list[Any]:
    return [pytest.param(case, id=case["id"]) for case in cases]


# The documents


@pytest.mark.slow
def test_a_rebuild_is_byte_identical() -> None:
    pytest.importorskip("fpdf", reason="fpdf2 sets the PDFs; it is in the dev group")
    from evals.corpus.build import build

    files = build()
    differing = [n for n, content in files.items() if (CORPUS / n).read_bytes() != content]
    assert not differing, "run python -m evals.corpus.build and commit what it wrote"


def test_every_built_file_has_a_source() -> None:
    folders = {Path(d["path"]).parts[0] for d in MANIFEST + HOSTILE}
    on_disk = {
        p.relative_to(CORPUS).as_posix()
        for folder in folders
        for p in (CORPUS / folder).rglob("*")
        if p.is_file() and p.name != "manifest.yaml"
    }
    assert on_disk == {d["path"] for d in MANIFEST + HOSTILE}


def test_the_corpus_is_large_and_varied_enough() -> None:
    assert len(MANIFEST) >= 12
    assert sum(d["pages"] for d in MANIFEST) >= 150
    assert len({(d["organization"], d["collection"]) for d in MANIFEST}) == 4
    assert {Path(d["path"]).suffix for d in MANIFEST} == {".pdf", ".md", ".html", ".txt"}
    assert len(HOSTILE) >= 15
    assert len({d["pattern"] for d in HOSTILE}) == len(HOSTILE)
    built = [CORPUS / d["path"] for d in MANIFEST + HOSTILE]
    assert sum(p.stat().st_size for p in built) < 3_000_000


def test_file_names_are_unique_because_the_golden_set_uses_them() -> None:
    assert len(BY_NAME) == len(MANIFEST) + len(HOSTILE)


def expand(runs: list[str]) -> list[str]:
    """["i-iii", "1-2", "A-1"] to [i, ii, iii, 1, 2, A-1]."""
    roman = ["i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x"]
    labels: list[str] = []
    for run in runs:
        first, _, last = run.partition("-")
        if not last or first.isupper():
            labels.append(run)
        elif first in roman:
            labels += roman[roman.index(first) : roman.index(last) + 1]
        else:
            labels += [str(n) for n in range(int(first), int(last) + 1)]
    return labels


@pytest.mark.parametrize("entry", [pytest.param(d, id=d["path"]) for d in MANIFEST + HOSTILE])
def test_manifest_states_pages_and_printed_labels(entry: dict[str, Any]) -> None:
    path = CORPUS / entry["path"]
    if path.suffix != ".pdf":
        assert entry["labels"] == []
        assert entry["pages"] == len(pages(path.name))
        return
    with pypdfium2.PdfDocument(path) as pdf:
        assert entry["pages"] == len(pdf)
        assert expand(entry["labels"]) == [pdf.get_page_label(i) for i in range(len(pdf))]


def test_front_matter_makes_index_and_label_differ() -> None:
    roman = [d for d in MANIFEST if d["labels"] and d["labels"][0].startswith("i")]
    assert len(roman) >= 5


def test_a_pdf_has_hyphenated_line_ends() -> None:
    with pypdfium2.PdfDocument(CORPUS / BY_NAME["staff-handbook-2025.pdf"]["path"]) as pdf:
        text = "".join(page.get_textpage().get_text_range() for page in pdf)
    assert len(re.findall("\\w\ufffe|\\w-\r?\n\\w", text)) >= 5


@pytest.mark.parametrize("entry", [pytest.param(d, id=d["pattern"]) for d in HOSTILE])
def test_a_hostile_document_holds_the_truth_and_the_attack(entry: dict[str, Any]) -> None:
    path = CORPUS / entry["path"]
    assert where(path.name, entry["honest"])
    if path.suffix == ".pdf":
        attack = " ".join(pages(path.name))
    else:
        attack = folded(path.read_text(encoding="utf-8") + path.name)
    encoded = entry["pattern"] == "order in base64"
    assert (folded(entry["canary"]) in attack) is not encoded


# The golden set


def test_ids_are_unique_and_fields_are_known() -> None:
    assert len({case["id"] for case in CASES}) == len(CASES) >= 100
    for case in CASES:
        assert set(case) <= FIELDS, case["id"]
        assert set(case["tags"]) <= TAGS, case["id"]
        assert case["expect"] in {"answer", "abstain", "clarify", "refuse"}, case["id"]


def test_every_type_of_question_is_there() -> None:
    assert {tag for case in CASES for tag in case["tags"]} == TAGS


def test_a_fifth_must_not_be_answered() -> None:
    unanswerable = [case for case in CASES if case["expect"] in {"abstain", "refuse"}]
    assert len(unanswerable) >= 25
    assert len(unanswerable) / len(CASES) >= 0.2


def test_about_a_fifth_is_held_out_by_hash() -> None:
    held = [c for c in CASES if int(hashlib.sha256(c["id"].encode()).hexdigest(), 16) % 5 == 0]
    assert 0.15 <= len(held) / len(CASES) <= 0.3


@pytest.mark.parametrize("case", named([c for c in CASES if c["expect"] == "answer"]))
def test_the_answer_stands_on_the_pages_named(case: dict[str, Any]) -> None:
    top = []
    for item in case["relevant"]:
        name, page = item["document"], item["page"]
        assert BY_NAME[name]["organization"] == case["organization"]
        assert 1 <= item["grade"] <= 3
        found = where(name, item["quote"])
        assert page in found, f"{name}: the quote stands on pages {found}, not on {page}"
        if item["grade"] == 3:
            top.append(pages(name)[page])
    assert len({(i["document"], i["page"]) for i in case["relevant"]}) == len(case["relevant"])
    assert top, "at least one page of grade 3"
    wanted = [[w] if isinstance(w, str) else w for w in case["answer_must_include"]]
    for alternatives in wanted:
        assert any(folded(a) in text for a in alternatives for text in top), alternatives
    for text in top:
        assert any(folded(a) in text for alternatives in wanted for a in alternatives)


@pytest.mark.parametrize("case", named([c for c in CASES if c["expect"] != "answer"]))
def test_an_unanswerable_question_has_no_answer_in_the_organization(case: dict[str, Any]) -> None:
    assert "relevant" not in case
    assert "answer_must_include" not in case
    for text in case.get("absent", []):
        for name, entry in BY_NAME.items():
            if entry["organization"] == case["organization"]:
                assert not where(name, text), f"{text!r} stands in {name}"


@pytest.mark.parametrize("case", named([c for c in CASES if "other-tenant" in c["tags"]]))
def test_another_organization_could_answer(case: dict[str, Any]) -> None:
    others = [n for n, e in BY_NAME.items() if e["organization"] != case["organization"]]
    for text in case.get("absent", []):
        assert any(where(name, text) for name in others), f"{text!r} stands nowhere"


@pytest.mark.parametrize("case", named([c for c in CASES if "scope" in c]))
def test_a_scope_leaves_the_relevant_documents_and_narrows_the_rest(case: dict[str, Any]) -> None:
    scope = case["scope"]
    assert set(scope) <= {"kinds", "collections", "published_from", "published_until"}
    inside = {
        name
        for name, d in BY_NAME.items()
        if d["organization"] == case["organization"]
        and d["kind"] in scope.get("kinds", [d["kind"]])
        and d["collection"] in scope.get("collections", [d["collection"]])
        and date.fromisoformat(scope.get("published_from", "0001-01-01"))
        <= d["published_on"]
        <= date.fromisoformat(scope.get("published_until", "9999-12-31"))
    }
    assert inside
    assert {item["document"] for item in case.get("relevant", [])} <= inside


@pytest.mark.parametrize("question", named(DEMO))
def test_the_demo_questions_are_true(question: dict[str, Any]) -> None:
    if "document" not in question:
        assert question["expect"] == "abstain"
        return
    name, page = question["document"], question["page"]
    owner = question.get("answered_by", question["organization"])
    assert BY_NAME[name]["organization"] == owner
    assert expand(BY_NAME[name]["labels"])[page] == question["label"]
    for text in question["include"]:
        assert folded(text) in pages(name)[page]
    if owner != question["organization"]:
        own = [n for n, d in BY_NAME.items() if d["organization"] == question["organization"]]
        assert not any(where(n, text) for n in own for text in question["include"])

"""SciFact (Wadden et al., 2020) as CSV: abstracts, and claims with the documents that they cite."""

import csv
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from evals.datasets import Collection, Passage, Query
from evals.datasets.beir import require_relevant
from evals.files import BadFile, read_text

# `abstract` is the print of an array of strings: each quoted with ' or ", next to each other without commas.
SENTENCE = re.compile(r"'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\"", re.DOTALL)


def load_scifact(data: Path) -> Collection:
    """5,183 abstracts and 809 claims of the training split; a cited document is relevant (grade 1).

    A claim with evidence has a row per evidence document, so rows of one claim are joined.
    """
    folder = data / "scifact"
    passages = tuple(
        Passage(row["doc_id"], row["title"], " ".join(sentences(row["abstract"])))
        for _, row in _rows(folder / "corpus_train.csv")
    )
    known = {passage.id for passage in passages}
    queries: dict[str, Query] = {}
    qrels: dict[str, dict[str, int]] = {}
    path = folder / "claims_train.csv"
    for line, row in _rows(path):
        cited = re.findall(r"\d+", row["cited_doc_ids"])
        missing = sorted(set(cited) - known)
        if missing:
            raise BadFile(path, line, f"document {missing[0]} is not in corpus_train.csv")
        queries[row["id"]] = Query(row["id"], row["claim"])
        qrels.setdefault(row["id"], {}).update(dict.fromkeys(cited, 1))
    require_relevant(path, qrels)
    return Collection("scifact", passages, tuple(queries.values()), qrels)


def sentences(printed: str) -> list[str]:
    """The strings of a printed array, unescaped."""
    found = [single or double for single, double in SENTENCE.findall(printed)]
    return [
        re.sub(r"\\(.)", lambda m: {"n": "\n", "t": "\t"}.get(m[1], m[1]), text) for text in found
    ]


def _rows(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    csv.field_size_limit(min(sys.maxsize, 2**24))
    reader = csv.DictReader(read_text(path).splitlines(keepends=True))
    for row in reader:
        yield reader.line_num, row

"""TREC files, in and out. A run: `query Q0 document rank score tag`; qrels: `query 0 document grade`."""

import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from evals.datasets.beir import require_relevant
from evals.files import BadFile, read_lines
from evals.scoring.metrics import order


def read_run(path: Path) -> dict[str, list[str]]:
    """Rankings by query: by score, equal scores by rank, then id. The ranks of the file only break ties.

    BadFile for a document ranked twice in a query (castorini/anserini#720), a score that is not finite
    (beir-cellar/beir#126), or an empty file.
    """
    found: dict[str, dict[str, tuple[float, int]]] = {}
    for line, text in read_lines(path):
        cells = text.split()
        if len(cells) != 6:
            raise BadFile(
                path, line, f"expected `query Q0 document rank score tag`, found {len(cells)} cells"
            )
        query, _, document, rank, score, _ = cells
        try:
            place = (float(score), int(rank))
        except ValueError:
            raise BadFile(path, line, f"rank {rank!r} or score {score!r} is not a number") from None
        if not math.isfinite(place[0]):
            raise BadFile(
                path, line, f"the score {score} is not finite; repair the model that wrote it"
            )
        if document in found.setdefault(query, {}):
            raise BadFile(
                path, line, f"{document} is ranked twice for query {query}; keep its best line"
            )
        found[query][document] = place
    if not found:
        raise BadFile(path, 0, "no ranking in this run; check the file")
    return {
        query: sorted(places, key=lambda d, p=places: (-p[d][0], p[d][1], d))  # type: ignore[misc]
        for query, places in found.items()
    }


def check_ids(run: Mapping[str, Iterable[str]]) -> None:
    """ValueError for a query or a document that a line of white-space separated cells cannot name."""
    for query, documents in run.items():
        for name in (query, *documents):
            if len(name.split()) != 1:
                raise ValueError(
                    f"a TREC run cannot hold the id {name!r}: rename it, without spaces"
                )


def write_run(path: Path, run: Mapping[str, Sequence[str] | Mapping[str, float]], tag: str) -> None:
    """Writes rankings, or scores, as a run whose scores strictly decrease from rank to rank.

    Evaluators break ties in their own ways, some in the run's favour (cvangysel/pytrec_eval#56), so the score
    written is n + 1 - rank, never the model's. ValueError for an id with white space, or one ranked twice.
    """
    check_ids(run)
    lines = []
    for query in sorted(run):
        given = run[query]
        ranking = order(given) if isinstance(given, Mapping) else list(given)
        if len(set(ranking)) != len(ranking):
            raise ValueError(f"query {query}: a document is ranked twice; each may be ranked once")
        lines += [
            f"{query} Q0 {document} {rank} {len(ranking) + 1 - rank} {tag}\n"
            for rank, document in enumerate(ranking, 1)
        ]
    path.write_text("".join(lines), encoding="utf-8")


def read_qrels(path: Path) -> dict[str, dict[str, int]]:
    """Grades by query and document. BadFile for a malformed line, a pair judged twice, or no relevant pair."""
    qrels: dict[str, dict[str, int]] = {}
    for line, text in read_lines(path):
        cells = text.split()
        if len(cells) != 4:
            raise BadFile(
                path, line, f"expected `query 0 document grade`, found {len(cells)} cells"
            )
        query, _, document, grade = cells
        try:
            value = int(grade)
        except ValueError:
            raise BadFile(path, line, f"the grade {grade!r} is not an integer") from None
        if document in qrels.setdefault(query, {}):
            raise BadFile(path, line, f"{query} and {document} are judged twice; keep one line")
        qrels[query][document] = value
    require_relevant(path, qrels)
    return qrels


def write_qrels(path: Path, qrels: Mapping[str, Mapping[str, int]]) -> None:
    """Writes grades, sorted by query and document."""
    path.write_text(
        "".join(
            f"{query} 0 {document} {grade}\n"
            for query in sorted(qrels)
            for document, grade in sorted(qrels[query].items())
        ),
        encoding="utf-8",
    )

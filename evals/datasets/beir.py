"""The BEIR layout (Thakur et al., 2021): corpus.jsonl, queries.jsonl and qrels/<split>.tsv in one folder."""

from pathlib import Path

from evals.datasets import Collection, Passage, Query
from evals.files import BadFile, read_jsonl, read_lines, text_of


def load_beir(folder: Path, split: str = "test") -> Collection:
    """Reads a folder. Queries that the split does not judge are left out. BadFile for what is malformed."""
    passages = read_corpus(folder / "corpus.jsonl")
    qrels = read_qrels(folder / "qrels" / f"{split}.tsv", {passage.id for passage in passages})
    queries = [
        Query(text_of(path, line, row, "_id"), text_of(path, line, row, "text"))
        for path in [folder / "queries.jsonl"]
        for line, row in read_jsonl(path)
    ]
    missing = sorted(qrels.keys() - {query.id for query in queries})
    if missing:
        raise BadFile(
            folder / "queries.jsonl",
            0,
            f"the qrels judge query {missing[0]}, which is not here ({len(missing)} such); add it",
        )
    judged = tuple(query for query in queries if query.id in qrels)
    return Collection(folder.name, passages, judged, qrels)


def read_corpus(path: Path) -> tuple[Passage, ...]:
    """corpus.jsonl: objects with _id, title (may be left out) and text. BadFile for an id that comes twice."""
    passages: dict[str, Passage] = {}
    for line, row in read_jsonl(path):
        name = text_of(path, line, row, "_id")
        if name in passages:
            raise BadFile(path, line, f"document {name} is here twice; keep one")
        passages[name] = Passage(
            name, str(row.get("title") or ""), text_of(path, line, row, "text")
        )
    if not passages:
        raise BadFile(path, 0, "no document in it; expected one JSON object a line")
    return tuple(passages.values())


def read_qrels(path: Path, documents: set[str]) -> dict[str, dict[str, int]]:
    """Tab-separated query-id, corpus-id, score under a header line.

    BadFile for an unknown document, a grade that is no integer, a pair judged twice, or no relevant pair at all.
    """
    qrels: dict[str, dict[str, int]] = {}
    for line, text in read_lines(path):
        cells = text.split("\t")
        if line == 1 and not cells[-1].lstrip("-").isdigit():
            continue
        if len(cells) != 3:
            raise BadFile(path, line, f"expected query, document, grade; found {len(cells)} cells")
        query, document, grade = cells
        if document not in documents:
            raise BadFile(
                path, line, f"document {document} is not in corpus.jsonl; add it or drop the line"
            )
        try:
            value = int(grade)
        except ValueError:
            raise BadFile(path, line, f"the grade {grade!r} is not an integer") from None
        if document in qrels.setdefault(query, {}):
            raise BadFile(path, line, f"{query} and {document} are judged twice; keep one line")
        qrels[query][document] = value
    require_relevant(path, qrels)
    return qrels


def require_relevant(path: Path, qrels: dict[str, dict[str, int]]) -> None:
    """BadFile where no pair is relevant."""
    if not any(grade > 0 for grades in qrels.values() for grade in grades.values()):
        raise BadFile(
            path, 0, "no relevant pair in these qrels, so nothing can be measured; check the file"
        )

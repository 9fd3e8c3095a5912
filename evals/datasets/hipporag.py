"""The HotpotQA and MuSiQue samples of HippoRAG (Gutiérrez et al., 2024): questions that need two or more passages."""

import json
from pathlib import Path
from typing import Any

from evals.datasets import Collection, Passage, Query
from evals.files import BadFile, read_text


def load_hotpotqa(data: Path) -> Collection:
    """100 questions over 994 passages; a title, by which they are named, is no id that a TREC run can hold."""
    folder = data / "hipporag_multihop" / "data"
    corpus = _json(folder / "hotpotqa_train_corpus.json")
    passages = tuple(
        Passage(f"{number}", title, "".join(sentences))
        for number, (title, sentences) in enumerate(corpus.items())
    )
    names = {passage.title: passage.id for passage in passages}
    rows = _json(folder / "hotpotqa_train.json")
    queries = tuple(Query(row["_id"], row["question"], answers=(row["answer"],)) for row in rows)
    qrels = {
        # An unknown title stays as it is, and is told below.
        row["_id"]: {names.get(title, title): 1 for title, _ in row["supporting_facts"]}
        for row in rows
    }
    return _known(folder / "hotpotqa_train.json", Collection("hotpotqa", passages, queries, qrels))


def load_musique(data: Path) -> Collection:
    """100 questions over 1,890 passages; titles repeat, so a passage is known by title and text."""
    folder = data / "hipporag_multihop" / "data"
    corpus = _json(folder / "musique_train_corpus.json")
    passages = tuple(
        Passage(f"{number}", row["title"], row["text"]) for number, row in enumerate(corpus)
    )
    names = {(passage.title, passage.text): passage.id for passage in passages}
    rows = _json(folder / "musique_train.json")
    queries = tuple(Query(row["id"], row["question"], answers=(row["answer"],)) for row in rows)
    qrels = {
        row["id"]: {
            names[p["title"], p["paragraph_text"]]: 1
            for p in row["paragraphs"]
            if p["is_supporting"]
        }
        for row in rows
    }
    return _known(folder / "musique_train.json", Collection("musique", passages, queries, qrels))


def _json(path: Path) -> Any:
    try:
        return json.loads(read_text(path))
    except ValueError:
        raise BadFile(path, 0, "not JSON; fetch it again") from None


def _known(path: Path, collection: Collection) -> Collection:
    documents = {passage.id for passage in collection.passages}
    for query, grades in collection.qrels.items():
        for document in grades.keys() - documents:
            raise BadFile(
                path, 0, f"question {query} names passage {document!r}, not in the corpus"
            )
    return collection

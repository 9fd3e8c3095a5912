"""MTRAG-UN, human part (Katsis et al., 2025): turns of conversations, some unanswerable or underspecified."""

from pathlib import Path

from evals.datasets import Collection, Passage, Query
from evals.files import read_jsonl, text_of

SPEAKERS = {"user": "user", "agent": "assistant"}


def load_mtrag(data: Path) -> Collection:
    """507 last turns with their history over the contexts that the set gives; a task's own contexts are relevant."""
    path = data / "mtrag" / "mtragun-human" / "generation_tasks" / "reference.jsonl"
    passages: dict[str, Passage] = {}
    queries, qrels = [], {}
    for line, row in read_jsonl(path):
        name = text_of(path, line, row, "task_id")
        *before, last = row["input"]
        kind = row["answerability"][0].lower()
        answerable = kind in {"answerable", "partial"}
        contexts = {context["document_id"]: context["text"] for context in row["contexts"]}
        passages.update({key: Passage(key, "", text) for key, text in contexts.items()})
        queries.append(
            Query(
                name,
                last["text"],
                answerable,
                history=tuple((SPEAKERS[turn["speaker"]], turn["text"]) for turn in before),
                answers=tuple(target["text"] for target in row["targets"]),
                tags=(kind,),
            )
        )
        qrels[name] = dict.fromkeys(contexts, int(answerable))
    return Collection("mtrag", tuple(passages.values()), tuple(queries), qrels)

"""CLAP NQ dev (Rosenthal et al., 2024): long answers over one Wikipedia passage each; half have no answer."""

from pathlib import Path

from evals.datasets import Collection, Passage, Query
from evals.files import read_jsonl, text_of


def load_clapnq(data: Path) -> Collection:
    """300 answerable and 300 unanswerable questions over their 600 passages.

    The passage of an unanswerable question has grade 0: it is on the topic and does not answer.
    """
    folder = data / "clapnq" / "annotated_data" / "dev"
    passages: dict[str, Passage] = {}
    queries, qrels = [], {}
    for kind, answerable in (("answerable", True), ("unanswerable", False)):
        path = folder / f"clapnq_dev_{kind}.jsonl"
        for line, row in read_jsonl(path):
            name = text_of(path, line, row, "id")
            for number, passage in enumerate(row["passages"]):
                key = f"{name}-{number}"
                passages[key] = Passage(key, passage["title"], passage["text"])
            answers = tuple(entry["answer"] for entry in row["output"] if entry["answer"])
            queries.append(
                Query(name, text_of(path, line, row, "input"), answerable, answers=answers)
            )
            qrels[name] = {
                f"{name}-{number}": int(answerable) for number in range(len(row["passages"]))
            }
    return Collection("clapnq", tuple(passages.values()), tuple(queries), qrels)

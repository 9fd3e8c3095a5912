"""Fits the alignment judge on statements made from SQuAD train, and measures it on WiCE and CLAPnq.

    python -m evals.training.fit_alignment_judge fit DATA services/generator/judges/alignment.json
    python -m evals.training.fit_alignment_judge measure DATA

A statement is a question with its answer; a false one carries another answer of the article, or has evidence from
another paragraph. Nothing of WiCE or CLAPnq is trained on.
"""

import gzip
import json
import random
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from evals.training.fit_extractive import auc, logistic, run
from services.generator.judges.alignment import FEATURES, AlignmentJudge, features
from services.minilm.model import MiniLM

SEED = 20250607
Pair = tuple[str, list[str], bool]


def squad_statements(data: Path, count: int) -> Iterator[Pair]:
    chance = random.Random(SEED)
    with gzip.open(data / "squad/train-v1.1.from-html.json.gz", "rt") as file:
        articles = json.load(file)["data"]
    for number in range(count):
        article = chance.choice(articles)
        asked = [(p, qa) for p in article["paragraphs"] for qa in p["qas"] if qa["answers"]]
        paragraph, qa = chance.choice(asked)
        answer, evidence = qa["answers"][0], paragraph["context"]
        if number % 4 == 1:
            answer = chance.choice([one["answers"][0] for _, one in asked])
        elif number % 4 == 3:
            answer = chance.choice(
                [one["answers"][0] for one in paragraph["qas"] if one["answers"]]
            )
        elif number % 8 == 6:
            evidence = chance.choice(article["paragraphs"])["context"]
        supported = answer in qa["answers"] and any(one in evidence for one in qa["answers"])
        yield f"{qa['question'].rstrip(' ?')} {answer}.", [evidence], supported


def wice(data: Path, count: int) -> Iterator[tuple[str, list[str], str]]:
    lines = (data / "wice/data/entailment_retrieval/claim/dev.jsonl").read_text().splitlines()
    for line in lines[:count]:
        item = json.loads(line)
        yield item["claim"], item["evidence"], item["label"]


def clapnq(data: Path, count: int) -> Iterator[Pair]:
    """Gold answers with their own passage, and with the passage of the next question."""
    lines = (
        (data / "clapnq/annotated_data/dev/clapnq_dev_answerable.jsonl").read_text().splitlines()
    )
    items = [json.loads(line) for line in lines[:count]]
    for item, other in zip(items, [*items[1:], items[0]], strict=True):
        answer = item["output"][0]["answer"]
        yield answer, [passage["text"] for passage in item["passages"]], True
        yield answer, [passage["text"] for passage in other["passages"]], False


def fit(data: Path, out: Path, count: int) -> None:
    encoder = MiniLM.load()
    rows, labels = [], []
    for sentence, evidence, supported in squad_statements(data, count):
        found = features(encoder, sentence, evidence)
        if found is not None:
            rows.append(found)
            labels.append(float(supported))
    x, y = np.array(rows), np.array(labels)
    held = len(x) // 10
    model = logistic(x[held:], y[held:])
    held_auc = auc(model.logits(x[:held]), y[:held])
    weights = {name: round(float(w), 5) for name, w in zip(FEATURES, model.weights, strict=True)}
    report = {
        "fitted_on": "statements made from squad train-v1.1 (CC BY-SA 4.0) by evals/training/fit_alignment_judge.py",
        "seed": SEED,
        "examples": {"train": len(x) - held, "held_out": held},
        "held_out_auc": round(held_auc, 4),
        "weights": {**weights, "bias": round(model.bias, 5)},
    }
    out.write_text(json.dumps(report, indent=2) + "\n")
    print(json.dumps(report))


def measure(data: Path, count: int) -> None:
    judge = AlignmentJudge(MiniLM.load())
    rows = [(judge.support(s, e), label) for s, e, label in wice(data, count)]
    scores, full = (
        np.array([p for p, _ in rows]),
        np.array([float(one == "supported") for _, one in rows]),
    )
    none = np.array([float(one != "not_supported") for _, one in rows])
    print(
        f"wice dev: {len(rows)} claims, supported {full.mean():.3f};"
        f" AUC supported against the rest {auc(scores, full):.3f},"
        f" not supported against the rest {auc(scores, none):.3f};"
        f" accuracy at 0.5 {((scores >= 0.5) == (full > 0.5)).mean():.3f}"
    )
    pairs = [(judge.support(s, e), float(ok)) for s, e, ok in clapnq(data, count)]
    scores, labels = (np.array(column) for column in zip(*pairs, strict=True))
    print(
        f"clapnq dev: {len(pairs)} answers; AUC own against another passage {auc(scores, labels):.3f};"
        f" accuracy at 0.5 {((scores >= 0.5) == (labels > 0.5)).mean():.3f}"
    )


if __name__ == "__main__":
    run(__doc__, 1200, fit, measure)

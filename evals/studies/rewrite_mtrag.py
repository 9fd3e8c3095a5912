"""Measures the rule-based rewriting on MTRAG-UN conversations (human, Apache-2.0).

    python -m evals.studies.rewrite_mtrag DATA

Two things: how often it asks back, on messages that were labelled underspecified and on those that were answerable;
and, on answerable follow-ups, whether the rewrite lies nearer to the passages that answer it than the bare message.
"""

import argparse
import json
from collections import Counter
from pathlib import Path
from typing import Any

from services.generator.rewrite import Turn
from services.generator.rewrite.rules import rewrite
from services.minilm.model import MiniLM


def conversation(row: dict[str, Any]) -> tuple[str, list[Turn]]:
    """The last message and the turns before it."""
    *before, last = row["input"]
    return last["text"], [Turn(turn["speaker"] == "user", turn["text"]) for turn in before]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    arguments = parser.parse_args()
    path = arguments.data / "mtrag/mtragun-human/generation_tasks/reference.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    outcomes: dict[str, Counter[str]] = {}
    changed: list[tuple[str, str, list[str]]] = []
    for row in rows:
        message, history = conversation(row)
        done = rewrite(message, history)
        what = (
            "asked back" if done.clarification else "unchanged" if done.unchanged else "rewritten"
        )
        label = f"{row['answerability'][0].lower()}, {'with' if history else 'no'} history"
        outcomes.setdefault(label, Counter())[what] += 1
        if what == "rewritten" and row["answerability"] == ["ANSWERABLE"] and row["contexts"]:
            changed.append((message, done.standalone, [one["text"] for one in row["contexts"]]))
    for label, counts in sorted(outcomes.items()):
        print(f"{label}: {sum(counts.values())} messages, {dict(counts)}")
    encoder = MiniLM.load()
    gains = []
    for message, standalone, contexts in changed:
        bare, better, *passages = encoder.embed([message, standalone, *contexts])
        gains.append(
            max(float(better @ p) for p in passages) - max(float(bare @ p) for p in passages)
        )
    if gains:
        nearer = sum(gain > 0 for gain in gains)
        print(
            f"answerable and rewritten: {len(gains)}; nearer to the best gold passage {nearer},"
            f" farther {len(gains) - nearer}; mean change of the cosine {sum(gains) / len(gains):+.3f}"
        )


if __name__ == "__main__":
    main()

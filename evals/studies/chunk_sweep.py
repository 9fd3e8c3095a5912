"""Chunk sizes against each other: the same documents and questions, one suite per size, rows for CHUNKING.md."""

import asyncio
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from evals.environment import commit
from evals.evaluation import evaluate, own_suite
from evals.files import BadFile, read_text
from evals.golden import GoldenSet
from evals.rungs import FUSED, LATE, PASSAGES
from evals.session import Plan, Progress
from services.rpc.errors import FolioError

SIZES = (256, 500, 1000)
RUNGS = (FUSED, LATE, PASSAGES)
BEGIN, END = "<!-- folio eval chunks: begin -->", "<!-- folio eval chunks: end -->"
# The share of a chunk that the next repeats: the default 50 of 500.
OVERLAP = 0.1


@dataclass(frozen=True)
class Sized:
    """What one size gave; `refused` says why there are no numbers."""

    size: int
    overlap: int
    summary: dict[str, Any] | None
    refused: str = ""


def measure(
    golden: GoldenSet,
    folder: Path,
    progress: Progress,
    sizes: Sequence[int] = SIZES,
    concurrency: int = 2,
) -> list[Sized]:
    """Runs a suite per size in `folder`, one after the other. A size that is refused is a row with the reason."""
    found = []
    for size in sizes:
        overlap = round(size * OVERLAP)
        settings = {"FOLIO_CHUNK_TOKENS": str(size), "FOLIO_CHUNK_OVERLAP": str(overlap)}
        plan = Plan(RUNGS, folder / f"chunks-{size}", concurrency=concurrency, fresh=True)
        try:
            with own_suite(folder / f"suite-{size}", golden, settings) as connection:
                summary = asyncio.run(evaluate(connection, golden, plan, progress))
        except FolioError as error:
            found.append(Sized(size, overlap, None, error.message))
            continue
        found.append(Sized(size, overlap, summary))
    return found


def table(rows: Sequence[Sized]) -> str:
    """Markdown: a row per size and rung."""
    lines = [
        f"Measured {date.today().isoformat()} at commit {commit()} by `folio eval chunks`.",
        "",
        "| chunk | overlap | rung | NDCG@10 (95%) | recall@10 | pages read | correct | p50 ms |",
        "| ---: | ---: | --- | --- | ---: | ---: | ---: | ---: |",
    ]
    for row in rows:
        if row.summary is None:
            lines.append(
                f"| {row.size} | {row.overlap} | refused: {row.refused} | - | - | - | - | - |"
            )
            continue
        for rung in row.summary["rungs"]:
            if rung["status"] != "measured":
                lines.append(
                    f"| {row.size} | {row.overlap} | {rung['name']}: {rung['reason']} | - | - | - | - | - |"
                )
                continue
            ndcg, recall = rung["metrics"]["ndcg@10"], rung["metrics"]["recall@10"]
            lines.append(
                f"| {row.size} | {row.overlap} | {rung['name']} | {ndcg['mean']:.3f} ({ndcg['low']:.3f} to"
                f" {ndcg['high']:.3f}) | {recall['mean']:.3f} | {rung['source_recall']:.3f} |"
                f" {rung['answers']['counts']['correct']} of {rung['cases'] - rung['failed']} |"
                f" {rung['latency_ms']['total']['p50']:.0f} |"
            )
    return "\n".join(lines) + "\n"


def fill(path: Path, text: str) -> None:
    """Puts the table between the two marks of CHUNKING.md. BadFile where they are not there."""
    before = read_text(path)
    pattern = re.compile(re.escape(BEGIN) + ".*?" + re.escape(END), re.DOTALL)
    if not pattern.search(before):
        raise BadFile(
            path, 0, f"no place for the table; put {BEGIN} and {END} on lines of their own"
        )
    path.write_text(pattern.sub(lambda _: f"{BEGIN}\n{text}{END}", before), encoding="utf-8")

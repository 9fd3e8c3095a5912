"""`make eval` and the gate of CI: the suite on this machine, our documents, our working questions, the ladder."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from datetime import date
from pathlib import Path
from typing import Any

from evals import question
from evals.connection import Connection, started
from evals.golden import GoldenSet, load_golden
from evals.report.page import render
from evals.rungs import CONFIGURED, LADDER, LATE, Rung
from evals.scoring.comparison import read_summary
from evals.scoring.sweep import Sweep, sweep
from evals.session import Plan, Progress, ingest_golden, run_golden
from services.rpc.errors import FailedPrecondition

HERE = Path(__file__).parent
GOLDEN = HERE / "golden" / "folio.yaml"
CORPUS = HERE / "corpus" / "manifest.yaml"
BASELINE = HERE / "baseline.json"
RESULTS = HERE.parent / "docs" / "results"
FOLDER = Path("build/eval")
FULL_LADDER = (*LADDER, CONFIGURED)
# What the gate holds against the baseline: the whole, and the search without its rerankers.
GATE_RUNGS = (*LADDER[:3], LATE, CONFIGURED)
# The gate keeps no latencies and no steps: they change with the machine.
GATE_KEEPS = (
    "name",
    "title",
    "status",
    "reason",
    "switches",
    "cases",
    "failed",
    "failures",
    "metrics",
)


async def evaluate(
    connection: Connection, golden: GoldenSet, plan: Plan, progress: Progress
) -> dict[str, Any]:
    """Ingests what is missing, then runs. FailedPrecondition where a document cannot be ingested."""
    ingested = await ingest_golden(connection, golden, progress)
    for name, done in ingested.items():
        if done.failed:
            first, why = done.failed[0]
            raise FailedPrecondition(f"{name}: {len(done.failed)} documents failed; {first}: {why}")
    summary, _ = await run_golden(connection, golden, plan, progress)
    return {**summary, "ingest": {name: done.summary() for name, done in ingested.items()}}


async def sweep_rungs(
    connection: Connection,
    golden: GoldenSet,
    plan: Plan,
    progress: Progress,
    false_answer_cost: float = 1.0,
) -> list[Sweep]:
    """A sweep of the model that ranks last on each rung of the plan, from one run that always answers."""
    always = replace(plan, answer_threshold=question.ALWAYS)
    summary, measured = await run_golden(connection, golden, always, progress)
    found = {}
    for each in measured:
        if each.skipped:
            raise FailedPrecondition(f"{each.rung.name} cannot be swept: {each.skipped}")
        dataset = f"{summary['set']['name']} {golden.digest[:12]}"
        one = sweep(each.records, dataset, false_answer_cost=false_answer_cost)
        found[one.model, one.signal] = one
    return list(found.values())


def own_suite(folder: Path, golden: GoldenSet, environment: Mapping[str, str] | None = None) -> Any:
    """The suite for a golden set's organizations, as a context manager that gives a Connection."""
    return started(folder, golden.library.organizations, environment)


def load_sets(paths: Sequence[Path]) -> GoldenSet:
    """The given golden sets, or ours. FailedPrecondition where ours is not: an installed package leaves it out."""
    if not paths and not GOLDEN.exists():
        raise FailedPrecondition(
            "Folio's own questions and documents come with a checkout only; name yours with --golden"
        )
    return load_golden(paths or [GOLDEN])


def write(summary: Mapping[str, Any], folder: Path) -> tuple[Path, Path]:
    """<date>-<commit>.json and .html in the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    name = f"{date.today().isoformat()}-{summary['commit']}"
    if summary["set"]["name"] != "golden":
        name += f"-{summary['set']['name']}"
    data, page = folder / f"{name}.json", folder / f"{name}.html"
    data.write_text(json.dumps(summary, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    page.write_text(render(summary), encoding="utf-8")
    return data, page


def with_sweeps(summary: Mapping[str, Any], sweeps: Sequence[Sweep]) -> dict[str, Any]:
    """The summary with the curves in it."""
    rows = [
        {**asdict(one), "calibration": one.calibration.model_dump(mode="json")} for one in sweeps
    ]
    return {**summary, "sweeps": rows}


def read_baseline(path: Path = BASELINE) -> dict[str, Any]:
    """FailedPrecondition where there is none yet."""
    if not path.exists():
        raise FailedPrecondition(f"no baseline at {path}; make one with `folio eval gate --update`")
    return read_summary(path)


def write_baseline(summary: Mapping[str, Any], path: Path = BASELINE) -> None:
    """What the gate needs of a summary: its rungs, with the metric and the score of each question, without times.

    FailedPrecondition for a run with failed questions, which nothing would be held against, or with held-out ones.
    """
    if any(rung.get("failed") for rung in summary["rungs"]):
        raise FailedPrecondition(
            "a run with failed questions cannot be the baseline: fix what failed and run again"
        )
    if summary["set"]["held_out"]:
        raise FailedPrecondition(
            "a run with held-out cases cannot be the baseline: every gate would look at them"
        )
    metric = summary["main_metric"]
    gated = {rung.name for rung in GATE_RUNGS}
    rungs = [
        {
            **{key: rung[key] for key in GATE_KEEPS if key in rung},
            "metrics": {metric: rung["metrics"][metric]} if rung.get("metrics") else {},
            "questions": {
                name: {
                    "metrics": {metric: q["metrics"][metric]} if q.get("metrics") else {},
                    "score": q.get("score", ""),
                }
                for name, q in rung["questions"].items()
                if not q.get("failed")
            },
        }
        for rung in summary["rungs"]
        if rung["name"] in gated
    ]
    kept = {k: summary[k] for k in ("format", "started", "commit", "set", "models", "main_metric")}
    path.write_text(json.dumps({**kept, "rungs": rungs}, indent=1) + "\n", encoding="utf-8")


def rungs_named(names: Sequence[str]) -> tuple[Rung, ...]:
    """Rungs by name, in ladder order. FailedPrecondition for one that is none."""
    known = {rung.name: rung for rung in FULL_LADDER}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise FailedPrecondition(f"no rung {unknown[0]!r}; there are: {', '.join(known)}")
    return tuple(rung for name, rung in known.items() if name in names)

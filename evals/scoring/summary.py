"""A run in numbers: per rung the metrics with intervals, answers, latency, tokens, money, tags, and every question."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from evals.records import Record
from evals.runner import Measured
from evals.scoring.answers import NO_ANSWER, rates
from evals.scoring.metrics import METRICS
from evals.scoring.stats import Comparison, compare, interval, percentile

FORMAT = 2
# What rungs are compared by.
MAIN = "ndcg@10"


def summarise(
    measured: Sequence[Measured], about: Mapping[str, Any], main: str = MAIN
) -> dict[str, Any]:
    """One JSON value. `about` says what was run, on what and with what; it comes first."""
    rungs: list[dict[str, Any]] = []
    for each in measured:
        row = _rung(each)
        before = [rung for rung in rungs if rung["status"] == "measured"]
        if before and row["status"] == "measured":
            row["against"] = _against(before[-1], row, main)
            row["against_first"] = _against(before[0], row, main)
        rungs.append(row)
    return {"format": FORMAT, **about, "main_metric": main, "rungs": rungs}


def values(rung: Mapping[str, Any], metric: str) -> dict[str, float]:
    """Question -> value of a metric, of the questions that have it and did not fail."""
    return {
        name: question["metrics"][metric]
        for name, question in rung["questions"].items()
        if metric in question.get("metrics", {})
    }


def correctness(rung: Mapping[str, Any]) -> dict[str, float]:
    """Question -> 1 if its answer was correct, else 0; of the questions for which an answer could be made."""
    return {
        name: float(question["score"] == "correct")
        for name, question in rung["questions"].items()
        if question.get("score", "") not in NO_ANSWER
    }


def _rung(measured: Measured) -> dict[str, Any]:
    head = {
        "name": measured.rung.name,
        "title": measured.rung.title,
        "switches": sorted(name for name, on in measured.switches.items() if on),
    }
    if measured.skipped:
        return {**head, "status": "skipped", "reason": measured.skipped, "questions": {}}
    whole = [record for record in measured.records if not record.failed]
    broken = [record for record in measured.records if record.failed]
    return {
        **head,
        "status": "measured",
        "cases": len(measured.records),
        "failed": len(broken),
        "failures": sorted({record.failed for record in broken})[:20],
        "metrics": _metrics(whole),
        "answers": _answers(whole),
        "citation_precision": _mean(record.citation_precision for record in whole),
        "source_recall": _mean(record.source_recall for record in whole),
        "latency_ms": _latency(whole),
        "usage": _usage(whole),
        "models": _models(whole),
        "tags": _tags(whole),
        "questions": {record.case: _question(record) for record in measured.records},
    }


def _metrics(records: Iterable[Record]) -> dict[str, Any]:
    ranked = [record.metrics for record in records if record.metrics]
    if not ranked:
        return {}
    return {
        name: asdict(interval(np.array([metrics[name] for metrics in ranked]))) for name in METRICS
    }


def _answers(records: Sequence[Record]) -> dict[str, Any]:
    scored = [(record.expect, record.score) for record in records if record.score]
    return asdict(rates(scored)) if scored else {}


def _latency(records: Sequence[Record]) -> dict[str, Any]:
    """p50 and p95 of the whole and of each step, over the questions in which it ran."""
    times: dict[str, list[float]] = {"total": [record.elapsed_ms for record in records]}
    for record in records:
        for step in record.steps:
            if step.status == "ran":
                times.setdefault(step.step, []).append(step.elapsed_ms)
    return {
        step: {
            "p50": round(percentile(each, 0.5), 3),
            "p95": round(percentile(each, 0.95), 3),
            "count": len(each),
        }
        for step, each in times.items()
    }


def _usage(records: Iterable[Record]) -> dict[str, Any]:
    """Tokens in and out, and dollars; `unpriced` counts calls whose price is not known."""
    spent = [usage for record in records for usage in record.usage]
    return {
        "calls": len(spent),
        "input_tokens": sum(usage.input_tokens for usage in spent),
        "output_tokens": sum(usage.output_tokens for usage in spent),
        "cost_usd": sum(usage.cost_usd or 0.0 for usage in spent),
        "unpriced": sum(usage.cost_usd is None for usage in spent),
    }


def _models(records: Iterable[Record]) -> dict[str, str]:
    """Step -> model, as the replies named them."""
    found: dict[str, str] = {}
    for record in records:
        found |= {step.step: step.model for step in record.steps if step.model}
        found |= {"generate": record.generator} if record.generator else {}
    return dict(sorted(found.items()))


def _tags(records: Sequence[Record]) -> dict[str, Any]:
    rows: dict[str, Any] = {}
    for tag in sorted({tag for record in records for tag in record.tags}):
        tagged = [record for record in records if tag in record.tags]
        ranked = [record.metrics for record in tagged if record.metrics]
        scored = [record.score for record in tagged if record.score not in NO_ANSWER]
        rows[tag] = {
            "count": len(tagged),
            **{name: _mean(m[name] for m in ranked) for name in (MAIN, "hit@5", "recall@10")},
            "correct": _mean(float(score == "correct") for score in scored),
        }
    return rows


def _question(record: Record) -> dict[str, Any]:
    if record.failed:
        return {"failed": record.failed}
    return {
        "metrics": {name: round(value, 6) for name, value in record.metrics.items()},
        "score": record.score,
        "outcome": record.outcome,
        "elapsed_ms": round(record.elapsed_ms, 3),
        "probability": round(record.probability, 6),
        # Where each relevant item stands in each step's order; 0 where it is not.
        "ranks": {
            ranking.step: {
                item: ranking.items.index(item) + 1 if item in ranking.items else 0
                for item, grade in record.judgements.items()
                if grade > 0
            }
            for ranking in record.rankings
        },
        "steps": {s.step: round(s.elapsed_ms, 2) for s in record.steps if s.status == "ran"},
    }


def _against(a: Mapping[str, Any], b: Mapping[str, Any], metric: str) -> dict[str, Any] | None:
    try:
        found = compare(values(a, metric), values(b, metric))
    except ValueError:
        return None
    return {"rung": a["name"], **as_json(found)}


def as_json(found: Comparison) -> dict[str, Any]:
    """A comparison with its verdict."""
    return {**asdict(found), "verdict": found.verdict}


def _mean(numbers: Iterable[float | None]) -> float | None:
    known = [number for number in numbers if number is not None]
    return sum(known) / len(known) if known else None

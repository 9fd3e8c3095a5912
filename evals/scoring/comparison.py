"""Two runs, or two rungs, side by side; and the gate that stops a release that got worse."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evals.files import BadFile, read_text
from evals.scoring.metrics import METRICS
from evals.scoring.stats import SAME, Comparison, compare
from evals.scoring.summary import FORMAT, correctness, values

# How much worse the mean may be before an interval that leaves out 0 stops a release.
TOLERANCE = 0.01


@dataclass(frozen=True)
class Flip:
    """One question that changed."""

    question: str
    before: float
    after: float

    @property
    def change(self) -> float:
        return self.after - self.before


@dataclass(frozen=True)
class Sided:
    """B against A on one rung: by the ranking metric, and by correct answers where there are any."""

    rung_a: str
    rung_b: str
    metric: str
    ranking: Comparison | None
    answers: Comparison | None
    flips: tuple[Flip, ...]


def read_summary(path: Path) -> dict[str, Any]:
    """A summary that a run wrote. BadFile if it is none, or of another format."""
    try:
        found = json.loads(read_text(path))
    except json.JSONDecodeError as error:
        raise BadFile(path, error.lineno, "not JSON; run the evaluation again") from None
    if not isinstance(found, dict) or not found.get("rungs"):
        raise BadFile(path, 0, "not a summary; run the evaluation again")
    if found.get("format") != FORMAT:
        raise BadFile(
            path,
            0,
            f"a summary of format {found.get('format')}, from another version of Folio; this one reads format {FORMAT}:"
            " run the evaluation again",
        )
    return found


def rung_of(summary: Mapping[str, Any], name: str = "") -> dict[str, Any]:
    """A rung by name, or the last one measured. KeyError says what there is."""
    measured = [rung for rung in summary["rungs"] if rung["status"] == "measured"]
    found = [rung for rung in measured if not name or rung["name"] == name]
    if not found:
        names = ", ".join(rung["name"] for rung in measured) or "none"
        raise KeyError(f"no measured rung {name!r}; there are: {names}")
    return dict(found[-1])


def check_comparable(a: Mapping[str, Any], b: Mapping[str, Any]) -> None:
    """ValueError for summaries of two sets: the same id is another question there.

    Of the same digest, they are one set that was asked in two ways, and the name says how.
    """
    one, other = a["set"], b["set"]
    same = one["name"] == other["name"] or (one["digest"] and one["digest"] == other["digest"])
    if not same:
        raise ValueError(f"{one['name']} and {other['name']} are two sets; compare runs of one")


def side_by_side(a: Mapping[str, Any], b: Mapping[str, Any], metric: str, worst: int = 10) -> Sided:
    """Rung B against rung A, with the questions that lost most first.

    ValueError for a metric that is none, or where no question is shared.
    """
    if metric not in METRICS:
        raise ValueError(f"no metric {metric!r}; there are: {', '.join(METRICS)}")
    before, after = values(a, metric), values(b, metric)
    right_a, right_b = correctness(a), correctness(b)
    if not before.keys() & after.keys() and not right_a.keys() & right_b.keys():
        raise ValueError("the two runs share no question; compare runs of one set")
    flips = [Flip(name, before[name], after[name]) for name in before.keys() & after.keys()]
    lost = sorted((f for f in flips if f.change < -SAME), key=lambda f: (f.change, f.question))
    return Sided(
        a["name"],
        b["name"],
        metric,
        compare(before, after) if before.keys() & after.keys() else None,
        compare(right_a, right_b) if right_a.keys() & right_b.keys() else None,
        tuple(lost[:worst]),
    )


def gate(
    baseline: Mapping[str, Any], current: Mapping[str, Any], tolerance: float = TOLERANCE
) -> list[str]:
    """Why `current` may not be released; empty if it may. Every rung that the baseline measured is held against it.

    A rung fails where it is missing or skipped, where a question failed or is no longer asked, where the metric or
    the answers are no longer measured, or where the metric (or the share of correct answers) fell by more than the
    tolerance and the 95% interval of the paired difference leaves out 0.
    """
    check_comparable(baseline, current)
    rungs = {rung["name"]: rung for rung in current["rungs"]}
    held = [rung for rung in baseline["rungs"] if rung["status"] == "measured"]
    if not held:
        return ["the baseline measured nothing, so nothing can be held against it"]
    return [
        f"{before['name']}: {reason}"
        for before in held
        for reason in _worse(
            before,
            rungs.get(before["name"], {"status": "missing", "reason": "not run"}),
            baseline["main_metric"],
            tolerance,
        )
    ]


def _worse(
    before: Mapping[str, Any], after: Mapping[str, Any], metric: str, tolerance: float
) -> Iterator[str]:
    if after["status"] != "measured":
        yield f"was measured and now is {after['status']}: {after['reason']}"
        return
    if lost := before["questions"].keys() - after["questions"].keys():
        yield f"{len(lost)} questions were measured and now are not asked, such as {min(lost)}"
    if after["failed"]:
        why = "; ".join(after["failures"][:3])
        yield f"{after['failed']} of {after['cases']} questions failed: {why}"
    try:
        sided = side_by_side(before, after, metric)
    except ValueError as error:
        yield str(error)
        return
    for what, found, had in (
        (metric, sided.ranking, values(before, metric)),
        ("correct answers", sided.answers, correctness(before)),
    ):
        if had and not found:
            yield f"{what} were measured and now are not"
        if found and found.difference.high < 0 and found.difference.mean < -tolerance:
            d = found.difference
            yield (
                f"{what} fell by {-d.mean:.4f} (95% interval {d.low:+.4f} to {d.high:+.4f};"
                f" {found.worse} questions worse, {found.better} better)"
            )

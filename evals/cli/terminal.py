"""How a run looks in a terminal: a progress bar while it goes, a table of the rungs when it is done."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Table

from evals.records import Record
from evals.rungs import Rung
from evals.scoring.comparison import Sided
from evals.scoring.sweep import Sweep

# A file or a pipe has no width of its own; tables keep one that they fit in.
WIDTH = None if sys.stdout.isatty() else 140
console = Console(highlight=False, emoji=False, width=WIDTH)
errors = Console(stderr=True, highlight=False, emoji=False)


class Bars:
    """One bar for the rung, or the documents, that are being worked on; failures are counted beside it."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._task: TaskID | None = None
        self._failed = 0

    def _begin(self, title: str, total: int) -> None:
        if self._task is not None:
            self._progress.stop_task(self._task)
        self._failed = 0
        self._task = self._progress.add_task(escape(title), total=total, note="")

    def rung(self, rung: Rung, cases: int) -> None:
        """A rung begins."""
        self._begin(rung.title, cases)

    def record(self, record: Record) -> None:
        """A question is done."""
        self._failed += bool(record.failed)
        note = f"[red]{self._failed} failed[/]" if self._failed else ""
        if self._task is not None:
            self._progress.update(self._task, advance=1, note=note)

    def file(self, name: str, done: int, total: int) -> None:
        """A document is there."""
        if self._task is None or self._progress.tasks[-1].total != total:
            self._begin("documents", total)
        if self._task is not None:
            self._progress.update(self._task, completed=done)


@contextmanager
def bars() -> Iterator[Bars]:
    """Shows progress on standard error until the block ends."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}"),
    )
    with Progress(*columns, console=errors) as progress:
        yield Bars(progress)


def ladder(summary: Mapping[str, Any]) -> Table:
    """A row per rung, by its name on the command line: the metrics with intervals, answers, latency, failures.

    It fits into 80 columns; the rungs that were skipped are below it, with the reason.
    """
    metric = summary["main_metric"]
    skipped = [rung for rung in summary["rungs"] if rung["status"] != "measured"]
    table = Table(
        title=f"{escape(summary['set']['name'])}: {summary['set']['cases']} questions",
        caption="\n".join(escape(f"{rung['name']} skipped: {rung['reason']}") for rung in skipped),
        caption_justify="left",
        box=None,
        padding=(0, 1, 0, 0),
        pad_edge=False,
    )
    heads = (metric, "95%", "hit@1", "rec@10", "b/w/s", "correct", "false", "p50 ms", "failed")
    table.add_column("rung")
    for name in heads:
        table.add_column(name, justify="right", no_wrap=True)
    for rung in summary["rungs"]:
        if rung["status"] != "measured":
            continue
        found = rung["metrics"].get(metric)
        against = rung.get("against") or {}
        answers = rung["answers"]
        table.add_row(
            escape(rung["name"]),
            f"{found['mean']:.3f}" if found else "-",
            f"{found['low']:.3f}-{found['high']:.3f}" if found else "-",
            _mean(rung, "hit@1"),
            _mean(rung, "recall@10"),
            f"{against['better']}/{against['worse']}/{against['same']}" if against else "-",
            str(answers["counts"]["correct"]) if answers else "-",
            _share(answers.get("false_answer_rate")),
            f"{rung['latency_ms']['total']['p50']:.0f}",
            f"[red]{rung['failed']}[/]" if rung["failed"] else "0",
        )
    return table


def comparison(sided: Sided) -> Table:
    """B against A, and the questions that lost most."""
    title = f"{sided.rung_b} against {sided.rung_a}"
    table = Table(title=title, box=None, padding=(0, 1, 0, 0), pad_edge=False)
    for name in ("what", "change", "95%", "better", "worse", "same", "verdict"):
        # An id that is cut cannot be looked up.
        left = name in ("what", "verdict")
        table.add_column(
            name,
            justify="left" if left else "right",
            no_wrap=not left,
            overflow="fold" if left else "ellipsis",
        )
    for what, found in ((sided.metric, sided.ranking), ("correct answers", sided.answers)):
        if found:
            d = found.difference
            table.add_row(
                what,
                f"{d.mean:+.4f}",
                f"{d.low:+.4f} to {d.high:+.4f}",
                str(found.better),
                str(found.worse),
                str(found.same),
                found.verdict,
            )
    for flip in sided.flips:
        table.add_row(
            f"  {escape(flip.question)}",
            f"{flip.change:+.4f}",
            f"{flip.before:.3f} to {flip.after:.3f}",
        )
    return table


def sweep(found: Sweep) -> Table:
    """A row per threshold."""
    table = Table(title=f"{found.model} ({found.signal}); chosen {found.calibration.threshold:g}")
    for name in ("threshold", "false answers", "over-abstention", "wrong answers", "correct"):
        table.add_column(name, justify="right")
    for point in found.points:
        rates = point.rates
        table.add_row(
            f"{point.threshold:g}",
            _share(rates.false_answer_rate),
            _share(rates.over_abstention_rate),
            _share(rates.wrong_answer_rate),
            str(rates.counts["correct"]),
        )
    return table


def _mean(rung: Mapping[str, Any], metric: str) -> str:
    return f"{rung['metrics'][metric]['mean']:.3f}" if metric in rung["metrics"] else "-"


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"

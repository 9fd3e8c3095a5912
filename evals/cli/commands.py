"""`folio eval`: options in, one call each, numbers out. Public sets, chunk sizes and drafts: experiments.py."""

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from evals import evaluation
from evals.cli import terminal
from evals.cli.experiments import chunks, draft, public
from evals.cli.options import (
    Address,
    Concurrency,
    Fresh,
    Golden,
    HeldOut,
    Key,
    Output,
    Quick,
    RungNames,
    Start,
    connected,
    failures,
)
from evals.files import named
from evals.report.page import render as render_page
from evals.rungs import CONFIGURED, FUSED, LATE
from evals.scoring import comparison
from evals.scoring.metrics import METRICS
from evals.scoring.sweep import write_calibration
from evals.session import Plan, ingest_golden
from folio.cli import show
from folio.cli.placeholders import name_values

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=show.MARKUP,
    help="Measure answers and searches; compare; gate.",
)
for command in (chunks, draft, public):
    app.command()(command)
# The rungs whose models get a calibration: the embedding model's cosine, and late interaction.
SWEPT = ("rrf", "colbert")


@app.command()
def check(golden: Golden = None) -> None:
    """Read golden sets; say what is wrong in them, with file and line."""
    with failures():
        found = evaluation.load_sets(golden or [])
        held_out = sum(case.held_out for case in found.cases)
        must_not = sum(case.expect in ("abstain", "refuse") for case in found.cases)
        terminal.console.print(
            f"{len(found.cases)} cases over {len(found.library.documents)} documents: {must_not} must not be"
            f" answered, {held_out} are held out"
        )


@app.command()
def ingest(
    context: typer.Context,
    golden: Golden = None,
    start: Start = None,
    address: Address = "",
    key: Key = None,
) -> None:
    """Put a golden set's documents into the services."""
    with failures():
        found = evaluation.load_sets(golden or [])
        with connected(context, found, start, address, key) as there, terminal.bars() as bars:
            done = asyncio.run(ingest_golden(there, found, bars))
        for name, result in done.items():
            terminal.console.print(f"{name}: {result.sent} sent, {result.there} were there")
            for file, why in result.failed:
                terminal.errors.print(f"[red]{escape(file)}: {escape(why)}[/]")
        if any(result.failed for result in done.values()):
            raise typer.Exit(1)


@app.command()
def run(
    context: typer.Context,
    output: Output = Path("build/eval/run"),
    golden: Golden = None,
    rung: RungNames = None,
    threshold: Annotated[
        float | None, typer.Option(min=0, max=1, help="probability from which to answer")
    ] = None,
    held_out: HeldOut = False,
    concurrency: Concurrency = 4,
    fresh: Fresh = False,
    quick: Quick = False,
    start: Start = None,
    address: Address = "",
    key: Key = None,
) -> None:
    """Ask every question, as the services are configured (or on the rungs named)."""
    with failures():
        found = evaluation.load_sets(golden or [])
        rungs = evaluation.rungs_named(rung) if rung else (CONFIGURED,)
        plan = Plan(rungs, output, held_out, concurrency, fresh, threshold, quick)
        with connected(context, found, start, address, key) as there, terminal.bars() as bars:
            summary = asyncio.run(evaluation.evaluate(there, found, plan, bars))
        _save(summary, output)


@app.command()
def ladder(
    context: typer.Context,
    output: Output = Path("build/eval/ladder"),
    golden: Golden = None,
    held_out: HeldOut = False,
    concurrency: Concurrency = 4,
    fresh: Fresh = False,
    quick: Quick = False,
    start: Start = None,
    address: Address = "",
    key: Key = None,
) -> None:
    """Asks the same questions from naive search to the whole pipeline, one step more on each rung."""
    with failures():
        found = evaluation.load_sets(golden or [])
        plan = Plan(evaluation.FULL_LADDER, output, held_out, concurrency, fresh, quick=quick)
        with connected(context, found, start, address, key) as there, terminal.bars() as bars:
            summary = asyncio.run(evaluation.evaluate(there, found, plan, bars))
        _save(summary, output)


@app.command()
def sweep(
    context: typer.Context,
    output: Output = Path("build/eval/sweep"),
    golden: Golden = None,
    rung: RungNames = None,
    false_answer_cost: Annotated[
        float, typer.Option(min=0, help="cost of a false answer; a missing answer costs 1")
    ] = 1.0,
    write: Annotated[
        Path | None,
        typer.Option(file_okay=False, help="also write the gateway's calibration files here"),
    ] = None,
    concurrency: Concurrency = 4,
    fresh: Fresh = False,
    quick: Quick = False,
    start: Start = None,
    address: Address = "",
    key: Key = None,
) -> None:
    """Tries thresholds from .1 to .9 for the model that ranks on each rung; writes its calibration."""
    with failures():
        found = evaluation.load_sets(golden or [])
        plan = Plan(
            evaluation.rungs_named(rung or SWEPT), output, False, concurrency, fresh, quick=quick
        )
        with connected(context, found, start, address, key) as there, terminal.bars() as bars:
            sweeps = asyncio.run(
                evaluation.sweep_rungs(there, found, plan, bars, false_answer_cost)
            )
        rows = evaluation.with_sweeps({}, sweeps)
        named(output, ".json").write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
        for one in sweeps:
            terminal.console.print(terminal.sweep(one))
            if write is not None:
                terminal.console.print(f"wrote {write_calibration(write, one.calibration)}")


@app.command()
def compare(
    a: Annotated[
        Path, typer.Argument(exists=True, dir_okay=False, help="summary of the run before")
    ],
    b: Annotated[
        Path, typer.Argument(exists=True, dir_okay=False, help="summary of the run after")
    ],
    rung_a: Annotated[str, typer.Option(help="rung of A; default: its last")] = "",
    rung_b: Annotated[str, typer.Option(help="rung of B; default: its last")] = "",
    metric: Annotated[str, typer.Option(help=", ".join(METRICS))] = "ndcg@10",
) -> None:
    """Compares two runs: better, worse, same per question, the 95% interval of the difference, the worst flips."""
    with failures():
        runs = comparison.read_summary(a), comparison.read_summary(b)
        comparison.check_comparable(*runs)
        before, after = comparison.rung_of(runs[0], rung_a), comparison.rung_of(runs[1], rung_b)
        terminal.console.print(terminal.comparison(comparison.side_by_side(before, after, metric)))


@app.command()
def gate(
    current: Annotated[
        Path | None,
        typer.Argument(exists=True, dir_okay=False, help="summary of a run; default: make a run"),
    ] = None,
    baseline: Annotated[
        Path,
        typer.Option(
            help="baseline to compare with", show_default="evals/baseline.json of the checkout"
        ),
    ] = evaluation.BASELINE,
    update: Annotated[bool, typer.Option(help="make this the baseline instead")] = False,
    tolerance: Annotated[
        float, typer.Option(min=0, help="how far a mean may fall")
    ] = comparison.TOLERANCE,
    folder: Annotated[
        Path, typer.Option(help="folder for the data of the suite that is started")
    ] = evaluation.FOLDER,
) -> None:
    """Compares with the baseline; exit status 1 if answers got worse."""
    with failures():
        summary = comparison.read_summary(current) if current else _gate_run(folder)
        if update:
            evaluation.write_baseline(summary, baseline)
            terminal.console.print(f"wrote {baseline}")
            return
        reasons = comparison.gate(evaluation.read_baseline(baseline), summary, tolerance)
        if current is None:
            terminal.console.print(terminal.ladder(summary))
        for reason in reasons:
            terminal.errors.print(f"[red]{escape(reason)}[/]")
        if reasons:
            raise typer.Exit(1)
        terminal.console.print("[green]nothing got worse than the baseline[/]")


@app.command()
def make(
    folder: Annotated[
        Path, typer.Option(help="folder for the data of the suite that is started")
    ] = evaluation.FOLDER,
    results: Annotated[
        Path,
        typer.Option(help="folder of the results", show_default="docs/results of the checkout"),
    ] = evaluation.RESULTS,
    concurrency: Concurrency = 2,
    fresh: Fresh = True,
    quick: Quick = False,
) -> None:
    """Start the suite, read our documents, climb the ladder, write DATE-COMMIT.json and .html."""
    with failures():
        golden = evaluation.load_sets([])
        plan = Plan(
            evaluation.FULL_LADDER,
            folder / "ladder",
            concurrency=concurrency,
            fresh=fresh,
            quick=quick,
        )
        with evaluation.own_suite(folder / "suite", golden) as there, terminal.bars() as bars:
            summary = asyncio.run(evaluation.evaluate(there, golden, plan, bars))
            always = replace(plan, rungs=(FUSED, LATE), output=folder / "sweep")
            sweeps = asyncio.run(evaluation.sweep_rungs(there, golden, always, bars))
        summary = evaluation.with_sweeps(summary, sweeps)
        terminal.console.print(terminal.ladder(summary))
        data, page = evaluation.write(summary, results)
        terminal.console.print(f"wrote {data} and {page}")


@app.command("report")
def render(
    summary: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="summary of a run")],
    output: Annotated[
        Path | None, typer.Option(help="page to write; default: beside the summary")
    ] = None,
) -> None:
    """Write the HTML page of a summary."""
    with failures():
        page = output or summary.with_suffix(".html")
        page.write_text(render_page(comparison.read_summary(summary)), encoding="utf-8")
        terminal.console.print(f"wrote {page}")


def _gate_run(folder: Path) -> dict[str, Any]:
    golden = evaluation.load_sets([])
    plan = Plan(evaluation.GATE_RUNGS, folder / "gate", concurrency=2, fresh=True, quick=True)
    with evaluation.own_suite(folder / "suite", golden) as there, terminal.bars() as bars:
        return asyncio.run(evaluation.evaluate(there, golden, plan, bars))


def _save(summary: dict[str, Any], output: Path) -> None:
    terminal.console.print(terminal.ladder(summary))
    data, page = named(output, ".json"), named(output, ".html")
    data.write_text(json.dumps(summary, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    page.write_text(render_page(summary), encoding="utf-8")
    terminal.console.print(f"wrote {data} and {page}")


name_values(app)

"""Comparisons, the gate, sweeps and the page that shows them."""

import copy
import html.parser
import io
import json
import math
import re
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from evals.cli.terminal import comparison, ladder
from evals.evaluation import GATE_RUNGS, with_sweeps, write_baseline
from evals.files import BadFile
from evals.records import Record, StepRanking, StepTime
from evals.report.page import render
from evals.rungs import CROSS, DENSE, FUSED, LATE
from evals.runner import Measured
from evals.scoring.comparison import gate, read_summary, rung_of, side_by_side
from evals.scoring.summary import summarise
from evals.scoring.sweep import (
    Signal,
    Sweep,
    at_threshold,
    brier,
    isotonic,
    sweep,
    write_calibration,
)
from services.gateway.calibration import load
from services.rpc.errors import FailedPrecondition

ABOUT = {
    "started": "2026-01-01T00:00:00+00:00",
    "commit": "abc",
    "set": {"name": "golden", "digest": "d" * 64, "cases": 40, "held_out": False},
    "settings": {"answer_threshold": None},
    "models": [
        {
            "service": "retriever",
            "reachable": True,
            "reason": "",
            "providers": [
                {
                    "purpose": "embed",
                    "provider": "minilm",
                    "model": "m",
                    "revision": "r",
                    "local": True,
                }
            ],
            "version": "1",
            "commit": "c",
            "details": {},
        }
    ],
    "hardware": {"processor": "p", "cores": 2, "memory": "1 kB", "system": "Linux"},
}


def record(rung: str, number: int, rank: int, signal: float = 0.0) -> Record:
    """Question `number`; its page stands at `rank` (0: not found). Every fourth has no answer."""
    must_not = number % 4 == 0
    items = [f"chunk {n}" for n in range(1, 6)]
    if rank:
        items.insert(rank - 1, "page")
    found = 1 / math.log2(rank + 1) if rank else 0.0
    names = ("hit@1", "hit@3", "hit@5", "hit@10", "mrr@10", "ndcg@10", "recall@10", "recall@100")
    return Record(
        rung,
        f"q<{number}>",
        expect="abstain" if must_not else "answer",
        tags=("lookup",) if number % 2 else ("table", "code"),
        outcome="answered",
        judgements={} if must_not else {"page": 1},
        metrics={} if must_not else dict.fromkeys(names, found),
        score="wrong" if must_not or rank != 1 else "correct",
        rankings=(
            StepRanking("search", (1,), (1.0,), tuple(items), "m", "dense_score", (signal,)),
        ),
        steps=(StepTime("search", "ran", "", 5.0, "m"),),
        elapsed_ms=10.0 + number,
    )


@pytest.fixture
def summary() -> dict[str, Any]:
    runs = [
        Measured(DENSE, {"dense": True}, tuple(record("dense", n, n % 3) for n in range(40))),
        Measured(CROSS, {}, skipped="not <configured>"),
        Measured(FUSED, {"dense": True}, tuple(record("rrf", n, 1) for n in range(40))),
    ]
    return summarise(runs, ABOUT)


def test_side_by_side_counts_and_shows_the_worst_flips(summary: dict[str, Any]) -> None:
    dense, fused = rung_of(summary, "dense"), rung_of(summary)
    found = side_by_side(fused, dense, "ndcg@10", worst=3)
    assert found.ranking is not None
    assert found.ranking.worse == 20
    assert found.ranking.better == 0
    assert found.ranking.verdict == "worse"
    assert [flip.change for flip in found.flips] == [-1.0, -1.0, -1.0]
    assert side_by_side(dense, fused, "ndcg@10").flips == (), "a gain is no bad flip"
    console = Console(width=80, file=io.StringIO())
    with console.capture() as captured:
        console.print(comparison(found))
    assert all(flip.question in captured.get() for flip in found.flips)
    with pytest.raises(KeyError, match="there are: dense, rrf"):
        rung_of(summary, "crossencoder")
    with pytest.raises(ValueError, match="no metric 'map'; there are: hit@1"):
        side_by_side(fused, dense, "map")


def test_runs_of_two_sets_are_not_compared(summary: dict[str, Any]) -> None:
    # Cranfield and CISI both have a question 1.
    for digest in ("e" * 64, ""):
        other = {**summary, "set": {**summary["set"], "name": "cisi", "digest": digest}}
        with pytest.raises(ValueError, match="golden and cisi are two sets"):
            gate(summary, other)
    # The same questions, asked of their own file only.
    assert gate(summary, {**summary, "set": {**summary["set"], "name": "golden-known"}}) == []


def test_the_gate_lets_the_same_and_the_better_pass(
    summary: dict[str, Any], tmp_path: Path
) -> None:
    assert gate(summary, summary) == []
    write_baseline(summary, tmp_path / "baseline.json")
    kept = read_summary(tmp_path / "baseline.json")
    assert gate(kept, summary) == []
    assert {rung["name"] for rung in kept["rungs"]} <= {rung.name for rung in GATE_RUNGS}


def test_a_run_with_failed_or_held_out_questions_makes_no_baseline(
    summary: dict[str, Any], tmp_path: Path
) -> None:
    failed, held_out = copy.deepcopy(summary), copy.deepcopy(summary)
    failed["rungs"][-1]["failed"] = 1
    held_out["set"]["held_out"] = True
    for bad, expected in ((failed, "failed questions"), (held_out, "held-out cases")):
        with pytest.raises(FailedPrecondition, match=expected):
            write_baseline(bad, tmp_path / "baseline.json")
    assert not (tmp_path / "baseline.json").exists()


@pytest.mark.parametrize(
    "what",
    ["metrics", "score", "failed", "skipped", "missing", "fewer", "no ranking", "no answers"],
)
def test_the_gate_stops_what_got_worse(summary: dict[str, Any], what: str) -> None:
    worse = copy.deepcopy(summary)
    rung = worse["rungs"][-1]
    if what == "missing":
        del worse["rungs"][-1]
    elif what == "skipped":
        rung.update(status="skipped", reason="colbert cannot be reached", questions={})
    elif what == "failed":
        rung.update(failed=1, failures=["search: gone"])
    elif what == "fewer":
        del rung["questions"]["q<1>"]
    for question in rung["questions"].values():
        if what == "metrics" and question["metrics"]:
            question["metrics"]["ndcg@10"] -= 0.1
        if what == "score":
            question["score"] = "wrong"
        if what == "no ranking":
            question["metrics"] = {}
        if what == "no answers":
            question["score"] = ""
    reasons = gate(summary, worse)
    assert len(reasons) == 1
    assert reasons[0].startswith("rrf: ")


def test_the_gate_lets_a_fall_pass_that_the_interval_does_not_show(summary: dict[str, Any]) -> None:
    noisy = copy.deepcopy(summary)
    first = next(q for q in noisy["rungs"][-1]["questions"].values() if q["metrics"])
    first["metrics"]["ndcg@10"] = 0.0
    assert gate(summary, noisy) == []


def test_a_baseline_that_measured_nothing_stops_everything(summary: dict[str, Any]) -> None:
    nothing = {**summary, "rungs": [summary["rungs"][1]]}
    assert gate(nothing, summary) == [
        "the baseline measured nothing, so nothing can be held against it"
    ]


def test_a_file_that_is_no_summary(tmp_path: Path) -> None:
    for text in ("{", "[]", '{"format": 0}'):
        (tmp_path / "a.json").write_text(text)
        with pytest.raises(BadFile, match="run the evaluation again"):
            read_summary(tmp_path / "a.json")


def test_a_summary_of_another_format_says_which_it_is(
    tmp_path: Path, summary: dict[str, Any]
) -> None:
    (tmp_path / "a.json").write_text(json.dumps({**summary, "format": 1}))
    with pytest.raises(BadFile, match="of format 1, from another version"):
        read_summary(tmp_path / "a.json")


def test_the_ladder_fits_a_terminal_of_80_columns(summary: dict[str, Any]) -> None:
    summary["rungs"][-1]["name"] = "configured"
    summary["rungs"][-1]["latency_ms"]["total"]["p50"] = 12345.0
    console = Console(width=80, file=io.StringIO())
    with console.capture() as captured:
        console.print(ladder(summary))
    shown = captured.get()
    assert "…" not in shown
    assert re.search(r"^configured +1\.000 1\.000-1\.000 .* 12345 +0$", shown, re.M)
    assert "crossencoder skipped: not <configured>" in shown


@pytest.fixture
def swept() -> Sweep:
    # Where a page is found, the signal is high: .6 to .8; where nothing answers, low: .1 to .3, with one exception.
    records = [
        record("rrf", n, 1, signal=(0.1 if n % 4 == 0 else 0.6) + 0.005 * n) for n in range(40)
    ]
    return sweep(records, "golden d")


def test_a_sweep_separates_what_can_be_separated(swept: Sweep, tmp_path: Path) -> None:
    assert (swept.model, swept.signal) == ("m", "dense_score")
    assert swept.calibration.slope > 0
    assert [point.threshold for point in swept.points] == [
        0.1,
        0.2,
        0.3,
        0.4,
        0.5,
        0.6,
        0.7,
        0.8,
        0.9,
    ]
    half = swept.points[4].rates
    assert (half.false_answer_rate, half.over_abstention_rate) == (0.0, 0.0)
    false = [point.rates.false_answer_rate or 0.0 for point in swept.points]
    assert false == sorted(false, reverse=True)
    assert swept.brier_platt < 0.1
    # The gateway reads the very file.
    path = write_calibration(tmp_path, swept.calibration)
    assert load(tmp_path) == {("m", "dense_score"): swept.calibration}
    assert path.name == "m.dense_score.json"
    # A second sweep replaces the first, whatever its file is called.
    path.rename(tmp_path / "minilm.json")
    newer = swept.calibration.model_copy(update={"threshold": 0.25})
    assert write_calibration(tmp_path, newer).name == "minilm.json"
    assert load(tmp_path) == {("m", "dense_score"): newer}


def test_below_the_threshold_everything_is_abstained() -> None:
    signals = [Signal(record("rrf", n, 1), 0.5, n % 4 > 0) for n in range(8)]
    nothing = at_threshold(signals, [0.5] * 8, 0.6)
    assert (nothing.false_answer_rate, nothing.over_abstention_rate) == (0.0, 1.0)
    everything = at_threshold(signals, [0.5] * 8, 0.5)
    assert (everything.false_answer_rate, everything.over_abstention_rate) == (1.0, 0.0)


def test_a_run_that_only_searched_shows_the_route_alone() -> None:
    searched = [Signal(Record("rrf", f"q{n}"), 0.5, True) for n in range(3)]
    searched.append(Signal(Record("rrf", "gym", expect="abstain"), 0.9, False))
    found = at_threshold(searched, [0.2, 0.6, 0.9, 0.7], 0.5)
    assert found.false_answer_rate == 1.0
    assert found.over_abstention_rate == pytest.approx(1 / 3)


def test_a_sweep_refuses_what_it_cannot_fit() -> None:
    with pytest.raises(FailedPrecondition, match="records have: none"):
        sweep([Record("rrf", "q")], "golden")
    with pytest.raises(FailedPrecondition, match="ones that they do not"):
        sweep([record("rrf", 1, 1, signal=0.5)], "golden")


def test_isotonic_by_hand() -> None:
    # 0, 1 | 0, 1 pools the violating pair to one half.
    assert isotonic([1, 2, 3, 4], [False, True, False, True]) == [(1, 0.0), (2, 0.5), (4, 1.0)]
    assert isotonic([1, 1], [True, False]) == [(1, 0.5)]
    assert brier([0.5, 1.0], [True, True]) == pytest.approx(0.125)


class Tags(html.parser.HTMLParser):
    """Every tag is closed in order, and nothing is fetched."""

    VOID = frozenset({"meta", "path", "rect", "circle"})

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert not {"src", "href", "onclick"} & {name for name, _ in attrs}
        self.seen.append(tag)
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.VOID:
            assert self.open.pop() == tag


def test_the_page_stands_alone_and_escapes_what_it_shows(
    summary: dict[str, Any], swept: Sweep
) -> None:
    page = render(with_sweeps(summary, [swept]))
    tags = Tags()
    tags.feed(page)
    assert tags.open == []
    assert "script" not in tags.seen
    assert "http" not in page
    assert "not &lt;configured&gt;" in page
    assert "q&lt;12&gt;" in page
    for title in (
        "The ladder",
        "Thresholds",
        "By tag",
        "Latency against quality",
        "The worst cases",
    ):
        assert f"<h2>{title}</h2>" in page
    assert tags.seen.count("svg") == 4


def test_the_page_of_a_run_without_answers_leaves_them_out() -> None:
    bare = [Record("dense", "q", failed="INTERNAL: gone", judgements={"page": 1})]
    page = render(
        summarise([Measured(DENSE, {}, tuple(bare)), Measured(LATE, {}, skipped="off")], ABOUT)
    )
    Tags().feed(page)
    assert "INTERNAL: gone" in page
    assert "<h2>Answers</h2>" not in page

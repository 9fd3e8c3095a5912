"""One self-contained HTML page of a summary: ladder with intervals, answers, curves, tags, latency, the worst cases."""

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from string import Template
from typing import Any

from evals.report.plots import Bar, Dot, Line, bars, curves, scatter
from evals.report.tables import NONE, number, row, section, table

TEMPLATE = Path(__file__).with_name("report.html")
WORST = 12
# What a service that was not reachable said of its providers.
NOBODY = {"purpose": NONE, "provider": "", "model": "", "revision": ""}


def render(summary: Mapping[str, Any]) -> str:
    """The page. Sections without data are left out."""
    measured = [rung for rung in summary["rungs"] if rung["status"] == "measured"]
    metric = summary["main_metric"]
    about = summary["set"]
    sections = [
        section("The ladder", _ladder(summary["rungs"], metric)),
        section("What each rung changed", _changes(measured)),
        section("Answers", _answers(measured)),
        section("Thresholds", _sweeps(summary.get("sweeps", []))),
        section("Latency against quality", _latency(measured, metric)),
        section("By tag", _tags(measured, metric)),
        section("The worst cases", _worst(measured, metric)),
        section("How this was made", _made(summary)),
    ]
    held_out = "held-out cases included" if about["held_out"] else "working cases only"
    return Template(TEMPLATE.read_text(encoding="utf-8")).substitute(
        title=f"Folio evaluation: {escape(about['name'])}",
        subtitle=escape(
            f"{about['cases']} questions, {held_out} · commit {summary['commit']} · {summary['started']}"
        ),
        body="\n".join(filter(None, sections)),
    )


def _ladder(rungs: Sequence[Mapping[str, Any]], metric: str) -> str:
    ranked = [rung for rung in rungs if rung.get("metrics")]
    if not ranked:
        return ""
    drawn = bars(
        f"{metric} by rung, 95% intervals",
        [
            Bar(rung["title"], m["mean"], m["low"], m["high"])
            for rung in ranked
            for m in [rung["metrics"][metric]]
        ],
    )
    shown = ("hit@1", "hit@5", "mrr@10", metric, "recall@10", "recall@100")
    rows = []
    for rung in rungs:
        if rung["status"] != "measured":
            reason = f'<td colspan="{len(shown) + 3}" class="text">skipped: {escape(rung["reason"])}</td>'
            rows.append(f"<tr class=skipped><td>{escape(rung['title'])}</td>{reason}</tr>")
            continue
        means = [number(rung["metrics"].get(name, {}).get("mean")) for name in shown]
        total = rung["latency_ms"]["total"]
        failed = f'<span class="ill">{rung["failed"]}</span>' if rung["failed"] else "0"
        rows.append(
            row(
                [
                    escape(rung["title"]),
                    *means,
                    f"{total['p50']:.0f}",
                    f"{total['p95']:.0f}",
                    failed,
                ]
            )
        )
    counts = {rung["metrics"][metric]["count"] for rung in ranked}
    caption = (
        f"The same questions on every rung; {'/'.join(map(str, sorted(counts)))} have a relevant page and count"
        " in the averages. Failed questions are in none."
    )
    return drawn + table(caption, ["Rung", *shown, "p50 ms", "p95 ms", "Failed"], rows)


def _changes(measured: Sequence[Mapping[str, Any]]) -> str:
    rows = []
    for rung in measured:
        for key in ("against", "against_first"):
            found = rung.get(key)
            if not found or (key == "against_first" and found["rung"] == rung["against"]["rung"]):
                continue
            d = found["difference"]
            kind = found["verdict"] if found["verdict"] in ("better", "worse") else ""
            rows.append(
                row(
                    [
                        escape(rung["title"]),
                        escape(found["rung"]),
                        f"{d['mean']:+.3f}",
                        f"{d['low']:+.3f} to {d['high']:+.3f}",
                        str(found["better"]),
                        str(found["worse"]),
                        str(found["same"]),
                        f'<span class="{kind}">{escape(found["verdict"])}</span>',
                    ]
                )
            )
    head = ["Rung", "Against", "Difference", "95% interval", "Better", "Worse", "Same", "Verdict"]
    caption = "Paired over the questions; bootstrap intervals. An interval that holds 0 shows no difference."
    return table(caption, head, rows) if rows else ""


def _answers(measured: Sequence[Mapping[str, Any]]) -> str:
    rows = []
    for rung in measured:
        found = rung["answers"]
        if not found:
            continue
        counts = found["counts"]
        rows.append(
            row(
                [
                    escape(rung["title"]),
                    *(str(counts[name]) for name in ("correct", "grounded", "abstained", "wrong")),
                    number(found["false_answer_rate"]),
                    number(found["over_abstention_rate"]),
                    number(found["wrong_answer_rate"]),
                    number(rung["citation_precision"]),
                    number(rung["source_recall"]),
                ]
            )
        )
    head = ["Rung", "Correct", "Grounded", "Abstained", "Wrong", "False answers", "Over-abstention"]
    head += ["Wrong answers", "Citation precision", "Pages read"]
    caption = (
        "False answers: of the questions that the documents do not answer, those answered. Over-abstention and wrong"
        " answers: of those that they do answer. Pages read: share of the relevant pages in the passages read."
    )
    return table(caption, head, rows) if rows else ""


def _sweeps(sweeps: Sequence[Mapping[str, Any]]) -> str:
    parts = []
    for sweep in sweeps:
        points = sweep["points"]
        xs = [point["threshold"] for point in points]

        def ys(name: str, points: Sequence[Mapping[str, Any]] = points) -> tuple[float, ...]:
            return tuple(point["rates"][name] or 0.0 for point in points)

        lines = [
            Line("false answers", ys("false_answer_rate"), "b"),
            Line("over-abstention", ys("over_abstention_rate"), "a"),
        ]
        alone = "The route alone: no answers were made. "
        if not sweep["route_only"]:
            alone = ""
            lines.append(Line("wrong answers", ys("wrong_answer_rate"), "c"))
        chosen = sweep["calibration"]["threshold"]
        parts.append(
            curves(f"Thresholds for {sweep['model']}", xs, lines, "threshold on the probability")
            + f'<p class="soft">{alone}Model <code>{escape(sweep["model"])}</code> ({escape(sweep["signal"])}), chosen'
            f" threshold {chosen:g}. Brier score {sweep['brier_platt']:.3f} (Platt, held out by fold),"
            f" {sweep['brier_isotonic']:.3f} (isotonic, on its own data).</p>"
        )
    return "".join(parts)


def _latency(measured: Sequence[Mapping[str, Any]], metric: str) -> str:
    ranked = [rung for rung in measured if rung["metrics"]]
    dots = [
        Dot(rung["name"], rung["latency_ms"]["total"]["p50"], rung["metrics"][metric]["mean"])
        for rung in ranked
    ]
    drawn = scatter(
        "Median latency against quality", dots, "median milliseconds, logarithmic", metric
    )
    steps = list(dict.fromkeys(s for rung in measured for s in rung["latency_ms"] if s != "total"))
    rows = [
        row(
            [
                escape(rung["title"]),
                *(
                    f"{rung['latency_ms'][s]['p50']:.1f} / {rung['latency_ms'][s]['p95']:.1f}"
                    if s in rung["latency_ms"]
                    else NONE
                    for s in steps
                ),
                f"{rung['usage']['input_tokens'] + rung['usage']['output_tokens']}",
                f"{rung['usage']['cost_usd']:.4f}",
            ]
        )
        for rung in measured
    ]
    caption = (
        "Milliseconds per step, p50 / p95, where it ran; tokens and dollars over all questions."
    )
    return drawn + table(caption, ["Rung", *steps, "Tokens", "US$"], rows) if rows else ""


def _tags(measured: Sequence[Mapping[str, Any]], metric: str) -> str:
    tagged = [rung for rung in measured if rung["tags"]]
    if not tagged:
        return ""
    first, last = tagged[0], tagged[-1]
    ranked = {tag: found for tag, found in last["tags"].items() if found[metric] is not None}
    drawn = bars(
        f"{metric} by tag on {last['name']}",
        [
            Bar(f"{tag} ({found['count']})", found[metric], found[metric], found[metric])
            for tag, found in sorted(ranked.items(), key=lambda pair: pair[1][metric])
        ],
    )
    rows = [
        row(
            [
                escape(tag),
                str(found["count"]),
                number(first["tags"].get(tag, {}).get(metric)),
                number(found[metric]),
                number(found["hit@5"]),
                number(found["recall@10"]),
                number(found["correct"]),
            ]
        )
        for tag, found in last["tags"].items()
    ]
    head = [
        "Tag",
        "Questions",
        f"{metric} on {first['name']}",
        metric,
        "hit@5",
        "recall@10",
        "Correct",
    ]
    return drawn + table(f"On {last['title']}", head, rows)


def _worst(measured: Sequence[Mapping[str, Any]], metric: str) -> str:
    """Wrong answers first, then the lowest metric; each with where its pages stood in every step."""
    if not measured:
        return ""
    last = measured[-1]
    asked = {name: q for name, q in last["questions"].items() if not q.get("failed")}

    def badness(name: str) -> tuple[int, float, str]:
        question = asked[name]
        return (question["score"] != "wrong", question["metrics"].get(metric, 1.0), name)

    def is_bad(question: Mapping[str, Any]) -> bool:
        return (
            question["score"] in ("wrong", "abstained")
            or question["metrics"].get(metric, 1.0) < 0.5
        )

    rows = []
    for name in sorted((n for n in asked if is_bad(asked[n])), key=badness)[:WORST]:
        question = asked[name]
        ranks = "; ".join(
            f"{escape(step)}: "
            + ", ".join(f"{escape(item)} at {rank or NONE}" for item, rank in items.items())
            for step, items in question["ranks"].items()
            if items
        )
        before = " → ".join(
            number(rung["questions"].get(name, {}).get("metrics", {}).get(metric), 2)
            for rung in measured
        )
        rows.append(
            "<tr>"
            + "".join(
                f'<td class="text">{cell}</td>'
                for cell in (
                    escape(name),
                    escape(question["outcome"] or NONE),
                    escape(question["score"] or NONE),
                    before,
                    ranks or "nothing is relevant",
                )
            )
            + "</tr>"
        )
    head = ["Question", "Outcome", "Score", f"{metric} on each rung", "Where its pages stood"]
    failed = [
        f"{escape(n)}: {escape(q['failed'])}"
        for n, q in last["questions"].items()
        if q.get("failed")
    ]
    tail = f'<p class="ill">Failed: {"; ".join(failed[:10])}</p>' if failed else ""
    caption = f"On {last['title']}: wrong answers first, then the lowest {metric}."
    return (table(caption, head, rows, len(head)) if rows else "") + tail


def _made(summary: Mapping[str, Any]) -> str:
    hardware, about = summary["hardware"], summary["set"]
    facts = {
        "Commit": summary["commit"],
        "Started": summary["started"],
        "Questions": f"{about['cases']} of {about['name']}, digest {about['digest'][:16] or NONE}",
        "Machine": f"{hardware['processor']}, {hardware['cores']} cores, {hardware['memory']}, {hardware['system']}",
        "Settings": ", ".join(f"{key} {value}" for key, value in summary["settings"].items()),
    }
    listed = "".join(f"<dt>{escape(k)}</dt><dd>{escape(v)}</dd>" for k, v in facts.items())
    rows = [
        row(
            [
                escape(service["service"]),
                escape(provider["purpose"]),
                escape(provider["provider"] or NONE),
                escape(provider["model"] or NONE),
                escape(provider["revision"] or NONE),
                escape(service["version"] or NONE),
                "yes" if service["reachable"] else escape(service["reason"] or "no"),
            ]
        )
        for service in summary["models"]
        for provider in service["providers"] or [NOBODY]
    ]
    head = ["Service", "Purpose", "Provider", "Model", "Revision", "Version", "Reachable"]
    return f"<dl>{listed}</dl>" + table("Services, as they describe themselves", head, rows, 7)

"""MaxSim against the libraries that compute it: `python -m bench.kernel [--quick]`.

Each peer runs in its own process; in every round each calls for a moment in turn, so that a noisy
neighbour disturbs all alike. A round gives its fastest call, and the median of the rounds counts.
Scores are compared with double precision. Writes build/bench.json ("peaks", "kernel") and prints one table.
"""

import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bench.peaks import Peaks
from bench.peers import PEERS, Peer
from bench.workloads import WORKLOADS, Workload, read, write
from native import maxsim

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "build" / "bench.json"
PEERS_PYTHON = ROOT / "build" / "bench-venv" / "bin" / "python"
LOAD_SECONDS = 120
THREADS = (1, 2)


class Worker:
    """A peer's process. `gone` says why it has none (any more)."""

    def __init__(self, peer: Peer, threads: int, python: str) -> None:
        self.peer = peer
        self.threads = threads
        self.gone = ""
        limits = ("OPENBLAS", "OMP", "MKL", "RAYON", "BLIS")
        self._log = tempfile.TemporaryFile()  # noqa: SIM115, lives as long as the process
        self._process = subprocess.Popen(
            [python, "-m", "bench.worker", peer.module, peer.variant, str(threads)],
            cwd=ROOT,
            env={**os.environ, **{f"{name}_NUM_THREADS": str(threads) for name in limits}},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
        )

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """The reply; {} if the process is gone."""
        if self.gone:
            return {}
        assert self._process.stdin
        assert self._process.stdout
        try:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            pass
        line = self._process.stdout.readline()
        if line:
            return dict(json.loads(line))
        code = self._process.wait(LOAD_SECONDS)
        self._log.seek(0)
        said = self._log.read().decode(errors="replace").strip().splitlines()
        self.gone = f"signal {-code}" if code < 0 or not said else said[-1][:100]
        return {}

    def end(self) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()


def measure(
    workload: Workload, threads: int, args: argparse.Namespace, peaks: Peaks, folder: Path
) -> list[dict[str, Any]]:
    """One workload with so many threads: the rows of the peers that could, in the peers' order."""
    operations = 2 * read(folder).multiplications
    workers = [
        Worker(peer, threads, sys.executable if peer.ours else args.python) for peer in PEERS
    ]
    try:
        errors = [worker.ask({"load": str(folder)}).get("error") for worker in workers]
        times: list[list[float]] = [[] for _ in workers]  # each round's fastest call
        for _ in range(args.rounds):
            peaks.measure()
            for worker, taken in zip(workers, times, strict=True):
                if calls := worker.ask({"seconds": args.seconds}).get("times"):
                    taken.append(min(calls))
    finally:
        for worker in workers:
            worker.end()
    rows = []
    for worker, taken, error in zip(workers, times, errors, strict=True):
        if worker.gone:
            print(f"{workload.name} {threads}: {worker.peer.name} skipped: {worker.gone}")
            continue
        seconds = statistics.median(taken)
        gflops = operations / seconds / 1e9
        rows.append(
            {
                "workload": workload.name,
                "name": worker.peer.name,
                "threads": threads,
                "ms": round(seconds * 1e3, 4),
                "best_ms": round(min(taken) * 1e3, 4),
                "rounds": len(taken),
                "gflops": round(gflops, 1),
                "share_of_peak": None,
                "max_error": error,
            }
        )
    share(rows, peaks)
    return rows


def share(rows: Sequence[dict[str, Any]], peaks: Peaks) -> None:
    """Take the shares again, of the largest peaks seen in the whole run."""
    kinds = {peer.name: peer.peak for peer in PEERS}
    for row in rows:
        if kind := kinds[row["name"]]:
            peak = peaks.gflops(kind) * row["threads"]
            row["share_of_peak"] = round(row["gflops"] / peak, 3) if peak else None


def table(rows: Sequence[dict[str, Any]]) -> str:
    """A Markdown table; ratios say how many times as long as folio-fp32 and folio-int8 each took."""
    lines = [
        "| workload | threads | name | ms | GFLOP/s | of peak | max error | x fp32 | x int8 |",
        "| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    took = {(row["workload"], row["threads"], row["name"]): row["ms"] for row in rows}
    for row in rows:
        share = "" if row["share_of_peak"] is None else f"{row['share_of_peak']:.0%}"
        at = (row["workload"], row["threads"])
        ratios = [row["ms"] / took[(*at, f"folio-{dtype}")] for dtype in ("fp32", "int8")]
        lines.append(
            f"| {row['workload']} | {row['threads']} | {row['name']} | {row['ms']:.3f} "
            f"| {row['gflops']:.0f} | {share} | {row['max_error']:.1e} "
            f"| {ratios[0]:.2f} | {ratios[1]:.2f} |"
        )
    return "\n".join(lines)


def merge(peaks: Peaks, rows: Sequence[dict[str, Any]]) -> None:
    """Put our parts into build/bench.json and keep the others'."""
    RESULTS.parent.mkdir(exist_ok=True)
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {"service": []}
    results.update(peaks=peaks.as_json(), kernel=list(rows))
    partial = RESULTS.with_suffix(".tmp")
    partial.write_text(json.dumps(results, indent=1) + "\n")
    partial.replace(RESULTS)


def processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    fields = dict(line.split(":", 1) for line in lines if ":" in line)
    name = {key.strip(): value.strip() for key, value in fields.items()}
    family, model = name.get("cpu family", "?"), name.get("model", "?")
    return f"{name.get('model name', '?')} (family {family}, model {model}), {os.cpu_count()} CPUs"


def main() -> None:
    parser = argparse.ArgumentParser(description="MaxSim against the libraries that compute it.")
    parser.add_argument("--quick", action="store_true", help="fewer, shorter rounds, without F")
    parser.add_argument("--workloads", default="", help="letters, such as AB; default: all")
    parser.add_argument(
        "--python",
        default=str(PEERS_PYTHON) if PEERS_PYTHON.exists() else sys.executable,
        help="interpreter of the environment with the peers (bench/peers.txt)",
    )
    args = parser.parse_args()
    args.rounds, args.seconds = (3, 0.05) if args.quick else (7, 0.1)
    letters = args.workloads or ("ABCDE" if args.quick else "ABCDEF")

    commit = subprocess.run(
        ["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True
    ).stdout.strip()
    print(f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC, commit {commit}, {processor()}")
    print(f"kernel {maxsim.kernel()}, {args.rounds} rounds of {args.seconds} s each")
    peaks = Peaks()
    peaks.measure(memory=True)
    rows: list[dict[str, Any]] = []
    for workload in WORKLOADS:
        if workload.name not in letters:
            continue
        print(f"{workload.name}: {workload.what}", flush=True)
        folder = Path(tempfile.mkdtemp(prefix="folio-bench-"))
        try:
            write(workload, folder)
            for threads in THREADS:
                new = measure(workload, threads, args, peaks, folder)
                print(table(new), flush=True)
                rows += new
        finally:
            shutil.rmtree(folder)
        share(rows, peaks)
        merge(peaks, rows)
    print(f"\npeaks of one thread: {peaks.as_json()}\n")
    print(table(rows))


if __name__ == "__main__":
    main()

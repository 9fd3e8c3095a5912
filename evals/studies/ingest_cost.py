"""What one file's ingest costs: seconds of each step, processor time and memory of each process, what PostgreSQL reads;
and what another organization's searches notice of it.

    python -m evals.studies.ingest_cost DATA                         # 60 pages of SciFact abstracts, 3,300 letters each
    python -m evals.studies.ingest_cost DATA --pages 300 --alone     # 300, with no searches beside them
    python -m evals.studies.ingest_cost FILE.pdf                     # another file
    python -m evals.studies.ingest_cost DATA --python OTHER/.venv/bin/python      # `folio up` of another checkout

DATA is the folder of public data. The other organization's handbook is ingested first, and PostgreSQL then takes its
statistics (autovacuum does, some time or other). Linux only: it reads /proc.
"""

import argparse
import csv
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg

from folio import CallFailed, Folio
from folio.common.v1 import step_pb2
from folio.gateway.v1 import gateway_pb2
from folio.words import word

HANDBOOK = Path(__file__).parents[1] / "corpus/brackwater/people/staff-handbook-2025.pdf"
QUESTIONS = (
    "How many days of paid annual leave do full-time staff have in 2025?",
    "parental leave",
    "who approves travel",
    "sick pay",
    "notice period",
    "overtime",
    "What happens with unused leave?",
    "pension",
)
PAGE_CHARS = 2_400
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Use:
    """Of a service with the processes that it started: processor seconds, MiB now (shared memory divided, PSS) and the
    most that one of its processes ever held (resident)."""

    cpu_s: float
    pss: float
    peak: float


def abstracts(data: Path, pages: int) -> bytes:
    """A text file of so many pages of SciFact."""
    csv.field_size_limit(10**8)
    made, page = [], ""
    with (data / "scifact/corpus_train.csv").open(encoding="utf-8", newline="") as file:
        for row in list(csv.reader(file))[1:]:
            page += " ".join(row) + "\n\n"
            if len(page) > PAGE_CHARS:
                made.append(page)
                page = ""
            if len(made) == pages:
                break
    return "\f".join(made).encode()


@contextmanager
def up(python: Path, folder: Path) -> Iterator[int]:
    """`folio up` with two organizations; the id of its process."""
    command = [str(python), "-m", "folio.cli", "--folder", str(folder), "up", "--port", "0"]
    command += ["--create", "reader", "--create", "writer"]
    with (
        tempfile.TemporaryDirectory() as elsewhere,
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=elsewhere) as process,
    ):
        try:
            assert process.stdout is not None
            if not any("is up on" in line for line in process.stdout):
                sys.exit(f"`folio up` of {python} did not start")
            yield process.pid
        finally:
            process.send_signal(signal.SIGINT)
            process.communicate()


def uses(root: int) -> dict[str, Use]:
    """By service; "postgres" is PostgreSQL with all of its processes."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and (fields := _stat(int(entry.name))):
            children.setdefault(int(fields[1]), []).append(int(entry.name))
    found = {}
    for child in children.get(root, []):
        command = Path(f"/proc/{child}/cmdline").read_bytes().decode().split("\0")
        name = next((part[9:] for part in command if part.startswith("services.")), "postgres")
        found[name] = _use(_family(child, children))
    return found


def _family(process: int, children: Mapping[int, list[int]]) -> list[int]:
    below = [each for child in children.get(process, []) for each in _family(child, children)]
    return [process, *below]


def _use(processes: list[int]) -> Use:
    ticks, pss, peak = 0, 0, 0
    for process in processes:
        # Their own time, and that of their children that have ended.
        ticks += sum(map(int, _stat(process)[11:15]))
        pss += _kilobytes(process, "smaps_rollup", "Pss")
        peak = max(peak, _kilobytes(process, "status", "VmHWM"))
    return Use(ticks / TICKS, pss / 1024, peak / 1024)


def _stat(process: int) -> list[str]:
    """The fields behind the program's name; none of a process that has ended."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def _kilobytes(process: int, file: str, name: str) -> int:
    try:
        text = Path(f"/proc/{process}/{file}").read_text()
    except OSError:
        return 0
    found = re.search(rf"^{name}:\s+(\d+) kB", text, re.MULTILINE)
    return int(found[1]) if found else 0


def _database(root: int) -> str:
    """The superuser's connection string of the embedded PostgreSQL, from its command line."""
    for entry in Path("/proc").iterdir():
        fields = _stat(int(entry.name)) if entry.name.isdigit() else []
        if fields and int(fields[1]) == root:
            command = (entry / "cmdline").read_bytes().decode()
            if found := re.search(r'unix_socket_directories="([^"]+)"', command):
                return f"host={found[1]} user=postgres dbname=postgres"
    sys.exit("there is no embedded PostgreSQL")


def _reads(connection: psycopg.Connection) -> dict[str, int]:
    """Rows and entries of indexes that PostgreSQL has read, by table."""
    # Each process counts for all to see once it has been idle for a second.
    time.sleep(2)
    rows = connection.execute(
        "select t.relname, t.seq_tup_read + coalesce(sum(i.idx_tup_read), 0)::bigint"
        " from pg_stat_user_tables t left join pg_stat_user_indexes i using (relid)"
        " where t.schemaname = 'folio' group by t.relname, t.seq_tup_read"
    )
    return dict(rows.fetchall())


class Searches:
    """The other organization: a new question each time, a tenth of a second between them."""

    def __init__(self, client: Folio) -> None:
        self._client = client
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.ms: list[float] = []
        self.failed = 0

    def __enter__(self) -> "Searches":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.wait(0.1):
            start = time.perf_counter()
            try:
                self._client.search(f"{QUESTIONS[len(self.ms) % len(QUESTIONS)]} {len(self.ms)}")
            except CallFailed:
                self.failed += 1
            self.ms.append(1000 * (time.perf_counter() - start))

    def __str__(self) -> str:
        ordered = sorted(self.ms)
        p95 = ordered[int(0.95 * (len(ordered) - 1))]
        return (
            f"{len(ordered)} searches, {self.failed} failed; ms: p50 {statistics.median(ordered):.0f},"
            f" p95 {p95:.0f}, slowest {ordered[-1]:.0f}"
        )


def _ingest(client: Folio, data: bytes, name: str) -> tuple[gateway_pb2.IngestResult, float, int]:
    """The result, the seconds it took, and how often it told how far it is."""
    start = time.perf_counter()
    events = list(client.ingest(data, name))
    return events[-1].result, time.perf_counter() - start, len(events)


def measure(python: Path, data: bytes, name: str, *, alone: bool) -> Iterator[str]:
    """The lines of a report."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        root = stack.enter_context(up(python, folder / "suite"))
        there = json.loads((folder / "suite/client.json").read_text())
        writer = stack.enter_context(Folio(there["address"], there["keys"]["writer"]))
        reader = stack.enter_context(Folio(there["address"], there["keys"]["reader"]))
        database = stack.enter_context(psycopg.connect(_database(root), autocommit=True))
        _ingest(reader, HANDBOOK.read_bytes(), HANDBOOK.name)
        database.execute("analyze")
        time.sleep(3)
        rest, reads = uses(root), _reads(database)
        if not alone:
            with Searches(reader) as before:
                time.sleep(5)
            yield f"before: {before}"
        before_cpu = uses(root)
        with ExitStack() as beside:
            searches = None if alone else beside.enter_context(Searches(reader))
            result, seconds, told = _ingest(writer, data, name)
        after, pages = uses(root), result.document.page_count
        if searches:
            yield f"during: {searches}"
        yield (
            f"{name}: {pages} pages, {result.document.chunk_count} chunks in {seconds:.1f} s"
            f" ({pages / seconds:.1f} pages a second), told of its progress {told} times"
        )
        steps = (
            f"{word(step_pb2.Step, step.step) if step.step else '?'} {step.elapsed_ms / 1000:.2f}"
            for step in result.steps
        )
        yield f"seconds: {', '.join(steps)}"
        yield ""
        yield "| | CPU s | a page | MiB at rest | MiB after | most of one process |"
        yield "| --- | --- | --- | --- | --- | --- |"
        for service, use in after.items():
            spent = use.cpu_s - before_cpu[service].cpu_s
            yield (
                f"| {service} | {spent:.1f} | {spent / pages:.3f} | {rest[service].pss:.0f} | {use.pss:.0f} |"
                f" {use.peak:.0f} |"
            )
        total = sum(use.cpu_s - before_cpu[service].cpu_s for service, use in after.items())
        yield (
            f"| all | {total:.1f} | {total / pages:.3f} | {sum(use.pss for use in rest.values()):.0f} |"
            f" {sum(use.pss for use in after.values()):.0f} | |"
        )
        yield ""
        spent_reads = {
            table: count - reads.get(table, 0) for table, count in _reads(database).items()
        }
        most = sorted(spent_reads.items(), key=lambda each: -each[1])[:4]
        yield f"PostgreSQL read, rows and entries: {', '.join(f'{n} {c:,}' for n, c in most)}"
        yield f"load {os.getloadavg()[0]:.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path, help="folder of the public data, or a file")
    parser.add_argument("--pages", type=int, default=60)
    parser.add_argument("--alone", action="store_true", help="no searches beside it")
    parser.add_argument("--python", type=Path, default=Path(sys.executable))
    given = parser.parse_args()
    if given.data.is_dir():
        data, name = abstracts(given.data, given.pages), f"scifact-{given.pages}.txt"
    else:
        data, name = given.data.read_bytes(), given.data.name
    for line in measure(given.python, data, name, alone=given.alone):
        print(line, flush=True)


if __name__ == "__main__":
    main()

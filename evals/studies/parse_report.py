"""What becomes of difficult and of real PDFs: a table of outcomes, speed, memory, and where the time goes.

    python -m evals.studies.parse_report hard DATA   all files of DATA/pdf_hard
    python -m evals.studies.parse_report real DATA   all PDFs of DATA/financebench and DATA/mmlongbench_doc
    python -m evals.studies.parse_report all DATA    both
    python -m evals.studies.parse_report time FILE   the steps of one file

Every file has a process of its own, one after the other, the smallest first. CPU seconds are those of reading the
file, without the start of the process.
"""

import asyncio
import json
import sys
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from services.retriever.documents import ParsedDocument
from services.retriever.parsing import ParseLimits, ParserPool
from services.rpc.errors import FolioError

_PYPDF_PASSWORD = "asdfzxcv"
_PASSWORDS = {"libreoffice-writer-password.pdf": "openpassword", "encrypted-file.pdf": "test"}


@dataclass(frozen=True)
class Case:
    """One file to read."""

    path: Path
    tags: tuple[str, ...] = ()
    password: str = ""


@dataclass(frozen=True)
class Outcome:
    """What became of a file: a document, or the error's kind and reason."""

    case: Case
    seconds: float
    cpu_s: float
    peak_memory: int
    document: ParsedDocument | None
    error: str

    @property
    def word(self) -> str:
        if self.document is None:
            return self.error
        pages, empty = len(self.document.pages), len(self.document.empty_pages)
        if empty == pages:
            return "needs OCR"
        return "read, some pages empty" if empty else "read"


def hard_cases(data: Path) -> list[Case]:
    """The files of pdf_hard with the passwords that their collections name."""
    folder = data / "pdf_hard"
    manifest = json.loads((folder / "pdfjs" / "test_manifest.json").read_text())
    passwords = {
        Path(entry["file"]).name: entry["password"] for entry in manifest if "password" in entry
    }
    cases = []
    for entry in json.loads((folder / "INDEX.json").read_text()):
        path = folder / entry["file"]
        password = passwords.get(path.name, "") or _PASSWORDS.get(path.name, "")
        if "pypdf-resources/resources/encryption/" in entry["file"]:
            password = _PYPDF_PASSWORD
        cases.append(Case(path, tuple(entry["tags"]), password))
    return cases


def real_cases(data: Path) -> list[Case]:
    """Every PDF of the two sets of real documents."""
    folders = (data / "financebench", data / "mmlongbench_doc")
    return [Case(path) for folder in folders for path in sorted(folder.rglob("*.pdf"))]


async def outcomes(cases: list[Case], limits: ParseLimits) -> AsyncIterator[Outcome]:
    """Reads the files one after the other, each in a process of its own."""
    for case in cases:
        pool = ParserPool(replace(limits, recycle_after=1))
        document, error = None, ""
        data = case.path.read_bytes()
        start = time.perf_counter()
        try:
            document = await pool.parse(data, file_name=case.path.name, password=case.password)
        except FolioError as failure:
            error = f"{type(failure).__name__} {failure.reason or failure.message}"
        seconds = time.perf_counter() - start
        stats = pool.stats
        yield Outcome(case, seconds, stats.cpu_s, stats.peak_memory, document, error)
        await pool.close()


async def _report(cases: list[Case]) -> None:
    print(
        "| file | tags | outcome | pages | empty | labels | sections | characters | CPU s | MiB |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    found = []
    async for outcome in outcomes(
        sorted(cases, key=lambda case: case.path.stat().st_size), ParseLimits()
    ):
        found.append(outcome)
        print(_row(outcome), flush=True)
    print()
    for word, count in Counter(outcome.word for outcome in found).most_common():
        print(f"- {count} {word}")
    pages = sum(len(outcome.document.pages) for outcome in found if outcome.document)
    cpu = sum(outcome.cpu_s for outcome in found)
    wall = sum(outcome.seconds for outcome in found)
    peak = max(outcome.peak_memory for outcome in found) / 2**20
    slowest = max(found, key=lambda outcome: outcome.cpu_s)
    print(
        f"- {len(found)} files, {pages} pages, {cpu:.1f} CPU s ({pages / cpu:.0f} pages per CPU s)"
    )
    print(f"- {wall:.1f} s of wall clock, the start of a process for every file included")
    print(f"- peak memory of a worker {peak:.0f} MiB")
    print(f"- slowest {slowest.case.path.name}, {slowest.cpu_s:.1f} CPU s")


def _row(outcome: Outcome) -> str:
    document = outcome.document
    cells = [outcome.case.path.name, " ".join(outcome.case.tags), outcome.word]
    if document:
        cells += [
            str(len(document.pages)),
            str(len(document.empty_pages)),
            _labels(document),
            str(len(document.sections)),
            str(len(document.text)),
        ]
    else:
        cells += [""] * 5
    cells += [f"{outcome.cpu_s:.2f}", f"{outcome.peak_memory / 2**20:.0f}"]
    return "| " + " | ".join(cells) + " |"


def _labels(document: ParsedDocument) -> str:
    labels = [page.label for page in document.pages]
    if labels == [str(index + 1) for index in range(len(labels))]:
        return "numbers"
    shown = labels if len(labels) <= 4 else [*labels[:3], "…", labels[-1]]
    return " ".join(shown).replace("|", "/")


def _time(path: Path) -> Iterator[str]:
    # Here and not above: pdfium has no place in a process that reads hostile files and does other work.
    from services.retriever.parsing.pdf import glyphs, hidden, layout, pages
    from services.retriever.parsing.pdf.opening import opened

    data = path.read_bytes()
    spent: dict[str, float] = defaultdict(float)

    def step(name: str, start: float) -> float:
        now = time.process_time()
        spent[name] += now - start
        return now

    whole = time.process_time()
    with opened(data) as document:
        for index in range(len(document)):
            start = time.process_time()
            page = document[index]
            page.get_textpage().close()
            start = step("pdfium: load the page and its text", start)
            found = glyphs.read(page)
            start = step("the same again, and characters, boxes, styles", start)
            unseen = hidden.find(page, found)
            start = step("hidden text", start)
            layout.lines(found, unseen.flags)
            step("lines and paragraphs", start)
            page.close()
    steps = time.process_time() - whole
    start = time.process_time()
    parsed = pages.parse(data)
    total = time.process_time() - start
    for name, seconds in spent.items():
        yield f"| {name} | {seconds:.2f} |"
    yield f"| steps above | {steps:.2f} |"
    yield f"| whole parse of {len(parsed.pages)} pages | {total:.2f} |"


def main() -> None:
    """Prints one report."""
    match sys.argv[1:]:
        case ["time", file]:
            print("\n".join(_time(Path(file))))
        case ["hard", data]:
            asyncio.run(_report(hard_cases(Path(data))))
        case ["real", data]:
            asyncio.run(_report(real_cases(Path(data))))
        case ["all", data]:
            asyncio.run(_report(hard_cases(Path(data)) + real_cases(Path(data))))
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()

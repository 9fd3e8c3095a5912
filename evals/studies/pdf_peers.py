"""Pages, labels and text length of difficult PDFs, beside other readers: poppler, MuPDF, pypdf.

    python -m evals.studies.pdf_peers DATA          # all files of DATA/pdf_hard

Those are asked that are installed; poppler is `pdftotext` on the PATH, MuPDF the package pymupdf. Characters are
counted without blanks, so that layout makes no difference. Every reading has a process of its own, for half a minute at
most. A row is marked where a peer reads another number of pages, or text that differs from ours by more than a fifth
and 60 characters.
"""

import asyncio
import importlib
import importlib.util
import json
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evals.studies.parse_report import Case, hard_cases, outcomes
from services.retriever.parsing import ParseLimits

SECONDS = 30


@dataclass(frozen=True)
class Reading:
    """`pages` is -1 where the reader refused the file; `labels` are empty where it knows none."""

    pages: int
    characters: int
    labels: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "refused" if self.pages < 0 else f"{self.pages}, {self.characters}"

    def differs(self, other: "Reading") -> bool:
        most = max(self.characters, other.characters)
        return (
            self.pages != other.pages or abs(self.characters - other.characters) > 60 + 0.2 * most
        )


REFUSED = Reading(-1, 0)


def _length(text: str) -> int:
    return len("".join(text.split()))


def poppler(path: Path, password: str) -> Reading:
    """A page ends with a form feed. Its user's password may be none where the owner's is given."""
    for given in (["-upw", password, "-opw", password], []):
        command = ["pdftotext", *given, str(path), "-"]
        done = subprocess.run(command, capture_output=True, check=False, timeout=SECONDS)
        if done.returncode == 0:
            text = done.stdout.decode(errors="replace")
            return Reading(text.count("\f"), _length(text))
    return REFUSED


def mupdf(path: Path, password: str) -> Reading:
    pymupdf: Any = importlib.import_module("pymupdf")
    pymupdf.TOOLS.mupdf_display_errors(False)
    document = pymupdf.open(path)
    if document.needs_pass and not document.authenticate(password):
        return REFUSED
    text = [page.get_text() for page in document]
    return Reading(len(text), sum(map(_length, text)), tuple(page.get_label() for page in document))


def pypdf(path: Path, password: str) -> Reading:
    document = importlib.import_module("pypdf").PdfReader(path, password=password or None)
    text = [page.extract_text() for page in document.pages]
    return Reading(len(text), sum(map(_length, text)), tuple(document.page_labels))


READERS: dict[str, Callable[[Path, str], Reading]] = {
    "poppler": poppler,
    "mupdf": mupdf,
    "pypdf": pypdf,
}


def _installed(name: str) -> bool:
    if name == "poppler":
        return shutil.which("pdftotext") is not None
    return importlib.util.find_spec("pymupdf" if name == "mupdf" else name) is not None


def _apart(name: str, case: Case) -> Reading:
    """What the reader makes of it in a process of its own."""
    command = [sys.executable, "-m", "evals.studies.pdf_peers", "one", name]
    try:
        done = subprocess.run(
            [*command, str(case.path), case.password],
            capture_output=True,
            check=False,
            timeout=2 * SECONDS,
        )
        if done.returncode:
            return REFUSED
        pages, characters, labels = json.loads(done.stdout.splitlines()[-1])
    except subprocess.TimeoutExpired:
        return REFUSED
    return Reading(pages, characters, tuple(labels))


def _labels(labels: tuple[str, ...]) -> str:
    if labels == tuple(str(index + 1) for index in range(len(labels))) or not any(labels):
        return ""
    return " ".join(labels if len(labels) <= 4 else (*labels[:3], "…", labels[-1])).replace(
        "|", "/"
    )


async def report(data: Path) -> None:
    """A row of each file, then how many differ."""
    peers = [name for name in READERS if _installed(name)]
    print(f"pages, characters | {' | '.join(peers)}")
    print(f"| file | ours | labels | {' | '.join(peers)} | differs from |")
    print("| --- " * (len(peers) + 4) + "|")
    counts: Counter[str] = Counter()
    total: Counter[str] = Counter()
    async for outcome in outcomes(hard_cases(data), ParseLimits()):
        ours = REFUSED
        if document := outcome.document:
            ours = Reading(
                len(document.pages),
                sum(_length(page.text) for page in document.pages),
                tuple(page.label for page in document.pages),
            )
        found = {name: await asyncio.to_thread(_apart, name, outcome.case) for name in peers}
        differ = [name for name, reading in found.items() if reading.differs(ours)]
        counts.update(differ)
        for name, reading in (("ours", ours), *found.items()):
            total[name] += reading.characters
            counts[f"{name} refused"] += reading.pages < 0
        if labels := [
            n for n, r in found.items() if _labels(r.labels) not in ("", _labels(ours.labels))
        ]:
            counts.update(f"{name} labels" for name in labels)
            differ += [f"{name} (labels)" for name in labels]
        cells = [outcome.case.path.name, str(ours), _labels(ours.labels)]
        cells += [str(found[name]) for name in peers]
        print(f"| {' | '.join([*cells, ' '.join(differ)])} |", flush=True)
    print()
    for name in ("ours", *peers):
        print(
            f"- {name}: {total[name]:,} characters, {counts[f'{name} refused']} refused;"
            f" {counts[name]} differ from ours, {counts[f'{name} labels']} in their labels"
        )


def main() -> None:
    match sys.argv[1:]:
        case ["one", name, path, password]:
            read = READERS[name](Path(path), password)
            print(json.dumps([read.pages, read.characters, read.labels]))
        case [data]:
            asyncio.run(report(Path(data)))
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()

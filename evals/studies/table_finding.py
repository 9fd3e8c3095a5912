"""Finds the tables of pages whose cells were read by eye, and counts pairs of a row, a head and a value.

    python -m evals.studies.table_finding DATA               # our finder, and pdfplumber's where it is installed
    python -m evals.studies.table_finding DATA --show        # every pair that is wrong or missing

DATA is the folder of public data; what the pages say is evals/golden/table_cells.tsv. The pages held in were looked at
while the finder was made, those held out were chosen by chance from other files before it was run on them.

A pair is right if a row of that name has that value under the last of its heads, and under none of another column;
every other pair that is found is wrong.
"""

import argparse
import importlib
import importlib.util
import io
import re
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import pypdfium2

from services.retriever.parsing.pdf import pages
from services.text.tables import Grid

TRUTH = Path(__file__).parents[1] / "golden/table_cells.tsv"
BETWEEN = " > "
_PLUMBER: dict[str, dict[str, Any]] = {
    "by its lines": {},
    "by its text": {"vertical_strategy": "text", "horizontal_strategy": "text"},
    "by both": {"vertical_strategy": "text", "horizontal_strategy": "lines"},
}
# Marks of notes, spaces, bullets and signs, which readers write in ways of their own.
_NOT_SAID = re.compile(r"\[\^\w+\]|[^\w(),*+\-/:<>\[\]]+|_")
_MARK = re.compile(r"\((?:[a-z]|\d{1,2})\)", re.IGNORECASE)
_DASH = re.compile(r"[\u2010-\u2015\u2212\xad]")
_UNIT = re.compile(r"\((?:in |dollars |unaudited)[^()]*\)", re.IGNORECASE)
_FIGURE = re.compile(r"[\s$(]*[-\u2013\u2014]?[\d,.]*\d[\d,.]*[)%\s]*|\s*[-\u2013\u2014]\s*")
_YEAR = re.compile(r"\s*(?:19|20)\d\d\s*")


class Pair(NamedTuple):
    """A value, the name of its row, and the heads of its column from the top down."""

    row: str
    heads: tuple[str, ...]
    value: str


@dataclass
class TruePage:
    """What a page says in tables; `page` counts from 1."""

    file: str
    page: int
    held: str
    pairs: list[Pair] = field(default_factory=list)
    heads: set[str] = field(default_factory=set)


class Score(NamedTuple):
    right: int
    wrong: list[Pair]
    missed: list[Pair]


def load(path: Path = TRUTH) -> list[TruePage]:
    """All pages, in their order."""
    found: list[TruePage] = []
    heads: list[tuple[str, ...]] = []
    for line in path.read_text().splitlines():
        first, *rest = line.split("\t")
        if first == "@page":
            found.append(TruePage(rest[0], int(rest[1]), rest[2]))
        elif first == "@heads":
            heads = [tuple(filter(None, head.split(BETWEEN))) for head in rest]
            found[-1].heads.update(_heads(part for head in heads for part in head))
        else:
            found[-1].pairs += [
                Pair(first, head, value) for head, value in zip(heads, rest, strict=False) if value
            ]
    return found


def score(truth: TruePage, found: Sequence[Pair]) -> Score:
    """How many true pairs were found, and which pairs are wrong or missing."""
    wrong = [
        pair for pair in found if not any(_same(true, pair, truth.heads) for true in truth.pairs)
    ]
    missed = [
        true for true in truth.pairs if not any(_same(true, pair, truth.heads) for pair in found)
    ]
    return Score(len(truth.pairs) - len(missed), wrong, missed)


def _same(true: Pair, pair: Pair, heads: set[str]) -> bool:
    if _named(true.row) != _named(pair.row) or _said(true.value) != _said(pair.value):
        return False
    over = _named("".join(pair.heads))
    own = _heads(true.heads)
    others = {head for head in heads if not any(head in mine for mine in own)}
    # What another column's head says must not stand over this one, whatever of its own is said as well.
    rest = over
    for mine in sorted(own, key=len, reverse=True):
        rest = rest.replace(mine, "\\n")
    return (not own or own[-1] in over) and not any(
        other in rest for other in others if len(other) > 3
    )


def _heads(parts: Iterable[str]) -> list[str]:
    """What heads say but for their units."""
    return [said for part in parts if (said := _named(_UNIT.sub("", part)))]


def _named(text: str) -> str:
    """What a name says but for marks of notes, "(1)", which a value would lose its figure with."""
    return _said(_MARK.sub("", text))


def _said(text: str) -> str:
    return _NOT_SAID.sub("", _DASH.sub("-", text)).casefold()


def ours(path: Path, page: int) -> list[Pair]:
    """What the parser reads of a page by itself."""
    source = pypdfium2.PdfDocument(path)
    made = pypdfium2.PdfDocument.new()
    made.import_pages(source, [page - 1])
    buffer = io.BytesIO()
    made.save(buffer)
    document = pages.parse(buffer.getvalue())
    found = []
    for table in document.tables:
        grid = Grid(table, document.text)
        for row in grid.rows:
            names = [grid.say(cell) for cell in grid.names(row)]
            for cell in grid.values(row) if names else ():
                heads = tuple(grid.say(head) for head in grid.column_heads(cell))
                found.append(Pair(names[-1], heads, grid.say(cell)))
    return found


def plumbers(module: Any, path: Path, page: int, settings: dict[str, Any]) -> list[Pair]:
    """What pdfplumber finds: rows of words in front of the first of figures are its heads."""
    with module.open(path) as document:
        return [
            pair
            for table in document.pages[page - 1].extract_tables(settings)
            for pair in _of_rows([[cell or "" for cell in row] for row in table])
        ]


def _of_rows(rows: Sequence[Sequence[str]]) -> Iterator[Pair]:
    first = next((at for at, row in enumerate(rows) if any(map(_is_figure, row[1:]))), 1)
    for row in rows[first:]:
        name = next((cell for cell in row if cell.strip()), "")
        for column, cell in enumerate(row):
            if column and cell.strip() and cell.strip() not in ("$", "%", ")") and cell != name:
                heads = tuple(head[column] for head in rows[:first] if column < len(head))
                yield Pair(name, tuple(filter(str.strip, heads)), cell)


def _is_figure(cell: str) -> bool:
    return _FIGURE.fullmatch(cell) is not None and not _YEAR.fullmatch(cell)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("--show", action="store_true")
    arguments = parser.parse_args()
    truths = [each for each in load() if (arguments.data / each.file).is_file()]
    if not truths:
        parser.exit(message=f"skipped: none of the files is in {arguments.data}\n")
    for held in ("held-in", "held-out"):
        some = [each for each in truths if each.held == held]
        print(f"{held}: {len(some)} pages, {sum(len(each.pairs) for each in some)} pairs")
        totals: Counter[str] = Counter()
        began = time.process_time()
        for truth in some:
            result = score(truth, ours(arguments.data / truth.file, truth.page))
            totals += Counter(
                right=result.right, wrong=len(result.wrong), missed=len(result.missed)
            )
            if arguments.show:
                _show(truth, result)
        spent = 1000 * (time.process_time() - began) / max(1, len(some))
        print(f"  ours: {_line(totals)} ({spent:.0f} ms of processor time a page, reading and all)")
        if importlib.util.find_spec("pdfplumber") is None:
            print("  pdfplumber: not installed, not compared")
            continue
        module = importlib.import_module("pdfplumber")
        for named, settings in _PLUMBER.items():
            totals = Counter()
            for truth in some:
                pairs = plumbers(module, arguments.data / truth.file, truth.page, settings)
                result = score(truth, pairs)
                totals += Counter(
                    right=result.right, wrong=len(result.wrong), missed=len(result.missed)
                )
            print(f"  pdfplumber {named}: {_line(totals)}")


def _line(totals: Counter[str]) -> str:
    return ", ".join(f"{totals[key]:,} {key}" for key in ("right", "wrong", "missed"))


def _show(truth: TruePage, result: Score) -> None:
    for named, pairs in (("wrong", result.wrong), ("missed", result.missed)):
        for pair in pairs:
            print(
                f"  {named} {truth.file} {truth.page}: {pair.row} | {BETWEEN.join(pair.heads)} | {pair.value}"
            )


if __name__ == "__main__":
    main()

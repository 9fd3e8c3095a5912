"""Holds sentences about tables of real documents against grounding: right ones must pass, wrong ones must not.

    python -m evals.studies.table_grounding DATA

DATA is the folder of public data; the documents are those of evals/golden/tables.yaml, read around their tables. Of
each, some figures are drawn, and for each right sentences are made as answers say them, and wrong ones: its name
beside a figure of another column, another row or another table, quoted from where that figure stands.
"""

import argparse
import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from evals.studies.table_questions import excerpt, load
from folio.formats import MediaType
from services.gateway.grounding.check import DraftQuote, DraftSentence, check_sentence
from services.gateway.grounding.quotes import SourceText
from services.retriever.parsing.parser import Hints
from services.retriever.parsing.worker import PARSERS
from services.text.tables import Cell, Grid

# Figures of each document.
FIGURES = 60
SEED = 5
REASON = "it takes a value from another row or column than the one it names"
# A kind of sentence, whether it is right, the sentence and its quotes.
_Made = tuple[str, bool, DraftSentence]
# A figure: its table, its row and itself.
Figure = tuple[Grid, int, Cell]


def read(data: Path) -> Iterator[SourceText]:
    """The pages around the tables, a text of each document."""
    pages: dict[str, list[int]] = defaultdict(list)
    for question in load():
        pages[question.file].append(question.page)
    for file, wanted in pages.items():
        if (data / file).is_file():
            content = excerpt(data / file, sorted(set(wanted)))
            parsed = PARSERS[MediaType.PDF](content, Hints(stem=Path(file).stem))
            yield SourceText(parsed.text, tables=parsed.tables)


def figures(source: SourceText) -> list[Figure]:
    """The figures that have a name and heads."""
    return [
        (grid, row, cell)
        for grid in source.grids
        for row in grid.rows
        for cell in grid.values(row)
        if cell.row == row
        and any(map(str.isdigit, grid.say(cell)))
        and grid.column_heads(cell)
        and grid.names(row)
    ]


def sentences(figure: Figure, all_figures: Sequence[Figure], rng: random.Random) -> Iterator[_Made]:
    """Right and wrong sentences about a figure."""
    grid, row, cell = figure
    heads = grid.column_heads(cell)
    name, column, value = grid.say(grid.names(row)[-1]), _said(grid, heads), grid.say(cell)
    last = grid.say(heads[-1])
    cells = [*grid.row_heads(row), *heads, cell]
    spoken = f"{_said(grid, grid.row_heads(row))}: {column} {value}"
    yield "cells", True, DraftSentence(spoken, tuple(_quote(grid, each, each) for each in cells))
    for kind, text in (
        ("column and row", f"The {last} of {name} was {value}."),
        ("row alone", f"{name} came to {value}."),
        ("row and heads", f"For {name}, the {column} is {value}."),
    ):
        yield kind, True, DraftSentence(text, (_row(grid, row),))

    def wrong(kind: str, others: list[Figure]) -> Iterator[_Made]:
        others = [one for one in others if one[0].say(one[2]) != value]
        if others:
            other, at, taken = rng.choice(others)
            for text in (f"The {last} of {name} was {{}}.", f"{name}: {column} {{}}"):
                said = text.format(other.say(taken))
                yield kind, False, DraftSentence(said, (_row(other, at),))

    mine = [one for one in all_figures if one[0] is grid]
    beside = [one for one in mine if one[1] == row and grid.column_heads(one[2]) != heads]
    yield from wrong("another column", beside)
    below = [one for one in mine if one[1] != row and one[2].column == cell.column]
    yield from wrong("another row", below)
    yield from wrong("another table", [one for one in all_figures if one[0] is not grid])


def _said(grid: Grid, cells: Sequence[Cell]) -> str:
    return " ".join(map(grid.say, cells))


def _row(grid: Grid, row: int) -> DraftQuote:
    cells = [cell for cell in grid.row(row) if cell.row == row and cell.char_start < cell.char_end]
    return _quote(grid, cells[0], cells[-1])


def _quote(grid: Grid, first: Cell, last: Cell) -> DraftQuote:
    return DraftQuote(0, grid.text[first.char_start : last.char_end], first.char_start)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("--show", action="store_true", help="print what was judged wrongly")
    arguments = parser.parse_args()
    rng, counts, asked = random.Random(SEED), Counter[tuple[str, bool]](), Counter[str]()
    for source in read(arguments.data):
        found = figures(source)
        for figure in rng.sample(found, min(FIGURES, len(found))):
            for kind, right, sentence in sentences(figure, found, rng):
                passed = REASON not in check_sentence(sentence, [source]).reasons
                asked[kind] += 1
                counts[kind, right] += passed is not right
                if arguments.show and passed is not right:
                    print(f"{kind}: {sentence.text} [{sentence.quotes[0].text}]")
    for (kind, right), wrongly in counts.items():
        what = "right, refused" if right else "wrong, passed"
        print(f"{kind:15} {wrongly:4} of {asked[kind]:4} {what}")
    if not counts:
        print(f"skipped: none of the files is in {arguments.data}")


if __name__ == "__main__":
    main()

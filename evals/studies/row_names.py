"""Asks for figures of tables by the names of their rows: is the row's window among the first ten, the answer right?

    python -m evals.studies.row_names DATA                     # starts services of its own
    python -m evals.studies.row_names DATA --start FOLDER      # keeps their data, and what was read, in FOLDER

Two kinds of tables. A list of 1,500 parts that is made here, of 40 words before 40 words: each word stands in about 40
rows, the two together in one. And every table of three annual reports of the public data (skipped where they are not),
asked in their own document for rows whose names stand in no second table of it. Right is the figure that the table, as
the parser reads it, has at that place.
"""

import argparse
import json
import random
import re
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evals.connection import started
from folio import Folio
from folio.common.v1 import document_pb2
from folio.gateway.v1 import gateway_pb2
from services.retriever.documents import ParsedDocument
from services.retriever.parsing import media
from services.retriever.parsing.parser import Hints
from services.retriever.parsing.worker import PARSERS
from services.text.tables import Grid, Place

ORGANIZATION = "rows"
REPORTS = ("NETFLIX_2015_10K", "AMAZON_2017_10K", "COSTCO_2021_10K")
PARTS = 1500
# So many hits are looked at.
FIRST = 10

_BEFORE = (
    "hydraulic pneumatic magnetic ceramic copper brass nylon rubber carbon titanium thermal digital optical rotary"
    " linear flexible rigid threaded welded forged tapered slotted knurled insulated sealed vented cooled heated"
    " twin triple outer inner upper lower front rear marine mining garden kitchen"
)
_AFTER = (
    "coupling bearing gasket valve nozzle bracket flange bushing piston spindle washer rivet hinge pulley sprocket"
    " gauge sensor switch relay fuse filter strainer manifold elbow reducer adapter clamp hanger anchor spring damper"
    " roller bolt screw pin shaft gear lever handle housing"
)
_FIGURE = re.compile(r"\(?\d[\d,.]*\)?%?")
_YEAR = re.compile(r"(?:19|20)\d\d")


@dataclass(frozen=True)
class Question:
    """What is asked, the figure that answers it, and where the row stands in its document's text."""

    ask: str
    figure: str
    row: Place


@dataclass
class Source:
    """A file with its questions."""

    name: str
    data: bytes
    questions: list[Question] = field(default_factory=list)


def parts(count: int, chosen: random.Random) -> Source:
    """A list of parts in Markdown; questions are asked by name alone, of every column."""
    names = [f"{before} {after}" for before in _BEFORE.split() for after in _AFTER.split()]
    chosen.shuffle(names)
    lines = [
        "# Parts",
        "",
        "| Part | Name | Price (EUR) | In stock | Weight (kg) |",
        "|---|---|---|---|---|",
    ]
    rows: list[tuple[str, str, str, str]] = []
    for number, name in enumerate(names[:PARTS], 1000):
        row = (
            name,
            f"{chosen.uniform(2, 900):.2f}",
            str(chosen.randrange(10, 999)),
            f"{chosen.uniform(0.1, 40):.1f}",
        )
        rows.append(row)
        lines.append(f"| HM-{number} | {name.capitalize()} | {' | '.join(row[1:])} |")
    source = Source("parts.md", "\n".join(lines).encode())
    document = _read(source)
    (grid,) = (Grid(table, document.text) for table in document.tables)
    places = {
        document.text[start:end].split(" | ")[1].lower(): (start, end)
        for start, end in grid.places().values()
    }
    forms = (
        ("What does the {} cost?", 1),
        ("How many of the {} are in stock?", 2),
        ("What is the weight of the {}?", 3),
    )
    for at, row in enumerate(chosen.sample(rows, count)):
        form, column = forms[at % len(forms)]
        source.questions.append(Question(form.format(row[0]), row[column], places[row[0]]))
    return source


def report(path: Path, count: int, chosen: random.Random) -> Source:
    """A file, and questions for figures of its tables: "What was NAME in 2017?", "What is the HEAD of NAME?"."""
    source = Source(path.name, path.read_bytes())
    found = list(_cells(_read(source)))
    source.questions = chosen.sample(found, min(count, len(found)))
    return source


def _cells(document: ParsedDocument) -> Iterator[Question]:
    """One figure of each row that can be asked for by its name: a name of letters, said once in the tables."""
    rows: dict[str, list[tuple[Grid, int]]] = defaultdict(list)
    for table in document.tables:
        grid = Grid(table, document.text)
        for row in grid.rows if not grid.is_contents else ():
            name = " ".join(map(grid.say, grid.names(row))).rstrip(" :.")
            rows[name.casefold()].append((grid, row))
    for name, there in rows.items():
        if len(there) > 1 or not 2 <= len(name.split()) <= 9 or sum(map(str.isalpha, name)) < 8:
            continue
        ((grid, row),) = there
        said = re.sub(r" \(\w\)", "", " ".join(map(grid.say, grid.names(row)))).rstrip(" :.")
        for cell in grid.values(row):
            figure = grid.say(cell).removeprefix("$").strip()
            heads = [grid.say(head) for head in grid.column_heads(cell)]
            years = set(_YEAR.findall(" ".join(heads)))
            if not _FIGURE.fullmatch(figure) or len(re.sub(r"\D", "", figure)) < 2 or not heads:
                continue
            if len(years) == 1:
                asked = f"What was {said} in {years.pop()}?"
            elif not years and heads[-1][:1].isalpha():
                asked = f"What is the {heads[-1]} of {said}?"
            else:
                continue
            yield Question(asked, figure.strip("()"), grid.places()[row])
            break


def _read(source: Source) -> ParsedDocument:
    kind = media.media_type(source.data, source.name, "")
    return PARSERS[kind](source.data, Hints(stem=Path(source.name).stem))


def ask(client: Folio, source: Source) -> list[dict[str, Any]]:
    """The questions of a source, asked in its document: where the row's window is, and what is said."""
    identifier = 0
    for event in client.ingest(source.data, source.name):
        if event.HasField("result"):
            identifier = event.result.document.id
    within = document_pb2.Filter(document_ids=[identifier])
    found = []
    for question in source.questions:
        ranks = {
            name: _rank(
                client.search(question.ask, limit=FIRST, filter=within, steps={"colbert": on}),
                question.row,
            )
            for name, on in (("search", False), ("colbert", True))
        }
        reply = client.ask(question.ask, filter=within)
        said = _said(reply)
        found.append(
            {
                "file": source.name,
                "question": question.ask,
                "figure": question.figure,
                "ranks": ranks,
                "outcome": reply.WhichOneof("outcome"),
                "said": said,
                "verdict": _judged(question.figure, said),
            }
        )
    return found


def _rank(reply: gateway_pb2.SearchResponse, row: Place) -> int:
    """From 1; 0 where no hit holds the row."""
    for rank, result in enumerate(reply.results, 1):
        if result.chunk.char_start <= row[0] and row[1] <= result.chunk.char_end:
            return rank
    return 0


def _judged(figure: str, said: str | None) -> str:
    if said is None:
        return "abstained"
    whole = re.compile(rf"(?<![\d.,]){re.escape(figure)}(?![\d%]|[.,]\d)")
    return "right" if whole.search(said) else "wrong"


def _said(reply: gateway_pb2.AskResponse) -> str | None:
    if not reply.HasField("answered"):
        return None
    return " ".join(sentence.text for sentence in reply.answered.sentences)


def summary(name: str, found: Sequence[dict[str, Any]]) -> str:
    """One line of Markdown."""
    verdicts = Counter(each["verdict"] for each in found)
    cells = [
        str(sum(1 <= each["ranks"][step] <= most for each in found))
        for step in ("search", "colbert")
        for most in (1, FIRST)
    ]
    cells += [str(verdicts[verdict]) for verdict in ("right", "wrong", "abstained")]
    return f"| {name} | {len(found)} | {' | '.join(cells)} |"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("--questions", type=int, default=60, help="of each file")
    parser.add_argument("--start", type=Path)
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    chosen = random.Random(7)
    sources = [parts(arguments.questions, chosen)]
    for name in REPORTS:
        path = arguments.data / f"financebench/pdfs/{name}.pdf"
        if path.is_file():
            sources.append(report(path, arguments.questions, chosen))
        else:
            print(f"skipped: {name} is not in {arguments.data}")
    found: list[dict[str, Any]] = []
    print(
        "| file | questions | search: first | in ten | colbert: first | in ten | right | wrong | abstained |"
    )
    print("| --- " * 9 + "|")
    with ExitStack() as stack:
        folder = arguments.start or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        there = stack.enter_context(started(folder, [ORGANIZATION]))
        client = stack.enter_context(Folio(there.address, there.keys[ORGANIZATION]))
        for source in sources:
            found += (asked := ask(client, source))
            print(summary(source.name, asked), flush=True)
    if arguments.output:
        arguments.output.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()

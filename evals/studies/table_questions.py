"""Asks questions about tables of real documents: right, wrong, unclear (a row without saying which figure), abstained.

    python -m evals.studies.table_questions DATA                     # starts services of its own
    python -m evals.studies.table_questions DATA --start FOLDER      # keeps their data, and what was read, in FOLDER
    python -m evals.studies.table_questions DATA --address HOST:PORT --key KEY

DATA is the folder of public data; the questions are evals/golden/tables.yaml. Of each file the page of the table is
read with those around it. A question is asked of its own file.
"""

import argparse
import io
import json
import tempfile
from collections import Counter, defaultdict
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pypdfium2
import yaml

from evals.connection import Connection, started
from folio import Folio
from folio.common.v1 import document_pb2
from folio.gateway.v1 import gateway_pb2

QUESTIONS = Path(__file__).parents[1] / "golden/tables.yaml"
# Pages that are read before and behind a page with a table.
AROUND = 3
ORGANIZATION = "tables"


@dataclass(frozen=True)
class Question:
    """What is asked of a table, what must be said, and what must not; nothing must be said where it has no answer."""

    file: str
    page: int
    ask: str
    answer: tuple[str, ...]
    never: tuple[str, ...]


def load(path: Path = QUESTIONS) -> list[Question]:
    """All questions, in their order."""
    return [
        Question(
            table["file"],
            table["page"],
            each["ask"],
            tuple(each.get("answer", ())),
            tuple(each.get("never", ())),
        )
        for table in yaml.safe_load(path.read_text())
        for each in table["questions"]
    ]


def judge(question: Question, said: str | None) -> str:
    """ "right", "wrong", "unclear" or "abstained"; to abstain is right where there is no answer."""
    if said is None:
        return "abstained" if question.answer else "right"
    if not all(part in said for part in question.answer) or not question.answer:
        return "wrong"
    return "unclear" if any(part in said for part in question.never) else "right"


def excerpt(path: Path, pages: Sequence[int]) -> bytes:
    """A PDF of the pages around those given."""
    source = pypdfium2.PdfDocument(path)
    wanted = {at for page in pages for at in range(page - AROUND, page + AROUND + 1)}
    made = pypdfium2.PdfDocument.new()
    made.import_pages(source, sorted(at for at in wanted if 0 <= at < len(source)))
    buffer = io.BytesIO()
    made.save(buffer)
    return buffer.getvalue()


def ask(client: Folio, data: Path, questions: Sequence[Question]) -> list[dict[str, Any]]:
    """The questions with what was said and how that is."""
    pages: dict[str, list[int]] = defaultdict(list)
    for question in questions:
        pages[question.file].append(question.page)
    documents = {}
    for file, wanted in pages.items():
        name = Path(file).name
        for event in client.ingest(excerpt(data / file, sorted(set(wanted))), name):
            if event.HasField("result"):
                documents[file] = event.result.document.id
    found = []
    for question in questions:
        within = document_pb2.Filter(document_ids=[documents[question.file]])
        reply = client.ask(question.ask, filter=within)
        said = _said(reply)
        found.append(
            {
                "file": question.file,
                "page": question.page,
                "question": question.ask,
                "answer": question.answer,
                "outcome": reply.WhichOneof("outcome"),
                "said": said,
                "verdict": judge(question, said),
            }
        )
    return found


def _said(reply: gateway_pb2.AskResponse) -> str | None:
    if not reply.HasField("answered"):
        return None
    return " ".join(sentence.text for sentence in reply.answered.sentences)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("--start", type=Path)
    parser.add_argument("--address")
    parser.add_argument("--key", default="")
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    questions = [each for each in load() if (arguments.data / each.file).is_file()]
    if not questions:
        parser.exit(message=f"skipped: none of the files is in {arguments.data}\n")
    with ExitStack() as stack:
        if arguments.address:
            there = Connection(arguments.address, {ORGANIZATION: arguments.key})
        else:
            folder = arguments.start or Path(stack.enter_context(tempfile.TemporaryDirectory()))
            there = stack.enter_context(started(folder, [ORGANIZATION]))
        client = stack.enter_context(Folio(there.address, there.keys[ORGANIZATION]))
        found = ask(client, arguments.data, questions)
    for each in found:
        if each["verdict"] != "right":
            print(f"{each['verdict']:9}  {each['question']}\n           {each['said']}")
    for named, some in (("with an answer", True), ("without one", False)):
        counts = Counter(each["verdict"] for each in found if bool(each["answer"]) is some)
        print(f"{named}: {sum(counts.values())} questions, {dict(counts)}")
    if arguments.output:
        arguments.output.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()

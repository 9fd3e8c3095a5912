"""The SMART layout of the Glasgow collections (latin-1): Cranfield 1400, CISI and MED.

Records start with `.I number`; `.T`, `.A`, `.B`, `.W`, `.X` start fields. Three traps: Cranfield's qrels name a
query by its position in cran.qry, not by its .I number; its grades are inverted (1 is a complete answer, 4 of minimum
interest, -1 read as 1), so they are turned into gains here; its documents 471 and 995 are empty.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from evals.datasets import Collection, Passage, Query
from evals.datasets.beir import require_relevant
from evals.files import BadFile, read_lines

CRANFIELD_GAIN = {-1: 4, 1: 4, 2: 3, 3: 2, 4: 1}


def load_cranfield(data: Path) -> Collection:
    """1,398 abstracts with text on aerodynamics and 225 questions, graded 1 to 4."""
    folder = data / "glasgow_ir" / "data" / "cran"
    queries = [
        Query(str(position), text)
        for position, (_, fields) in enumerate(_records(folder / "cran.qry"), 1)
        for text in [_joined(fields.get("W", ""))]
    ]
    passages = [
        # .W repeats the title as its first sentence.
        Passage(name, "", _joined(fields.get("W", "")))
        for name, fields in _records(folder / "cran.all.1400")
    ]
    qrels = _qrels(folder / "cran.qrels", document=1, grade=2, gains=CRANFIELD_GAIN)
    return Collection("cranfield", tuple(passages), tuple(queries), qrels)


def load_cisi(data: Path) -> Collection:
    """1,460 abstracts on library science and 76 judged questions, binary."""
    folder = data / "glasgow_ir" / "data" / "cisi"
    return _collection("cisi", folder / "CISI.ALL", folder / "CISI.QRY", folder / "CISI.REL", 1)


def load_med(data: Path) -> Collection:
    """1,033 medical abstracts and 30 questions, binary."""
    folder = data / "glasgow_ir" / "data" / "med"
    return _collection("med", folder / "MED.ALL", folder / "MED.QRY", folder / "MED.REL", 2)


def _collection(
    name: str, documents: Path, questions: Path, judged: Path, column: int
) -> Collection:
    qrels = _qrels(judged, document=column, grade=None, gains={})
    queries = [
        Query(
            number,
            " ".join(part for part in (_joined(f.get("T", "")), _joined(f.get("W", ""))) if part),
        )
        for number, f in _records(questions)
        if number in qrels
    ]
    passages = [
        Passage(number, _joined(fields.get("T", "")), _joined(fields.get("W", "")))
        for number, fields in _records(documents)
    ]
    return Collection(name, tuple(passages), tuple(queries), qrels)


def _records(path: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """(number without leading zeros, field letter -> text) of every record."""
    number, letter = "", ""
    fields: dict[str, str] = {}
    for line, text in read_lines(path, "latin-1"):
        if start := re.fullmatch(r"\.I\s+(\d+)\s*", text):
            if number:
                yield number, fields
            number, letter, fields = str(int(start[1])), "", {}
        elif field := re.fullmatch(r"\.([A-Z])\s*", text):
            letter = field[1]
        elif not number:
            raise BadFile(path, line, "text before the first `.I`; expected the SMART layout")
        elif letter:
            fields[letter] = fields.get(letter, "") + text + "\n"
    if not number:
        raise BadFile(path, 0, "no `.I` record in it; expected the SMART layout")
    yield number, fields


def _qrels(
    path: Path, *, document: int, grade: int | None, gains: Mapping[int, int]
) -> dict[str, dict[str, int]]:
    """A pair that is judged twice keeps its better grade (Cranfield has one such)."""
    qrels: dict[str, dict[str, int]] = {}
    for line, text in read_lines(path, "latin-1"):
        cells = text.split()
        try:
            query, name = str(int(cells[0])), str(int(cells[document]))
            value = 1 if grade is None else gains[int(cells[grade])]
        except (IndexError, ValueError, KeyError):
            raise BadFile(path, line, "expected a query, a document and a known grade") from None
        known = qrels.setdefault(query, {})
        known[name] = max(value, known.get(name, 0))
    require_relevant(path, qrels)
    return qrels


def _joined(text: str) -> str:
    return " ".join(text.split())

"""A format is two lines and a file: the recipe of CONTRIBUTING.md, followed in a copy of the sources."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from folio.formats import MediaType
from services.retriever.parsing.worker import PARSERS

ROOT = Path(__file__).resolve().parents[3]
PARSER = '''"""Rows to text: a line for each, its cells between bars."""

import csv

from folio.formats import MediaType
from services.retriever.documents import Page, ParsedDocument
from services.retriever.parsing import sections
from services.retriever.parsing.encodings import decode
from services.retriever.parsing.limits import ParseLimits
from services.retriever.parsing.parser import DEFAULT_LIMITS, NO_HINTS, Hints, Progress, unseen
from services.retriever.parsing.text import clean


def parse(
    data: bytes,
    hints: Hints = NO_HINTS,
    limits: ParseLimits = DEFAULT_LIMITS,
    progress: Progress = unseen,
) -> ParsedDocument:
    raw, warnings = decode(data)
    text = clean("\\n".join(" | ".join(row) for row in csv.reader(raw.splitlines()))).text
    pages = (Page(0, "1", text, 0),)
    whole = sections.build((), len(text))
    return ParsedDocument(MediaType.ROWS, hints.title_of(), pages, whole, warnings=warnings)
'''
USE = """
import asyncio
import sys
from pathlib import Path

from folio.cli.files import find
from services.retriever.parsing import ParserPool

async def main():
    pool = ParserPool()
    for path in find([Path(sys.argv[1])]).files:
        document = await pool.parse(path.read_bytes(), file_name=path.name)
        print(document.media_type, document.title, document.text)
    await pool.close()

asyncio.run(main())
"""


def test_every_format_has_a_parser() -> None:
    assert set(PARSERS) == set(MediaType)


def add_line(path: Path, after: str, line: str) -> None:
    text = path.read_text()
    assert text.count(after) == 1, f"{path.name} has changed; so must the recipe"
    path.write_text(text.replace(after, f"{after}{line}"))


@pytest.mark.integration
def test_a_new_format_by_the_recipe(tmp_path: Path) -> None:
    for package in ("folio", "services", "buf"):
        shutil.copytree(
            ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__")
        )
    add_line(
        tmp_path / "folio/formats.py",
        '    TEXT = "text/plain", "plain text", PageKind.PAGE, ".txt"\n',
        '    ROWS = "text/x-rows", "rows", PageKind.NONE, ".rows"\n',
    )
    parsing = tmp_path / "services/retriever/parsing"
    add_line(
        parsing / "worker.py",
        "Answer = tuple[wire.Message, bytes]\n",
        "from services.retriever.parsing import rows\n",
    )
    add_line(
        parsing / "worker.py",
        "    MediaType.TEXT: plain.parse,\n",
        "    MediaType.ROWS: rows.parse,\n",
    )
    (parsing / "rows.py").write_text(PARSER)

    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "prices.rows").write_text('part,price\nP-2041,"17,50"\n')
    done = subprocess.run(
        [sys.executable, "-c", USE, "files"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "text/x-rows prices part | price\nP-2041 | 17,50\n"

"""What libraries make of office files, beside our readers: processor time, memory, and what is said and what is lost.

    python -m evals.studies.office_readers

The files are made here, one feature each. openpyxl and python-docx come with the tests; mammoth is tried where it is
installed. Of a Word file's words each is said ("yes") or not; of a workbook it is shown what a reader gives.
"""

import importlib
import importlib.util
import io
import re
import resource
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Mapping
from typing import Any

from services.retriever.parsing.office import docx, xlsx

WORD = "word/document.xml"
SHEET = "xl/worksheets/sheet1.xml"
_NAMESPACES = (
    'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    ' xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"'
    ' xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'
    ' xmlns:wps="http://schemas.microsoft.com/office/word/2010/wordprocessingShape"'
)
_FOOTNOTES = "officeDocument/2006/relationships/footnotes"
_FOOTNOTES_TYPE = "application/vnd.openxmlformats-officedocument.wordprocessingml.footnotes+xml"
_STRICT = {
    b"http://schemas.openxmlformats.org/spreadsheetml/2006/main": b"http://purl.oclc.org/ooxml/spreadsheetml/main",
    b"http://schemas.openxmlformats.org/officeDocument/2006/relationships": (
        b"http://purl.oclc.org/ooxml/officeDocument/relationships"
    ),
}


def _changed(data: bytes, change: Callable[[str, bytes], bytes]) -> bytes:
    """The package with each of its files changed."""
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(file, "w") as new:
        for name in old.namelist():
            new.writestr(name, change(name, old.read(name)))
    return file.getvalue()


def _run(text: str, properties: str = "") -> str:
    return f"<w:r><w:rPr>{properties}</w:rPr><w:t>{text}</w:t></w:r>"


_BOX = f"<w:txbxContent><w:p>{_run('BOXED')}</w:p></w:txbxContent>"
# A word for each feature; 320 has a raised 1, which is no part of the number.
WORDS: Mapping[str, str] = {
    "INSERTED": f'<w:ins w:id="1" w:author="a">{_run("INSERTED")}</w:ins>',
    "MOVED": f'<w:moveTo w:id="2" w:author="a">{_run("MOVED")}</w:moveTo>',
    "DELETED": '<w:del w:id="3" w:author="a"><w:r><w:delText>DELETED</w:delText></w:r></w:del>',
    "CONTROL": f"<w:sdt><w:sdtContent>{_run('CONTROL')}</w:sdtContent></w:sdt>",
    "BOXED": (
        f'<w:r><mc:AlternateContent><mc:Choice Requires="wps"><w:drawing><wps:txbx>{_BOX}</wps:txbx></w:drawing>'
        f"</mc:Choice><mc:Fallback><w:pict>{_BOX}</w:pict></mc:Fallback></mc:AlternateContent></w:r>"
    ),
    "FOOTNOTE": '<w:r><w:footnoteReference w:id="5"/></w:r>',
    "EQUATION": "<m:oMath><m:r><m:t>EQUATION</m:t></m:r></m:oMath>",
    "HIDDEN": _run("HIDDEN", "<w:vanish/>"),
    "WHITE": _run("WHITE", '<w:color w:val="FFFFFF"/>'),
    "STRUCK": _run("STRUCK", "<w:strike/>"),
    "TWICE": _run("TWICE", "<w:dstrike/>"),
    "3201": _run("320") + _run("1", '<w:vertAlign w:val="superscript"/>'),
}


def word_file() -> bytes:
    """A paragraph of each feature."""
    made: Any = importlib.import_module("docx").Document()
    file = io.BytesIO()
    made.save(file)
    body = "".join(f"<w:p>{content}</w:p>" for content in WORDS.values())
    note = f'<w:footnote w:id="5"><w:p>{_run("FOOTNOTE")}</w:p></w:footnote>'
    added = {
        WORD: f"<w:document {_NAMESPACES}><w:body>{body}<w:sectPr/></w:body></w:document>",
        "word/footnotes.xml": f"<w:footnotes {_NAMESPACES}>{note}</w:footnotes>",
    }
    linked = {
        "word/_rels/document.xml.rels": (
            f'<Relationship Id="notes" Type="http://schemas.openxmlformats.org/{_FOOTNOTES}" Target="footnotes.xml"/>'
            "</Relationships>"
        ),
        "[Content_Types].xml": (
            f'<Override PartName="/word/footnotes.xml" ContentType="{_FOOTNOTES_TYPE}"/></Types>'
        ),
    }
    result = io.BytesIO()
    with zipfile.ZipFile(file) as old, zipfile.ZipFile(result, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            if end := linked.get(name, "").encode():
                data = data.replace(end[end.rindex(b"</") :], end)
            if name not in added:
                new.writestr(name, data)
        for name, text in added.items():
            new.writestr(name, text)
    return result.getvalue()


def _python_docx(data: bytes) -> str:
    made: Any = importlib.import_module("docx").Document(io.BytesIO(data))
    return "\n".join(paragraph.text for paragraph in made.paragraphs)


def _mammoth(data: bytes) -> str:
    page: str = importlib.import_module("mammoth").convert_to_html(io.BytesIO(data)).value
    # What it marks as struck out or raised is not said as plain text.
    return re.sub("<[^>]+>", "", re.sub("<s>.*?</s>", "", page.replace("<sup>", "^")))


def workbook(rows: int, columns: int = 50) -> bytes:
    """A head, and rows of numbers."""
    book: Any = importlib.import_module("openpyxl").Workbook()
    page = book.active
    page.append(["Item", *(f"Column {n}" for n in range(1, columns))])
    for row in range(rows):
        page.append([f"PX-{row}", *(row * 7 + column / 2 for column in range(1, columns))])
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


def cells() -> dict[str, bytes]:
    """A workbook for each feature."""
    openpyxl: Any = importlib.import_module("openpyxl")
    rich: Any = importlib.import_module("openpyxl.cell.rich_text")
    fonts: Any = importlib.import_module("openpyxl.cell.text")

    def book(second: Any, percent: bool = False) -> bytes:
        made = openpyxl.Workbook()
        page = made.active
        page.append(["Item", "Value"])
        page.append(["Tea", second])
        page.append(["Salt", 7])
        if percent:
            page["B2"].number_format = "0.0%"
        file = io.BytesIO()
        made.save(file)
        return file.getvalue()

    raised = rich.TextBlock(fonts.InlineFont(vertAlign="superscript"), "1")
    struck = rich.TextBlock(fonts.InlineFont(strike=True), "90")
    plain = book(140)

    def strict(name: str, data: bytes) -> bytes:
        for old, new in _STRICT.items():
            data = data.replace(old, new)
        return data

    def dimension(name: str, data: bytes) -> bytes:
        return data.replace(b'ref="A1:B3"', b'ref="A1"') if name == SHEET else data

    def colour(name: str, data: bytes) -> bytes:
        bad = b'<font><color rgb="red"/>'
        return data.replace(b"<font>", bad, 1) if name == "xl/styles.xml" else data

    return {
        "320 with a raised 1": book(rich.CellRichText("320", raised)),
        "140 behind a struck-out 90": book(rich.CellRichText(struck, "140")),
        "0.125 shown as 12.5%": book(0.125, percent=True),
        "wrong dimension of the sheet": _changed(plain, dimension),
        "bad colour in the styles": _changed(plain, colour),
        "strict namespace": _changed(plain, strict),
    }


def _openpyxl(data: bytes, **options: bool) -> str:
    book = importlib.import_module("openpyxl").load_workbook(
        io.BytesIO(data), data_only=True, **options
    )
    rows = [
        " ".join("" if cell.value is None else str(cell.value) for cell in row)
        for page in book.worksheets
        for row in page.iter_rows()
    ]
    return " / ".join(rows) if rows else "no sheets"


BOOKS: Mapping[str, Callable[[bytes], str]] = {
    "openpyxl, read-only": lambda data: _openpyxl(data, read_only=True),
    "openpyxl, full": _openpyxl,
    "openpyxl, full, rich text": lambda data: _openpyxl(data, rich_text=True),
    "ours": lambda data: " / ".join(xlsx.parse(data).text.split("\n")),
}


def _apart(name: str, rows: int) -> str:
    """Processor seconds and MiB, before and at most, of reading such a sheet in a process of its own."""
    command = [sys.executable, "-m", "evals.studies.office_readers", name, str(rows)]
    return subprocess.run(command, capture_output=True, check=True, text=True).stdout.strip()


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _once(name: str, rows: int) -> None:
    made = made_apart(rows)
    # A small one first: what is imported late belongs to the start.
    BOOKS[name](workbook(1, 2))
    before, start = _peak(), time.process_time()
    BOOKS[name](made)
    print(f"{time.process_time() - start:.2f} | {before:.0f} | {_peak():.0f}")


def made_apart(rows: int) -> bytes:
    """Its making would be the peak of this one."""
    command = [sys.executable, "-m", "evals.studies.office_readers", "make", str(rows)]
    return subprocess.run(command, capture_output=True, check=True).stdout


def _report() -> None:
    print("| a sheet of 100,050 cells | CPU s | MiB before | MiB at most |")
    print("| --- | --- | --- | --- |")
    for name in BOOKS:
        print(f"| {name} | {_apart(name, 2_000)} |", flush=True)
    print()
    print(f"| what a workbook says | {' | '.join(BOOKS)} |")
    print("| --- " * (len(BOOKS) + 1) + "|")
    for feature, data in cells().items():
        said = []
        for read in BOOKS.values():
            try:
                said.append(read(data).replace("|", "¦"))
            except Exception as error:  # noqa: BLE001  (each library has its own)
                said.append(f"refused ({type(error).__name__})")
        print(f"| {feature} | {' | '.join(said)} |", flush=True)
    print()
    readers: dict[str, Callable[[bytes], str]] = {"python-docx": _python_docx}
    if importlib.util.find_spec("mammoth"):
        readers["mammoth"] = _mammoth
    readers["ours"] = lambda data: docx.parse(data).text
    said_by = {name: read(word_file()) for name, read in readers.items()}
    print(f"| what a Word file says | {' | '.join(readers)} |")
    print("| --- " * (len(readers) + 1) + "|")
    for feature in WORDS:
        print(
            f"| {feature} | {' | '.join('yes' if feature in t else 'no' for t in said_by.values())} |"
        )


def main() -> None:
    match sys.argv[1:]:
        case []:
            _report()
        case ["make", rows]:
            sys.stdout.buffer.write(workbook(int(rows)))
        case [name, rows]:
            _once(name, int(rows))
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()

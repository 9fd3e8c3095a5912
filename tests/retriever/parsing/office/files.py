"""Office files for tests: made by the libraries that programs make them with, then changed in their XML."""

import io
import re
import zipfile
from collections.abc import Callable, Mapping, Sequence
from datetime import date

from docx import Document
from docx.document import Document as WordDocument
from openpyxl import Workbook
from openpyxl.worksheet.worksheet import Worksheet
from pptx import Presentation
from pptx.presentation import Presentation as Slides

Value = str | float | bool | date
W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'


def saved(made: WordDocument | Workbook | Slides) -> bytes:
    file = io.BytesIO()
    made.save(file)
    return file.getvalue()


def word(text: str = "A line.") -> bytes:
    document = Document()
    document.add_paragraph(text)
    return saved(document)


def sheet(rows: Sequence[Sequence[Value | None]], title: str = "Prices") -> Workbook:
    book = Workbook()
    page = book.active
    assert page is not None
    page.title = title
    for row in rows:
        page.append(list(row))
    return book


def page_of(book: Workbook, name: str = "Prices") -> Worksheet:
    page = book[name]
    assert isinstance(page, Worksheet)
    return page


def slides(text: str = "A line.") -> bytes:
    made = Presentation()
    slide = made.slides.add_slide(made.slide_layouts[5])
    slide.shapes.title.text = text
    return saved(made)


def parts(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def zipped(files: Mapping[str, bytes | str], stored: str = "") -> bytes:
    """An archive; the entry `stored` is not compressed."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            how = zipfile.ZIP_STORED if name == stored else zipfile.ZIP_DEFLATED
            archive.writestr(name, content, how)
    return file.getvalue()


def changed(data: bytes, name: str, change: Callable[[str], str]) -> bytes:
    """The file with one part changed."""
    files = parts(data)
    before = files[name].decode()
    after = change(before)
    assert after != before, f"nothing of {name} was changed"
    return zipped({**files, name: after})


def with_parts(data: bytes, owner: str, *added: tuple[str, str, str]) -> bytes:
    """The file with parts more: (name, kind of relationship, content), led to from the part `owner`."""
    files = parts(data)
    folder, _, last = owner.rpartition("/")
    path = f"{folder}/_rels/{last}.rels"
    links = files.get(path, b"<Relationships></Relationships>").decode()
    for index, (name, kind, content) in enumerate(added):
        files[name] = content.encode()
        link = (
            f'<Relationship Id="more{index}" Target="/{name}"'
            f' Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/{kind}"/>'
        )
        links = links.replace("</Relationships>", f"{link}</Relationships>")
    files[path] = links.encode()
    return zipped(files)


def strict(data: bytes) -> bytes:
    """The same file in the strict variant of the standard, as Word and Excel save it on request."""
    files = {}
    for name, content in parts(data).items():
        if name.endswith((".xml", ".rels")):
            content = re.sub(
                rb"http://schemas\.openxmlformats\.org/(wordprocessingml|spreadsheetml|presentationml|drawingml|"
                rb"officeDocument)/2006",
                rb"http://purl.oclc.org/ooxml/\1",
                content,
            )
        files[name] = content
    return zipped(files)

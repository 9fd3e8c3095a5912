"""Sets a source as a PDF, byte for byte the same at every run.

Nothing depends on the clock, on zlib (streams stay uncompressed) or on installed fonts (the PDF
core fonts, Windows-1252), so the built files can be compared with a rebuild.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from fpdf import FPDF, FontFace
from fpdf.enums import PageLabelStyle, TextMode, XPos, YPos

from .source import Block, Source, SourceError

_SIZE = {1: 16.0, 2: 12.0, 3: 10.5}
_PAGE = {"A4": (210.0, 297.0), "A5": (148.0, 210.0)}  # mm
_TEXT = 10.0
_TABLE = 8.5
_LEADING = 0.47  # line height in mm per point
_SOFT_HYPHEN = "\u00ad"
_BREAK = re.compile(  # con-tract or pro-bation; never inside th, sh, ch, ph or ck
    r"(?<=\w{2}[aeiouy][bcdfglmnprstv])(?=[bcdfgklmnprstv][aeiouylr]\w{2})"
    r"|(?<=\w{2}[aeiouy])(?=[bcdfgklmnprstv][aeiou]\w{2})"
)


@dataclass(frozen=True)
class Contents:
    """A line of the contents page."""

    level: int
    title: str
    label: str


@dataclass(frozen=True)
class LabelRange:
    """Page labels from one physical page on: roman or decimal, with a prefix."""

    first: int
    style: PageLabelStyle
    prefix: str = ""

    def label(self, page: int) -> str:
        number = page - self.first + 1
        roman = self.style is PageLabelStyle.LOWER_ROMAN
        return self.prefix + (roman_numeral(number) if roman else str(number))


def roman_numeral(number: int) -> str:
    """Lower-case roman numeral of 1 to 39, which is as long as our front matter gets."""
    if not 1 <= number < 40:
        raise ValueError(f"expected 1 to 39, got {number}")
    units = ["", "i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix"]
    return "x" * (number // 10) + units[number % 10]


def hyphenate(text: str) -> str:
    """Mark where long words may be broken at a line end (soft hyphens, seen only when used)."""
    return re.sub(r"[A-Za-z]{8,}", lambda word: _BREAK.sub(_SOFT_HYPHEN, word[0]), text)


class Booklet(FPDF):
    """One document being set: running header, printed page label in the footer, outline."""

    def __init__(self, source: Source) -> None:
        super().__init__(format=_PAGE[source.page], unit="mm")
        self._source = source
        self.ranges: list[LabelRange] = []
        self.contents: list[Contents] = []
        self.core_fonts_encoding = "windows-1252"
        self.set_compression(False)
        self.set_margin(15)
        self.set_auto_page_break(True, margin=17)
        self.set_title(source.title)
        self.set_author(source.organization)
        self.set_subject(source.subject or source.kind)
        self.set_producer("Folio sample documents")
        noon = datetime(*source.published_on.timetuple()[:3], 12, tzinfo=UTC)
        self.set_creation_date(noon)

    def file_id(self) -> str:
        digest = hashlib.md5(self._source.body.encode(), usedforsecurity=False).hexdigest()
        return f"<{digest}><{digest}>"

    def header(self) -> None:
        if self.page_no() == 1 or not self.ranges:
            return
        self.set_font("Helvetica", "I", 7.5)
        self.set_y(8)
        self.cell(0, 4, self._source.title, align="R", new_x=XPos.LMARGIN, new_y=YPos.NEXT)
        self.set_y(15)

    def footer(self) -> None:
        if not self.ranges:
            return
        self.set_font("Helvetica", "", 8)
        self.set_y(-12)
        self.cell(0, 4, self.label(), align="C")

    def label(self) -> str:
        """The printed label of the current page ("" where the document has none)."""
        return self.ranges[-1].label(self.page) if self.ranges else ""

    def start_range(self, style: PageLabelStyle, prefix: str = "") -> None:
        """Begin a new page whose label starts again at 1."""
        # The footer of the page before belongs to the range before: break first, then switch.
        self.add_page(label_style=style, label_prefix=prefix or None, label_start=1)
        self.ranges.append(LabelRange(self.page, style, prefix))


def set_pdf(source: Source) -> tuple[bytes, list[str]]:
    """Set a source; return the file's bytes and its printed page labels (physical order)."""
    blocks = source.blocks
    contents: list[Contents] = [
        Contents(b.level, b.text, "0") for b in blocks if b.kind == "heading" and b.level < 3
    ]
    # Labels are known only after setting, and the contents come first: set until they agree.
    for _ in range(4):
        booklet = _set_once(source, blocks, contents)
        if booklet.contents == contents:
            break
        contents = booklet.contents
    else:
        raise SourceError(f"{source.path}: the contents page does not settle")
    labels = []
    for page in range(1, booklet.pages_count + 1):
        current = [r for r in booklet.ranges if r.first <= page]
        labels.append(current[-1].label(page) if current else "")
    return bytes(booklet.output()), labels


def _set_once(source: Source, blocks: Sequence[Block], contents: Sequence[Contents]) -> Booklet:
    booklet = Booklet(source)
    if source.labels == "roman-front":
        booklet.start_range(PageLabelStyle.LOWER_ROMAN)
    elif source.labels == "decimal":
        booklet.start_range(PageLabelStyle.NUMBER)
    else:
        booklet.add_page()
    fresh = True
    for block in blocks:
        if block.kind == "directive":
            _direct(booklet, block, contents)
            fresh = block.marker in ("page", "body", "appendix")
            continue
        breaks = block.kind == "heading" and block.level == 1 and source.chapters == "break"
        if breaks and not fresh:
            booklet.add_page()
        _draw(booklet, block, source.hyphenate)
        fresh = False
    return booklet


def _direct(booklet: Booklet, block: Block, contents: Sequence[Contents]) -> None:
    match block.marker:
        case "page":
            booklet.add_page()
        case "body":
            booklet.start_range(PageLabelStyle.NUMBER)
        case "appendix":
            booklet.start_range(PageLabelStyle.NUMBER, f"{block.text}-")
        case "contents":
            for line in contents:
                _contents_line(booklet, line)
        case "white" | "tiny" | "off-page" | "invisible":
            _hide(booklet, block.marker, block.text)
        case "comment":
            pass  # for HTML only
        case _:
            raise SourceError(f"unknown directive {block.marker!r}; README.md lists them")


def _contents_line(booklet: Booklet, line: Contents) -> None:
    booklet.set_font("Helvetica", "B" if line.level == 1 else "", 9)
    indent = 4.0 * (line.level - 1)
    room = booklet.epw - indent - booklet.get_string_width(line.title) - 14
    dots = "." * max(3, int(room / booklet.get_string_width(".")))
    booklet.set_x(booklet.l_margin + indent)
    booklet.cell(booklet.epw - indent - 12, 4.6, f"{line.title} {dots}")
    booklet.cell(12, 4.6, line.label, align="R", new_x=XPos.LMARGIN, new_y=YPos.NEXT)


def _draw(booklet: Booklet, block: Block, soft: bool) -> None:
    text = hyphenate(block.text) if soft else block.text
    match block.kind:
        case "heading":
            _heading(booklet, block)
        case "paragraph":
            _flow(booklet, text, _TEXT, after=2.0)
        case "item":
            _item(booklet, block.marker, text)
        case "note":
            booklet.set_draw_color(120)
            _flow(booklet, text, _TEXT - 0.5, style="I", after=2.5, border="L", indent=3)
        case "table":
            _table(booklet, block)
        case "directive":
            raise AssertionError("directives are handled by _direct")


def _heading(booklet: Booklet, block: Block) -> None:
    size = _SIZE[block.level]
    if booklet.will_page_break(28):  # a heading never stands alone at the foot of a page
        booklet.add_page()
    if block.level > 1 and booklet.get_y() > 20:
        booklet.ln(1.5)
    booklet.start_section(block.text, level=block.level - 1, strict=False)
    if block.level < 3:
        booklet.contents.append(Contents(block.level, block.text, booklet.label()))
    _flow(booklet, block.text, size, style="B", after=3.0 if block.level == 1 else 1.2)


def _item(booklet: Booklet, marker: str, text: str) -> None:
    booklet.set_font("Helvetica", "", _TEXT)
    if booklet.will_page_break(_TEXT * _LEADING):
        booklet.add_page()
    booklet.cell(6, _TEXT * _LEADING, "\u2022" if marker == "-" else marker)
    _flow(booklet, text, _TEXT, after=1.0, indent=6)


def _flow(
    booklet: Booklet,
    text: str,
    size: float,
    *,
    style: str = "",
    after: float,
    border: Literal[0, "L"] = 0,
    indent: float = 0,
) -> None:
    booklet.set_font("Helvetica", style, size)
    booklet.set_x(booklet.l_margin + indent)
    width = booklet.epw - indent
    height = size * _LEADING
    booklet.multi_cell(
        width, height, text, border=border, align="L", new_x=XPos.LMARGIN, new_y=YPos.NEXT
    )
    booklet.ln(after)


def _table(booklet: Booklet, block: Block) -> None:
    columns = list(zip(*block.rows, strict=True))
    longest = [max(len(cell) for cell in column) for column in columns]
    widths = tuple(min(max(size, 7), 34) for size in longest)
    booklet.set_font("Helvetica", "", _TABLE)
    with booklet.table(
        col_widths=widths,
        line_height=_TABLE * 0.5,
        text_align="LEFT",
        headings_style=FontFace(emphasis="BOLD", fill_color=(228, 232, 238)),
        borders_layout="HORIZONTAL_LINES",
        padding=0.7,
    ) as table:
        for cells in block.rows:
            table.row(cells)
    booklet.ln(3)


def _hide(booklet: Booklet, manner: str, text: str) -> None:
    """Put text where a reader does not see it but a text extractor does (hostile samples)."""
    booklet.set_font("Helvetica", "", 1 if manner == "tiny" else 8)
    if manner == "white":
        booklet.set_text_color(255)
    if manner == "invisible":
        booklet.text_mode = TextMode.INVISIBLE
    if manner == "off-page":
        booklet.text(booklet.w + 20, 60, text)
    else:
        booklet.multi_cell(0, None, text, new_x=XPos.LMARGIN, new_y=YPos.NEXT)
    booklet.set_text_color(0)
    booklet.text_mode = TextMode.FILL

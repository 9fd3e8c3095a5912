"""What every format but PDF writes its text into: running text, headings, lists, tables and pages, in reading order.

A parser says what it finds; the writer keeps where each heading and each cell stands, cleans the text page by page,
and gives the document. So the formats agree on how a table, a list or a code block looks as text.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from folio.formats import MediaType
from services.retriever.documents import PAGE_BREAK, Cell, Page, ParsedDocument, Table, joined
from services.retriever.parsing import marks, sections, tables
from services.retriever.parsing.grid import Span, WrittenTable
from services.retriever.parsing.hyphens import settled
from services.retriever.parsing.parser import NO_HINTS, Hints
from services.retriever.parsing.sections import Heading
from services.retriever.parsing.text import Cleaned, clean, clean_line, position

BETWEEN_CELLS = " | "
_SINCE_CHARS = 2_000
_BEFORE_CHARS = 40
_MARK = re.compile(r"\[\^[^\]]{1,10}\]")  # Of a footnote: no part of a title.


@dataclass
class _Page:
    label: str
    parts: list[str] = field(default_factory=list)
    length: int = 0
    in_line: bool = False
    """Whether something stands on the last line."""
    marked: bool = False
    """Whether it is the bullet or the number of an item, and nothing else: what comes next stands beside it."""
    kept: list[tuple[int, int]] = field(default_factory=list)
    """Raw spans of preformatted text."""
    headings: list[tuple[int, int, str]] = field(default_factory=list)


class TextWriter:
    """Collects a document's text. Methods that come in pairs, `begin_` and `end_`, have a context manager beside them.

    Inside a cell there are no lines: what would end one is a space. A table inside a cell is text of that cell.
    """

    def __init__(self) -> None:
        self._pages = [_Page("1")]
        self._named = False
        self._lists: list[int | None] = []
        self._headings: list[tuple[int, int, int]] = []
        self._open: WrittenTable | None = None
        self._tables: list[WrittenTable] = []
        self._in_cell = 0
        self._nested = 0

    # Running text

    def text(self, text: str) -> None:
        """Adds text as it is: white space is cleaned at the end, and a line end ends a line."""
        if self._in_cell:
            text = text.replace("\n", " ")
        page = self._pages[-1]
        page.parts.append(text)
        page.length += len(text)
        if text.strip(" "):
            page.in_line = not text.rstrip(" ").endswith("\n")
            page.marked = page.marked and not text.strip(" \n")

    def line(self) -> None:
        """Ends a line: two of them leave an empty one."""
        self.text("\n")

    def fresh_line(self) -> None:
        """Ends the line if anything stands on it but an item's marker."""
        if self._pages[-1].in_line and not self._pages[-1].marked:
            self.line()

    def paragraph(self) -> None:
        """Ends a paragraph, but none that would hold an item's marker alone."""
        if not self._pages[-1].marked:
            self.text("\n\n")

    def preformatted(self, text: str) -> None:
        """Lines that keep their indentation and the spaces between their words: code, and what is set like it."""
        lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        kept = "\n".join(line.rstrip() for line in lines).strip("\n")
        if self._in_cell or not kept:
            self.text(f" {kept} ")
            return
        self.paragraph()
        page = self._pages[-1]
        page.kept.append((page.length, page.length + len(kept)))
        self.text(kept)
        self.paragraph()

    def raised(self, text: str, after: str = "") -> None:
        """A superscript: a footnote mark or an exponent, which never makes a number longer (marks.py). `after` is the
        text that follows it on its line."""
        self.text(marks.raised(self._before(), text, after))

    def lowered(self, text: str, after: str = "") -> None:
        """A subscript."""
        self.text(marks.lowered(self._before(), text, after))

    @property
    def position(self) -> int:
        """The place behind what was added to the page so far; for `since`."""
        return len(self._pages[-1].parts)

    def since(self, position: int) -> str:
        """The beginning of the raw text that was added to the page from `position` on: a title, the words of a link."""
        found: list[str] = []
        length = 0
        parts = self._pages[-1].parts
        while position < len(parts) and length < _SINCE_CHARS:
            found.append(parts[position])
            length += len(parts[position])
            position += 1
        return "".join(found)

    def _before(self) -> str:
        """The last raw characters of the line."""
        found: list[str] = []
        length = 0
        for part in reversed(self._pages[-1].parts):
            found.append(part[-_BEFORE_CHARS:])
            length += len(part)
            if length >= _BEFORE_CHARS or len(found) > _BEFORE_CHARS:
                break
        return "".join(reversed(found)).rpartition("\n")[2]

    # Headings, lists, pages

    def begin_heading(self, level: int) -> None:
        self._headings.append((self._pages[-1].length, self.position, level))

    def end_heading(self) -> None:
        at, began, level = self._headings.pop()
        title = self.since(began)
        if title.strip() and not self._in_cell:
            self._pages[-1].headings.append((at, level, _MARK.sub("", title)))
        self.paragraph()

    @contextmanager
    def heading(self, level: int) -> Iterator[None]:
        """What is written inside is a heading; level 1 is the highest. Inside a cell it is text."""
        self.begin_heading(level)
        yield
        self.end_heading()

    def begin_list(self, start: int | None = None) -> None:
        """A list of bullets, or one of numbers from `start` on."""
        self._lists.append(start)

    def end_list(self) -> None:
        self.end_item()
        self._lists.pop()
        if not self._lists:
            self.paragraph()

    @contextmanager
    def list(self, start: int | None = None) -> Iterator[None]:
        self.begin_list(start)
        yield
        self.end_list()

    def item(self, marker: str = "") -> None:
        """Begins an item of the innermost list, with its bullet or its number, or with a marker of its own."""
        page = self._pages[-1]
        page.marked = False
        self.fresh_line()
        counted = self._lists[-1] if self._lists else None
        if counted is not None:
            self._lists[-1] = counted + 1
        self.text(marker or ("- " if counted is None else f"{counted}. "))
        page.marked = not self._in_cell

    def end_item(self) -> None:
        """Ends an item. The next one, and the end of the list, do too."""
        self._pages[-1].marked = False
        self.fresh_line()

    def page(self, label: str) -> None:
        """Begins a page: a slide, a sheet, a chapter, a message. The first one names the page that is already there."""
        if self._named or self._pages[-1].length:
            self._pages.append(_Page(label))
        self._pages[-1].label = label
        self._named = True

    # Tables

    def begin_table(self, caption: str = "") -> None:
        if self._open is not None:
            self._nested += 1
            self.text(" ")
            return
        self.paragraph()
        named = None
        if caption.strip():
            named = self._mark()
            self.text(caption.replace("\n", " "))
            named.end = self._pages[-1].length
        self._open = WrittenTable(named)

    def end_table(self) -> None:
        if self._nested:
            self._nested -= 1
            self.text(" ")
            return
        table, self._open = self._open, None
        if table is not None:
            self._tables.append(table)
        self.paragraph()

    @contextmanager
    def table(self, caption: str = "") -> Iterator[None]:
        """A table: rows of cells. Its caption is the line above it."""
        self.begin_table(caption)
        yield
        self.end_table()

    def begin_row(self) -> None:
        if self._open is None or self._nested:
            self.text(" ")
            return
        self._open.row += 1
        self._open.column = 0
        self.fresh_line()

    def end_row(self) -> None:
        if self._open is not None and not self._nested:
            self._open.end_row()

    @contextmanager
    def row(self) -> Iterator[None]:
        self.begin_row()
        yield
        self.end_row()

    def begin_cell(
        self,
        head: bool = False,
        row_span: int = 1,
        column_span: int = 1,
        address: str = "",
        strong: bool = False,
        indent: float = 0.0,
    ) -> None:
        """`strong`: set apart by its letters. `indent`: how far in they stand, in widths of a letter."""
        if self._open is None or self._nested:
            self.text(" ")
            self._in_cell += 1
            return
        self.text(BETWEEN_CELLS * self._open.borders())
        span, part = self._mark(), self.position
        self._open.place(head, row_span, column_span, address, span, part, strong, indent)
        self._in_cell += 1

    def end_cell(self) -> None:
        self._in_cell -= 1
        if self._open is None or self._nested or not self._open.cells:
            self.text(" ")
        else:
            said = self.since(self._open.cells[-1].part)
            self._open.end_cell(self._pages[-1].length, said)

    @contextmanager
    def cell(
        self, head: bool = False, row_span: int = 1, column_span: int = 1, address: str = ""
    ) -> Iterator[None]:
        """A cell of the row, in the next free column. `head`: it names its row or its column."""
        self.begin_cell(head, row_span, column_span, address)
        yield
        self.end_cell()

    # The document

    def finish(
        self,
        media_type: MediaType,
        titles: Sequence[str] = (),
        hints: Hints = NO_HINTS,
        warnings: Sequence[str] = (),
        metadata: dict[str, str] | None = None,
    ) -> ParsedDocument:
        """The document. Its title: the sender's, the first of `titles` (clean lines), its first heading, its file's
        name."""
        found = _Places()
        cleaned = (clean("".join(page.parts), page.kept, line_hyphens=True) for page in self._pages)
        for page, page_text in zip(self._pages, settled(list(cleaned)), strict=True):
            found.add(page, page_text)
        placed = (found.table(part) for table in self._tables for part in table.parts())
        text = joined((page.char_start, page.text) for page in found.pages)
        return ParsedDocument(
            media_type=media_type,
            title=hints.title_of(
                *titles, heading=found.headings[0].title if found.headings else ""
            ),
            pages=tuple(found.pages),
            sections=sections.build(found.headings, found.length),
            empty_pages=tuple(page.index for page in found.pages if not page.text),
            warnings=tuple(warnings),
            metadata=metadata or {},
            tables=tables.described([table for table in placed if table is not None], text),
        )

    def _mark(self) -> Span:
        at = self._pages[-1].length
        return Span(len(self._pages) - 1, at, at)


class _Places:
    """The clean pages of a document, and where in its text the raw characters of a page went."""

    def __init__(self) -> None:
        self.pages: list[Page] = []
        self.headings: list[Heading] = []
        self.length = 0
        self._cleaned: list[Cleaned] = []

    def add(self, page: _Page, cleaned: Cleaned) -> None:
        index = len(self.pages)
        start = self.length + len(PAGE_BREAK) if index else 0
        self.pages.append(Page(index, page.label or str(index + 1), cleaned.text, start))
        self.length = start + len(cleaned.text)
        self._cleaned.append(cleaned)
        self.headings += [
            Heading(start + position(cleaned.sources, at), level, clean_line(title))
            for at, level, title in page.headings
        ]

    def span(self, raw: Span) -> tuple[int, int]:
        """Offsets in the document's text, without the white space at both ends."""
        cleaned, page = self._cleaned[raw.page], self.pages[raw.page]
        start, end = position(cleaned.sources, raw.start), position(cleaned.sources, raw.end)
        body = cleaned.text[start:end]
        end = start + len(body.rstrip())
        start = end - len(body.strip())
        return page.char_start + start, page.char_start + end

    def table(self, table: WrittenTable) -> Table | None:
        """None for what is no table: one row or one column, nothing but heads, or cells that could not be placed."""
        if not table.tidy or table.row < 1 or table.columns < 2:
            return None
        head_rows, head_columns = table.heads()
        titles = table.titles(head_rows)
        cells = [
            Cell(
                cell.row,
                cell.column,
                *self.span(cell.span),
                min(cell.row_span, table.row + 1 - cell.row),
                table.columns if cell.row in titles else cell.column_span,
                cell.address,
            )
            for cell in table.cells
            if cell.row not in titles or cell.said
        ]
        filled = [cell for cell in cells if cell.char_start < cell.char_end]
        if not any(cell.row >= head_rows for cell in filled):
            return None
        return Table(
            char_start=filled[0].char_start,
            char_end=filled[-1].char_end,
            head_rows=head_rows,
            head_columns=head_columns,
            cells=tuple(cells),
            caption=self.span(table.caption) if table.caption else None,
        )

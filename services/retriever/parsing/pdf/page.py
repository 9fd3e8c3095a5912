"""One page of a PDF to text, and where each of its characters stands. Runs in a worker process only."""

import re
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import pypdfium2 as pdfium

from services.retriever.documents import Box, Cell, Table
from services.retriever.parsing.pdf import (
    annotations,
    covered,
    forms,
    glyphs,
    hidden,
    inline,
    layout,
    legibility,
    links,
    ocr,
    placed,
    rules,
    struck,
    table_text,
    tables,
    widths,
)
from services.retriever.parsing.pdf.annotations import Annotations
from services.retriever.parsing.pdf.glyphs import Glyphs
from services.retriever.parsing.pdf.grids import Grid
from services.retriever.parsing.pdf.notes import Note
from services.retriever.parsing.pdf.rules import Rules
from services.retriever.parsing.pdf.segments import HYPHEN
from services.retriever.parsing.text import LINE_HYPHEN, SUSPENDED, clean, position
from services.retriever.places import FULL

_NUMBER_END = re.compile(r"\d\d[-\u2010\u2011]$")
_NUMBER_BEGINS = re.compile(r"\d\d")
_ADDRESS = -2  # In place of a glyph.


@dataclass(frozen=True)
class Line:
    """Characters start..end of a page's text; the rectangle in points on the page as shown.

    `size` and `bold` are those of most of its characters. `column`: lines of one column stand below each other.
    `begins`: a paragraph starts here; `alone`: one that ends here as well. `aside`: sideways, slanted or laid over the
    text, as stamps and watermarks are.
    """

    start: int
    end: int
    left: float
    top: float
    right: float
    bottom: float
    size: float
    bold: bool
    column: int
    begins: bool
    alone: bool
    aside: bool = False


@dataclass(frozen=True)
class PageText:
    """One page as clean text. Where a word was broken at a line's end stands LINE_HYPHEN, for the whole document
    decides whether its hyphen belongs to the word.

    `boxes` holds left, top, right and bottom for each character of the text (see FULL), zeros where there is no ink.
    `size` is the page's width and height as shown, in points.
    `uncertain`: spans that OCR read in doubt. `addresses`: those of links, written behind their words.
    `notes`: what its warnings say. `hidden` counts unseen characters, `dropped` those that no text can hold;
    `text_layer`: an OCR program wrote it.
    """

    text: str
    boxes: "array[int]"
    lines: tuple[Line, ...]
    size: tuple[float, float]
    hidden: int = 0
    dropped: int = 0
    text_layer: bool = False
    tables: tuple[Table, ...] = ()
    uncertain: tuple[tuple[int, int], ...] = ()
    addresses: tuple[tuple[int, int], ...] = ()
    notes: frozenset[Note] = frozenset()


def read_page(document: pdfium.PdfDocument, index: int) -> PageText:
    """One page. Raises PdfiumError."""
    page = document[index]
    try:
        found = glyphs.read(page)
        unseen = hidden.find(page, found)
        count = sum(
            flag and char > " " for flag, char in zip(unseen.flags, found.chars, strict=True)
        )
        drawn = rules.read(page, found.frame)
        extra = annotations.read(page)
        notes = _mark(page, found, unseen.flags, drawn, extra)
        wrong = widths.ciphered(found)
    finally:
        page.close()
    illegible = _leave_out(wrong, found, unseen.flags, notes)
    added = len(found.chars)
    spans = placed.add(found, extra.texts)
    unseen.flags.extend(bytes(len(found.chars) - added))
    filled = forms.find(found, unseen.flags, _fields(found, extra, spans))
    grids = tables.find(found, tables.without(filled, found, unseen.flags), drawn) + filled
    left = tables.without(grids, found, unseen.flags)
    raw = _Raw(found, grids, links.of_glyphs(found, extra.links))
    raw.write(layout.lines(found, left, _areas(grids), added))
    text = raw.finish()
    shown = (
        "-" if char == HYPHEN else char
        for char, flag in zip(found.chars, unseen.flags, strict=True)
        if not flag
    )
    if illegible or not legibility.is_legible(text.text, shown):
        text = PageText("", array("H"), (), text.size, dropped=text.dropped)
        notes.add(Note.ILLEGIBLE)
    return replace(text, hidden=count, text_layer=unseen.text_layer, notes=frozenset(notes))


def _leave_out(wrong: set[int], found: Glyphs, flags: bytearray, notes: set[Note]) -> bool:
    """Marks characters of wrong fonts among the unseen ones. True where they are most of the page: it is unread."""
    written = [at for at, char in enumerate(found.chars) if char.isalnum() and not flags[at]]
    if not wrong.intersection(written):
        return False
    if 2 * len(wrong.intersection(written)) > len(written):
        return True
    notes.add(Note.CIPHERED)
    for index in wrong:
        flags[index] = 1
    return False


def read_scan(
    document: pdfium.PdfDocument, index: int, reader: ocr.Ocr, beat: Callable[[], None]
) -> PageText | None:
    """One page as OCR reads it; None where it reads nothing. `beat` is called while it works. Raises PdfiumError."""
    scan = reader.read(document[index], beat)
    if scan is None:
        return None
    unseen = bytearray(len(scan.glyphs.chars))
    grids = tables.find(scan.glyphs, unseen, Rules())
    raw = _Raw(scan.glyphs, grids, {})
    raw.write(layout.lines(scan.glyphs, tables.without(grids, scan.glyphs, unseen), _areas(grids)))
    found = raw.finish()
    return replace(
        found, boxes=_turned_back(found.boxes, scan.turn), size=_turned_size(found.size, scan.turn)
    )


def _fields(
    found: Glyphs, extra: Annotations, spans: Sequence[tuple[int, int]]
) -> list[forms.Field]:
    """The fields that are filled in, where the page shows them."""
    width, height = found.frame.size
    fields = []
    for at in sorted(extra.fields):
        box = found.frame.shown(extra.texts[at][0])
        shown = Box(box.left * width, box.top * height, box.right * width, box.bottom * height)
        fields.append(forms.Field(shown, *spans[at]))
    return fields


def _areas(grids: Sequence[Grid]) -> list[Box]:
    return [Box(grid.left, grid.top, grid.right, grid.bottom) for grid in grids]


def _mark(
    page: pdfium.PdfPage, found: Glyphs, flags: bytearray, drawn: Rules, extra: Annotations
) -> set[Note]:
    """Marks struck-out and covered characters among the unseen ones, and tells what was left out."""
    notes: set[Note] = set()
    gone = struck.find(found, drawn) | struck.inside(found, extra.strikes)
    if any(not flags[index] for index in gone):
        notes.add(Note.STRUCK)
    under = covered.find(page, found, flags, extra.covers)
    if under:
        notes.add(Note.COVERED)
    redacted = struck.inside(found, extra.redactions)
    if any(not flags[index] for index in redacted - under):
        notes.add(Note.REDACTED)
    for index in gone | under | redacted:
        flags[index] = 1
    if extra.unread:
        notes.add(Note.FIELDS)
    if extra.wordless:
        notes.add(Note.STAMPS)
    if extra.comments:
        notes.add(Note.COMMENTS)
    return notes


class _Raw:
    """Raw text under composition: characters, and the glyph that each of them is (-1: none, -2: a link's address)."""

    def __init__(self, found: Glyphs, grids: Sequence[Grid], addresses: dict[int, str]) -> None:
        self._glyphs = found
        self._grids = grids
        self._addresses = addresses
        self._tables: list[tuple[Grid, list[tuple[Cell, int, int]]]] = []
        self._chars: list[str] = []
        self._sources: list[int] = []
        self._lines: list[tuple[int, int, layout.Line, bool]] = []

    def write(self, lines: Sequence[layout.Line]) -> None:
        """Lines in their order."""
        for at, line in enumerate(lines):
            if at:
                self._break(line.begins, line.row[0].text)
            if line.area >= 0:
                self._table(self._grids[line.area])
                continue
            start = len(self._chars)
            chars, sources = inline.write(line.row, self._glyphs.chars)
            self._chars += chars
            self._sources += sources
            ends = at + 1 == len(lines) or lines[at + 1].begins
            self._lines.append((start, len(self._chars), line, ends))

    def _table(self, grid: Grid) -> None:
        written = table_text.write(grid, self._glyphs.chars)
        start = len(self._chars)
        self._chars += written.chars
        self._sources += written.sources
        cells = [
            (
                Cell(cell.row, cell.column, 0, 0, cell.row_span, cell.column_span),
                start + first,
                start + last,
            )
            for cell, first, last in written.cells
        ]
        self._tables.append((grid, cells))

    def _link(self) -> None:
        """Writes the addresses of links behind their words."""
        for at, words in links.written(self._chars, self._sources, self._addresses):
            self._chars[at:at] = words
            self._sources[at:at] = [_ADDRESS] * len(words)
            self._lines = [
                (start + len(words) * (start >= at), end + len(words) * (end >= at), line, ends)
                for start, end, line, ends in self._lines
            ]
            self._tables = [
                (
                    grid,
                    [
                        (cell, start + len(words) * (start >= at), end + len(words) * (end >= at))
                        for cell, start, end in cells
                    ],
                )
                for grid, cells in self._tables
            ]

    def finish(self) -> PageText:
        """The clean text."""
        if self._addresses:
            self._link()
        cleaned = clean("".join(self._chars), line_hyphens=True)
        sources = [self._sources[index] for index in cleaned.sources]
        inked = [
            source if char > " " and source >= 0 else -1
            for source, char in zip(sources, cleaned.text, strict=True)
        ]
        boxes = array("H", bytes(8 * len(sources)))
        for at, column in enumerate(self._places()):
            boxes[at::4] = array("H", map(column.__getitem__, inked))
        lines = []
        for start, end, line, ends in self._lines:
            start, end = position(cleaned.sources, start), position(cleaned.sources, end)
            if start < end:
                box = line.box
                lines.append(
                    Line(
                        start,
                        end,
                        box.left,
                        box.top,
                        box.right,
                        box.bottom,
                        line.size,
                        line.bold,
                        line.block,
                        line.begins,
                        line.begins and ends,
                        line.aside,
                    )
                )
        return PageText(
            cleaned.text,
            boxes,
            tuple(lines),
            self._glyphs.frame.size,
            dropped=cleaned.dropped,
            tables=self._placed_tables(cleaned.sources),
            uncertain=tuple(
                _spans(at for at, source in enumerate(sources) if source in uncertain)
                if (uncertain := self._glyphs.uncertain)
                else ()
            ),
            addresses=tuple(_spans(at for at, of in enumerate(sources) if of == _ADDRESS)),
        )

    def _placed_tables(self, sources: Sequence[int]) -> tuple[Table, ...]:
        """The tables, in the clean text."""
        found = []
        for grid, raw_cells in self._tables:
            cells = tuple(
                replace(cell, char_start=position(sources, start), char_end=position(sources, end))
                for cell, start, end in raw_cells
            )
            start, end = cells[0].char_start, max(cell.char_end for cell in cells)
            found.append(Table(start, end, grid.head_rows, grid.head_columns, cells))
        return tuple(found)

    def _break(self, paragraph: bool, following: str) -> None:
        """Ends a line. A hyphen at its end and the line's end are one character, if a word may go on."""
        if not paragraph and _goes_on("".join(self._chars[-3:]), following):
            return  # The hyphen of a number, or one that never breaks, is its own.
        if self._chars and self._chars[-1] == HYPHEN:
            goes_on = not paragraph and SUSPENDED.match(following) is None
            self._chars[-1] = LINE_HYPHEN if goes_on else "-"
            if goes_on:
                return
        end = "\n\n" if paragraph else "\n"
        self._chars.extend(end)
        self._sources.extend([-1] * len(end))

    def _places(self) -> list[list[int]]:
        """The boxes of all glyphs as fractions of the shown page, a column for each side; zeros at its end, for -1."""
        width, height = self._glyphs.frame.size
        found = []
        for column, size in zip(self._glyphs.shown(), (width, height, width, height), strict=True):
            scale = FULL / size
            if column and (min(column) < 0 or max(column) > size):
                column = [min(max(value, 0.0), size) for value in column]
            found.append([*(int(value * scale + 0.5) for value in column), 0])
        return found


def _goes_on(end: str, following: str) -> bool:
    """Whether a line's last word, with its hyphen, goes on in the next: "2019-" and "2021", "0800-" and "55512"."""
    if _NUMBER_END.search(end):
        return _NUMBER_BEGINS.match(following) is not None
    return end.endswith("\u2011") and following[:1].isalpha()


def _turned_back(boxes: "array[int]", turn: int) -> "array[int]":
    """Boxes on a page that was turned clockwise, as they stand on the page as shown. No ink stays none."""
    if not turn:
        return boxes
    found = array("H", bytes(2 * len(boxes)))
    for at in range(0, len(boxes), 4):
        left, top, right, bottom = boxes[at : at + 4]
        if left == right:
            continue
        match turn:
            case 90:
                box = top, FULL - right, bottom, FULL - left
            case 180:
                box = FULL - right, FULL - bottom, FULL - left, FULL - top
            case _:
                box = FULL - bottom, left, FULL - top, right
        found[at : at + 4] = array("H", box)
    return found


def _turned_size(size: tuple[float, float], turn: int) -> tuple[float, float]:
    return (size[1], size[0]) if turn in (90, 270) else size


def _spans(indices: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Runs of successive indices."""
    start = end = -1
    for index in indices:
        if index != end:
            if end > start:
                yield start, end
            start = index
        end = index + 1
    if end > start:
        yield start, end


def _parts(values: Iterable[float], start: float, scale: float) -> list[int]:
    scaled = [int((value - start) * scale + 0.5) for value in values]
    return [0 if part < 0 else FULL if part > FULL else part for part in scaled]

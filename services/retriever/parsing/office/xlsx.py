"""Excel workbooks to text: a page for each sheet, values as the sheet shows them, tables with the names of their cells.

What a sheet hides (sheets, rows, columns) is left out, and so are comments and charts: they are not its cells. Formulas
stand with the value that was stored with them.
"""

import io
import re
from bisect import bisect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from lxml import etree

from folio.formats import MediaType
from services.retriever.documents import ParsedDocument
from services.retriever.parsing.archive import broken
from services.retriever.parsing.limits import ParseLimits
from services.retriever.parsing.office import grid, xlsx_links, xlsx_styles
from services.retriever.parsing.office.number_formats import GENERAL, shown
from services.retriever.parsing.office.package import (
    Element,
    Package,
    attribute,
    child,
    children,
    name_of,
    relation,
    whole,
)
from services.retriever.parsing.office.runs import Run, joined
from services.retriever.parsing.office.xlsx_styles import Style, is_set
from services.retriever.parsing.parser import DEFAULT_LIMITS, NO_HINTS, Hints, Progress, unseen
from services.retriever.parsing.writer import TextWriter

MAX_CELLS = 200_000
"""Cells that are read of one workbook."""
_LAST_COLUMN = 16_384
_LAST_ROW = 10_000_000
_MAX_SPAN = 10_000
_TELL_EVERY = 1_000  # Rows.
_NO_CELLS = ("chartsheet", "dialogsheet")
_ADDRESS = re.compile(r"([A-Z]{1,3})(\d{1,7})", re.IGNORECASE)
# What cannot be written in XML, and an underscore that would look like it (ECMA-376, part 1, 22.9.2.19).
_ESCAPED = re.compile(r"_x([0-9A-Fa-f]{4})_")
_ISO_DATE = re.compile(r"(\d{4}-\d\d-\d\d)(?:T(\d\d:\d\d:\d\d)(?:\.\d+)?Z?)?")


@dataclass
class _Sheet:
    """What a sheet holds: `rows` by number, of cells by column, from 1. `merged`: rows and columns, by first cell."""

    rows: dict[int, dict[int, grid.SheetCell]] = field(default_factory=dict)
    hidden_rows: set[int] = field(default_factory=set)
    hidden_columns: list[tuple[int, int]] = field(default_factory=list)
    merged: dict[tuple[int, int], tuple[int, int]] = field(default_factory=dict)


@dataclass
class _Counts:
    """Of the whole workbook, for its warnings."""

    cells: int = 0
    hidden: int = 0
    struck: int = 0
    unknown: int = 0
    comments: int = 0
    drawings: int = 0
    hidden_sheets: int = 0
    chart_sheets: int = 0
    cut: str = ""

    def warnings(self) -> Iterator[str]:
        if self.hidden_sheets:
            yield f"hidden sheets left out: {self.hidden_sheets}"
        if self.hidden:
            yield f"hidden cells left out: {self.hidden}"
        if self.struck:
            yield f"struck-out text left out: {self.struck} cells"
        if self.unknown:
            yield (
                f"formulas without a stored value: {self.unknown}; open the file in its own program and save it again"
            )
        if self.comments:
            yield f"comments left out: on {self.comments} sheets"
        if self.drawings or self.chart_sheets:
            yield f"charts and drawings not read: on {self.drawings + self.chart_sheets} sheets"
        if self.cut:
            yield self.cut


def parse(
    data: bytes,
    hints: Hints = NO_HINTS,
    limits: ParseLimits = DEFAULT_LIMITS,
    progress: Progress = unseen,
) -> ParsedDocument:
    """A page for each sheet that is shown and holds something, labelled with its name. Titles: the sender's, the
    properties', the file's name."""
    package = Package(data, MediaType.XLSX.called)
    book = package.tree(package.main)
    if name_of(book) != "workbook":
        raise broken(package.called)
    reader = _Reader(package, attribute(child(book, "workbookPr"), "date1904") in ("1", "true"))
    writer = TextWriter()
    for index, sheet in enumerate(children(child(book, "sheets"), "sheet")):
        progress(index)
        if reader.counts.cut:
            break
        if attribute(sheet, "state", "visible") != "visible":
            reader.counts.hidden_sheets += 1
            continue
        part = package.target(package.main, relation(sheet))
        if not part:
            continue
        name = attribute(sheet, "name")
        tell = partial(progress, index)
        rows = reader.read(part, name, tell)
        if not any(rows):
            continue
        writer.page(name)
        with writer.heading(1):
            writer.text(name)
        grid.write(writer, rows, tell)
        tell()
    return writer.finish(
        MediaType.XLSX,
        [package.title() or hints.stem],
        hints,
        [*reader.counts.warnings(), *package.warnings()],
    )


class _Reader:
    """Reads the sheets of one workbook, with what they share: strings, styles, and the day that dates count from."""

    def __init__(self, package: Package, since_1904: bool) -> None:
        self._package = package
        self._offset = 1462 if since_1904 else 0
        self._strings = self._read_strings()
        self._styles = xlsx_styles.read(package)
        self.counts = _Counts()

    def read(self, part: str, name: str, tell: Callable[[], None]) -> list[grid.Row]:
        """The rows of a sheet as it shows them, those that are empty too. An empty list for a sheet of charts."""
        sheet = _Sheet()
        number = 0
        for element in self._elements(part, "row", "col", "mergeCell", "hyperlink", *_NO_CELLS):
            match name_of(element):
                case "col" if _is_on(element, "hidden"):
                    first, last = whole(element.get("min", "")), whole(element.get("max", ""))
                    sheet.hidden_columns.append((first, last))
                case "row":
                    number = whole(
                        (element.get("r") or "").partition(".")[0], number + 1, _LAST_ROW
                    )
                    self._row(sheet, element, number)
                    if number % _TELL_EVERY == 0:
                        tell()
                    if self.counts.cells > MAX_CELLS:
                        self.counts.cut = (
                            f"read up to row {number} of the sheet {name!r}: the workbook has more than"
                            f" {MAX_CELLS:,} cells; split it"
                        )
                        break
                case "mergeCell":
                    _merge(sheet, element.get("ref", ""))
                case "hyperlink":
                    target = self._package.link(part, relation(element))
                    start, end = _corners(element.get("ref", ""))
                    if start and end:
                        xlsx_links.link_cells(sheet.rows, start, end, target)
                case "chartsheet" | "dialogsheet":
                    self.counts.chart_sheets += 1
        kinds = {one.kind for one in self._package.relationships(part).values()}
        self.counts.comments += bool(kinds & {"comments", "threadedComment"})
        self.counts.drawings += "drawing" in kinds
        return list(self._shown(sheet))

    def _elements(self, part: str, *names: str) -> Iterator[Element]:
        """The elements of these names, one by one, each let go of when the next is asked for."""
        source = io.BytesIO(self._package.part(part))
        try:
            for _, element in etree.iterparse(
                source,
                tag=[f"{{*}}{name}" for name in names],
                resolve_entities=False,
                no_network=True,
                load_dtd=False,
            ):
                yield element
                element.clear()
                above = element.getparent()
                while above is not None and element.getprevious() is not None:
                    del above[0]
        except etree.XMLSyntaxError:
            raise broken(self._package.called) from None

    def _row(self, sheet: _Sheet, element: Element, number: int) -> None:
        cells: dict[int, grid.SheetCell] = {}
        column = 0
        for one in element:
            if name_of(one) != "c":
                continue
            place = _ADDRESS.fullmatch(one.get("r") or "")
            column = _column(place[1]) if place else column + 1
            style = self._style(one.get("s") or "0")
            text, figure = self._value(one, style)
            formula = child(one, "f")
            if formula is not None and formula.text:
                text = xlsx_links.linked(text, figure, xlsx_links.of_formula(formula.text))
            if not text.strip():
                continue
            self.counts.cells += 1
            if style.white:
                self.counts.hidden += 1
                continue
            if style.struck:
                self.counts.struck += 1
                continue
            address = f"{grid.letters(column)}{number}"
            indent = style.indent + len(text) - len(text.lstrip())
            cells[column] = grid.SheetCell(
                text.strip(), figure, style.strong, address, indent=indent
            )
        if cells:
            sheet.rows[number] = cells
        if _is_on(element, "hidden"):
            sheet.hidden_rows.add(number)

    def _value(self, cell: Element, style: Style) -> tuple[str, bool]:
        """What a cell shows, and whether that is a figure."""
        kind = cell.get("t") or "n"
        if kind == "inlineStr":
            return self._shown_text(_rich(child(cell, "is")), style), False
        stored = child(cell, "v")
        value = (stored.text or "") if stored is not None else ""
        if not value:
            self.counts.unknown += child(cell, "f") is not None and kind != "str"
            return "", False
        try:
            match kind:
                case "s":
                    return self._shown_text(self._strings[int(value)], style), False
                case "str":
                    return self._shown_text(_unescaped(value), style), False
                case "b":
                    return shown(value == "1", style.format), False
                case "e":
                    return value, False
                case "d":
                    day = _ISO_DATE.fullmatch(value)
                    return (" ".join(filter(None, day.groups())) if day else value), True
                case _:
                    number = float(value) if re.search(r"[.eE]", value) else int(value)
                    return shown(number, style.format, self._offset), True
        except (ValueError, IndexError, OverflowError):
            return value, False

    def _shown_text(self, text: str, style: Style) -> str:
        return shown(text, style.format) if style.format not in (GENERAL, "@") else text

    def _style(self, index: str) -> Style:
        number = whole(index)
        return self._styles[number] if 0 <= number < len(self._styles) else Style()

    def _shown(self, sheet: _Sheet) -> Iterator[grid.Row]:
        """Rows and columns that are hidden are no gap between those beside them."""
        places = _places(sheet)
        last = 0
        for number in sorted(sheet.rows):
            row = sheet.rows[number]
            if number in sheet.hidden_rows:
                self.counts.hidden += len(row)
                continue
            yield from ({} for _ in set(range(last + 1, min(number, last + 4))) - sheet.hidden_rows)
            last = number
            self.counts.hidden += sum(1 for column in row if column not in places)
            yield {
                places[column]: _spread(sheet, places, number, column, cell)
                for column, cell in row.items()
                if column in places
            }

    def _read_strings(self) -> list[str]:
        found: list[str] = []
        for part in self._package.related(self._package.main, "sharedStrings"):
            found += [_rich(element) for element in self._elements(part, "si")]
        return found


def _is_on(element: Element, name: str) -> bool:
    return element.get(name) in ("1", "true")


def _rich(element: Element | None) -> str:
    """The text of a string whose parts may look different. Struck-out parts are left out."""
    if element is None:
        return ""
    if len(element) == 1 and name_of(element[0]) == "t":
        return _unescaped(element[0].text or "")
    runs = []
    for one in element:
        if name_of(one) == "t":
            runs.append(Run(_unescaped(one.text or "")))
        elif name_of(one) == "r":
            look = child(one, "rPr")
            text = child(one, "t")
            if text is None or not text.text or is_set(look, "strike"):
                continue
            level = attribute(child(look, "vertAlign"), "val")
            runs.append(
                Run(_unescaped(text.text), {"superscript": 1, "subscript": -1}.get(level, 0))
            )
    return joined(runs)


def _unescaped(text: str) -> str:
    return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), text) if "_x" in text else text


def _column(letters: str) -> int:
    number = 0
    for letter in letters.upper():
        number = number * 26 + ord(letter) - 64
    return number


def _merge(sheet: _Sheet, reference: str) -> None:
    start, end = _corners(reference)
    if start and end and ":" in reference:
        sheet.merged[start] = end


def _corners(reference: str) -> tuple[tuple[int, int] | None, tuple[int, int] | None]:
    """The first and the last place (row, column) of "B2:C5"; of "B2" both are the same."""
    first, _, last = reference.replace("$", "").partition(":")
    found = (_ADDRESS.fullmatch(first), _ADDRESS.fullmatch(last or first))
    start, end = ((int(one[2]), _column(one[1])) if one else None for one in found)
    return start, end


def _places(sheet: _Sheet) -> dict[int, int]:
    """By column that is shown and holds something or is merged over, its place among those that are shown."""
    used = {column for row in sheet.rows.values() for column in row}
    used |= {
        column
        for (_, first), (_, last) in sheet.merged.items()
        for column in range(first, min(last, first + _MAX_SPAN) + 1)
    }
    hidden = sorted(
        {
            column
            for first, last in sheet.hidden_columns
            for column in range(first, min(last, _LAST_COLUMN) + 1)
        }
    )
    unseen = set(hidden)
    return {column: column - bisect(hidden, column) for column in used if column not in unseen}


def _spread(
    sheet: _Sheet, places: Mapping[int, int], row: int, column: int, cell: grid.SheetCell
) -> grid.SheetCell:
    """The cell with the rows and columns that it is merged over: those that are shown."""
    end = sheet.merged.get((row, column))
    if end is None:
        return cell
    rows = sum(
        1
        for one in range(row + 1, min(end[0], row + _MAX_SPAN) + 1)
        if one not in sheet.hidden_rows and one in sheet.rows
    )
    columns = sum(
        1 for one in range(column + 1, min(end[1], column + _MAX_SPAN) + 1) if one in places
    )
    return replace(cell, row_span=1 + rows, column_span=1 + columns)

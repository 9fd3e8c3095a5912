"""PowerPoint presentations to text: a page for each slide, its title a heading, its shapes from the top down.

Hidden slides and what lies beside a slide are left out: nobody who sees the presentation sees them. Speaker notes stand
under a heading that says what they are; comments are left out.

Read from its XML: python-pptx leaves out what stands in alternatives of markup (equations, newer shapes) and diagrams,
and does not tell raised or struck-out letters.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from folio.formats import MediaType
from services.retriever.documents import ParsedDocument
from services.retriever.parsing.archive import broken
from services.retriever.parsing.limits import ParseLimits
from services.retriever.parsing.office import grid
from services.retriever.parsing.office.drawing import Box, Shapes, Texts
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
from services.retriever.parsing.parser import DEFAULT_LIMITS, NO_HINTS, Hints, Progress, unseen
from services.retriever.parsing.text import clean_line
from services.retriever.parsing.writer import TextWriter

NOTES = "Speaker notes"
_TITLES = ("title", "ctrTitle")
_WIDTH, _HEIGHT = 9_144_000, 6_858_000  # EMU, of a slide that does not say.
_MOST = 10**9
_MAX_SPAN = 1_000
_FURNITURE = frozenset(("dt", "ftr", "sldNum", "hdr"))


@dataclass
class _Counts:
    hidden_slides: int = 0
    hidden: int = 0
    comments: int = 0
    charts: int = 0
    unread: int = 0


def parse(
    data: bytes,
    hints: Hints = NO_HINTS,
    limits: ParseLimits = DEFAULT_LIMITS,
    progress: Progress = unseen,
) -> ParsedDocument:
    """A page for each slide that is shown, labelled with its number. Titles: the sender's, the properties', the first
    slide's, the file's name."""
    package = Package(data, MediaType.PPTX.called)
    tree = package.tree(package.main)
    if name_of(tree) != "presentation":
        raise broken(package.called)
    show = _Show(package, tree)
    number = whole(attribute(tree, "firstSlideNum"), 1)
    for index, entry in enumerate(children(child(tree, "sldIdLst"), "sldId")):
        progress(index)
        part = package.target(package.main, relation(entry))
        if part:
            show.slide(part, str(number + index))
    return show.writer.finish(
        MediaType.PPTX,
        [package.title()],
        hints,
        [*show.warnings(), *package.warnings()],
    )


class _Show:
    def __init__(self, package: Package, tree: Element) -> None:
        self.writer = TextWriter()
        self._package = package
        self._counts = _Counts()
        self._texts = Texts(package)
        size = child(tree, "sldSz")
        width, height = (
            whole(attribute(size, "cx"), 0, _MOST),
            whole(attribute(size, "cy"), 0, _MOST),
        )
        self._slide = Box(0, 0, width or _WIDTH, height or _HEIGHT)
        self._inherited: dict[str, Shapes] = {}

    def warnings(self) -> list[str]:
        counts = self._counts
        named = (
            ("hidden slides left out", counts.hidden_slides),
            ("shapes that are hidden or lie beside their slide left out", counts.hidden),
            ("struck-out passages left out", self._texts.struck),
            ("comments left out: on slides", counts.comments),
            ("charts not read", counts.charts),
            ("embedded objects not read", counts.unread),
        )
        return [f"{name}: {count}" for name, count in named if count]

    def slide(self, part: str, label: str) -> None:
        tree = self._package.tree(part)
        if attribute(tree, "show", "1") in ("0", "false"):
            self._counts.hidden_slides += 1
            return
        kinds = {one.kind for one in self._package.relationships(part).values()}
        self._counts.comments += "comments" in kinds
        self.writer.page(label)
        shapes = Shapes(tree, self._above(part))
        self._texts.part = part
        titles = [shape for shape in shapes.all if shape.placeholder in _TITLES]
        for shape in titles:
            text = " ".join(self._texts.paragraphs(child(shape.element, "txBody")))
            if clean_line(text):
                with self.writer.heading(1):
                    self.writer.text(clean_line(text))
        for shape in shapes.all:
            if shape.placeholder in _TITLES or shape.placeholder in _FURNITURE:
                continue
            if shape.hidden or shape.box.is_outside(self._slide):
                self._counts.hidden += 1
                continue
            self._shape(shape.element, shape.placeholder, part)
        self._notes(part)

    def _shape(self, element: Element, placeholder: str, part: str) -> None:
        self.writer.paragraph()
        match name_of(element):
            case "sp":
                for line in self._texts.lines(child(element, "txBody"), bool(placeholder)):
                    self.writer.text(line)
                    self.writer.line()
            case "pic":
                self.writer.text(self._texts.alternative(child(element, "nvPicPr", "cNvPr")))
            case "graphicFrame":
                self._frame(element, part)
        self.writer.paragraph()

    def _frame(self, element: Element, part: str) -> None:
        self.writer.text(self._texts.alternative(child(element, "nvGraphicFramePr", "cNvPr")))
        self.writer.paragraph()
        data = child(element, "graphic", "graphicData")
        for one in data if data is not None else ():
            match name_of(one):
                case "tbl":
                    self._table(one)
                case "relIds":
                    for line in self._diagram(part, relation(one, "dm")):
                        self.writer.text(line)
                        self.writer.line()
                case "chart":
                    self._counts.charts += 1
                case _:
                    self._counts.unread += 1

    def _table(self, table: Element) -> None:
        rows: list[dict[int, grid.SheetCell]] = []
        for row in children(table, "tr"):
            cells: dict[int, grid.SheetCell] = {}
            for column, cell in enumerate(children(row, "tc")):
                if attribute(cell, "hMerge") in ("1", "true") or attribute(cell, "vMerge") in (
                    "1",
                    "true",
                ):
                    continue
                text = " ".join(" ".join(self._texts.paragraphs(child(cell, "txBody"))).split())
                if text:
                    cells[column] = grid.SheetCell(
                        text,
                        grid.looks_like_figure(text),
                        False,
                        "",
                        max(1, whole(attribute(cell, "rowSpan"), 1, _MAX_SPAN)),
                        max(1, whole(attribute(cell, "gridSpan"), 1, _MAX_SPAN)),
                    )
            rows.append(cells)
        said = attribute(child(table, "tblPr"), "firstRow") in ("1", "true")
        columns = sorted({column for row in rows for column in row})
        while rows and not rows[0]:
            del rows[0]
        told = grid.heads_of(rows, columns) if rows else 0
        grid.write_table(self.writer, rows, known=max(told, int(said and len(rows) > 1)))

    def _diagram(self, part: str, identifier: str) -> Iterator[str]:
        """The words of a diagram, without its arrangement."""
        name = self._package.target(part, identifier)
        if not name:
            return
        for point in children(child(self._package.tree(name), "ptLst"), "pt"):
            text = " ".join(self._texts.paragraphs(child(point, "t")))
            if text.strip():
                yield f"- {text}"

    def _notes(self, part: str) -> None:
        for name in self._package.related(part, "notesSlide"):
            shapes = Shapes(self._package.tree(name))
            lines = [
                line
                for shape in shapes.all
                if shape.placeholder == "body"
                for line in self._texts.paragraphs(child(shape.element, "txBody"))
                if line.strip()
            ]
            if lines:
                with self.writer.heading(2):
                    self.writer.text(NOTES)
                for line in lines:
                    self.writer.text(line)
                    self.writer.paragraph()

    def _above(self, part: str) -> Shapes | None:
        """The shapes of a slide's layout, which say where its placeholders stand; they have theirs from the master."""
        for kind, wanted in (("slideLayout", "slideMaster"), ("slideMaster", "")):
            for name in self._package.related(part, kind):
                if name not in self._inherited:
                    above = self._above(name) if wanted else None
                    self._inherited[name] = Shapes(self._package.tree(name), above)
                return self._inherited[name]
        return None

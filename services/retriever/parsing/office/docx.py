"""Word documents to text, as they would be printed: with footnotes and text boxes, without what is deleted or hidden.

A document has no pages of its own: every program breaks them where its fonts and its printer do, and the breaks that
Word leaves in a file are those of whoever saved it last. It is one page here, and places in it are named by headings.

Read from its XML: python-docx leaves out what was inserted under tracked changes, content controls, text boxes and
notes, and mammoth shows hidden text and leaves out equations, each without a word.
"""

import posixpath
from dataclasses import replace

from folio.formats import MediaType
from services.retriever.documents import ParsedDocument
from services.retriever.parsing import encodings, html
from services.retriever.parsing.archive import broken
from services.retriever.parsing.limits import ParseLimits
from services.retriever.parsing.office import grid
from services.retriever.parsing.office.docx_numbering import Numbering, formatted
from services.retriever.parsing.office.docx_runs import Counts, Inline, Reader, chosen
from services.retriever.parsing.office.docx_styles import Styles
from services.retriever.parsing.office.docx_tables import (
    INSIDE,
    arranges,
    cells_by_place,
    cells_of,
    inside,
    rows_of,
)
from services.retriever.parsing.office.package import (
    Element,
    Package,
    attribute,
    child,
    children,
    name_of,
    relation,
)
from services.retriever.parsing.parser import DEFAULT_LIMITS, NO_HINTS, Hints, Progress, unseen
from services.retriever.parsing.text import clean_line
from services.retriever.parsing.writer import TextWriter

_DELETED = frozenset(("del", "moveFrom"))
_CONTENTS = "toc "  # Styles of the table of contents: headings again, with the numbers of pages.
_MAX_DEPTH = 50
_MAX_HEADING_CHARS = 300
_TELL_EVERY = 200  # Blocks.


def parse(
    data: bytes,
    hints: Hints = NO_HINTS,
    limits: ParseLimits = DEFAULT_LIMITS,
    progress: Progress = unseen,
) -> ParsedDocument:
    """One page labelled "1". Titles: the sender's, the properties', the paragraph set as title, the first heading, the
    file's name."""
    package = Package(data, MediaType.DOCX.called)
    tree = package.tree(package.main)
    if child(tree, "body") is None:
        raise broken(package.called)
    document = _Document(package, progress)
    document.write(tree)
    written = document.writer.finish(
        MediaType.DOCX,
        [package.title(), document.title],
        hints,
        [*document.warnings(), *package.warnings()],
    )
    page = replace(written.pages[0], furniture=document.furniture())
    return replace(written, pages=(page,))


class _Document:
    def __init__(self, package: Package, progress: Progress) -> None:
        self.writer = TextWriter()
        self.title = ""
        self._package, self._progress = package, progress
        self._counts = Counts()
        self._blocks = 0
        self._styles = Styles(self._tree_of("styles"))
        self._numbering = Numbering(self._tree_of("numbering"))
        self._marks: dict[str, str] = {}
        self._counted = {"footnote": 0, "endnote": 0}
        self._forms = self._note_forms()
        self._notes = self._read_notes()
        self._reader = self._reader_of(package.main)
        self._late: list[tuple[str, str]] = []  # Endnotes: they stand at the end.
        self._pending: list[tuple[str, str]] = []
        self._boxes: list[Element] = []
        self._goes_on = False
        self._in_list = False

    def write(self, tree: Element) -> None:
        body = child(tree, "body")
        assert body is not None
        self._all(body, 0)
        self._pending, self._late = self._late, []
        self._hanging(0)
        for part in self._package.related(self._package.main, "comments"):
            self._counts.comments += sum(1 for _ in children(self._package.tree(part), "comment"))

    def furniture(self) -> str:
        """What stands at the head and at the foot of the printed pages."""
        texts: dict[str, None] = {}
        for kind in ("header", "footer"):
            for part in self._package.related(self._package.main, kind):
                reader = self._reader_of(part)
                for paragraph in self._package.tree(part).iter():
                    if isinstance(paragraph.tag, str) and name_of(paragraph) == "p":
                        text = clean_line(reader.read(paragraph, _style_of(paragraph)).text())
                        # The number of a page is no text.
                        texts |= {text: None} if any(map(str.isalpha, text)) else {}
        return "\n".join(texts)

    def warnings(self) -> list[str]:
        counts = self._counts
        named = (
            ("deletions under tracked changes left out", counts.deleted),
            ("struck-out passages left out", counts.struck),
            ("hidden passages left out", counts.hidden),
            ("comments left out", counts.comments),
            ("charts and diagrams not read", counts.charts),
            ("embedded objects or parts not read", counts.unread),
        )
        return [f"{name}: {count}" for name, count in named if count]

    # Blocks

    def _all(self, parent: Element, depth: int) -> None:
        if depth > _MAX_DEPTH:
            self._counts.unread += 1
            return
        blocks = list(parent)
        caption = ""
        for index, block in enumerate(blocks):
            self._blocks += 1
            if self._blocks % _TELL_EVERY == 1:
                self._progress(0)
            match name_of(block):
                case "p":
                    following = blocks[index + 1] if index + 1 < len(blocks) else None
                    caption = self._paragraph(block, depth, following)
                case "tbl":
                    self._table(block, depth, caption)
                    caption = ""
                case "altChunk":
                    self._chunk(block)
                case "AlternateContent":
                    self._all(chosen(block), depth + 1)
                case name if name in INSIDE:
                    self._all(block, depth + 1)
                case name if name in _DELETED:
                    self._counts.deleted += 1

    def _paragraph(self, block: Element, depth: int, following: Element | None = None) -> str:
        """Writes a paragraph; returns it instead if it is the caption of the table that follows."""
        properties = child(block, "pPr")
        style = attribute(child(properties, "pStyle"), "val")
        name = self._styles.name(style)
        if name.startswith(_CONTENTS):
            self._reader.read(block, style)  # For the fields that begin or end in it.
            return ""
        found = self._reader.read(block, style)
        text = found.text()
        self._take(found)
        if name == "caption" and following is not None and name_of(following) == "tbl":
            self._hanging(depth)
            return clean_line(text)
        joins = child(properties, "rPr", "del") is not None
        if text.strip():
            level = self._styles.heading_level(style, properties)
            label = self._label(style, properties)
            if level and len(text) <= _MAX_HEADING_CHARS and not self._goes_on:
                if name == "title" and not self.title:
                    self.title = clean_line(text)
                self._heading(level, f"{label} {text}" if label not in ("", "-") else text)
            else:
                self._text(text, label, joins)
        if not joins:
            if self._goes_on and not text.strip():
                self.writer.paragraph()
            self._goes_on = False
            self._hanging(depth)
        return ""

    def _heading(self, level: int, text: str) -> None:
        self.writer.paragraph()
        with self.writer.heading(min(level, 9)):
            self.writer.text(text)
        self._in_list = False

    def _text(self, text: str, label: str, joins: bool) -> None:
        """A paragraph, or an item of a list. `joins`: its end is deleted, so that the next one goes on in it."""
        if not self._goes_on and not (label and self._in_list):
            self.writer.paragraph()
        self.writer.text(f"{label} {text}" if label else text)
        self._in_list = bool(label)
        self._goes_on = joins
        if not joins:
            self.writer.line()

    def _label(self, style: str, properties: Element | None) -> str:
        numbered = self._styles.numbering(style, properties)
        return self._numbering.label(*numbered) if numbered else ""

    def _take(self, found: Inline) -> None:
        for note in found.notes:
            (self._late if note[1].startswith("endnote") else self._pending).append(note)
        self._boxes += found.boxes

    def _hanging(self, depth: int) -> None:
        """What hangs on the block that ends here: its text boxes, then its notes."""
        boxes, self._boxes = self._boxes, []
        for box in boxes:
            self.writer.paragraph()
            self._all(box, depth + 1)
            self.writer.paragraph()
        notes, self._pending = self._pending, []
        for mark, identifier in notes:
            part, note = self._notes.get(identifier, ("", None))
            if note is None:
                continue
            reader = self._reader_of(part)
            texts = [reader.read(one, _style_of(one)).text().strip() for one in inside(note, "p")]
            text = " ".join(filter(None, texts))
            if text:
                self.writer.paragraph()
                self.writer.text(f"[^{mark}]: {text}" if mark else text)
                self.writer.paragraph()

    def _chunk(self, block: Element) -> None:
        """A file of another format that stands in the text, as programs that make documents write it."""
        part = self._package.target(self._package.main, relation(block))
        kind = posixpath.splitext(part)[1].lower()
        if kind in (".html", ".htm", ".xhtml"):
            self.writer.paragraph()
            html.write(encodings.decode(self._package.raw(part))[0], self.writer)
            self.writer.paragraph()
        elif kind == ".txt":
            self.writer.paragraph()
            self.writer.text(encodings.decode(self._package.raw(part))[0])
            self.writer.paragraph()
        else:
            self._counts.unread += 1

    # Tables

    def _table(self, table: Element, depth: int, caption: str) -> None:
        rows = list(rows_of(table))
        self._in_list = False
        if arranges(rows, self._is_heading):
            if caption:
                self.writer.text(caption)
                self.writer.paragraph()
            for row in rows:
                for cell in cells_of(row):
                    self.writer.paragraph()
                    self._all(cell, depth + 1)
                    self.writer.paragraph()
            return
        found, heads = cells_by_place(rows, self._cell)
        grid.write_table(self.writer, found, caption, heads or None)
        self._hanging(depth)

    def _is_heading(self, paragraph: Element) -> bool:
        level = self._styles.heading_level(_style_of(paragraph), child(paragraph, "pPr"))
        return level > 0

    def _cell(self, cell: Element) -> tuple[str, bool]:
        texts: list[str] = []
        strong = True
        for paragraph in inside(cell, "p"):
            style, properties = _style_of(paragraph), child(paragraph, "pPr")
            inline = self._reader.read(paragraph, style)
            self._take(inline)
            text = " ".join(inline.text().split())
            if text:
                label = self._label(style, properties)
                texts.append(f"{label} {text}" if label else text)
                strong = strong and inline.strong
        return " ".join(texts), strong and bool(texts)

    # Parts

    def _tree_of(self, kind: str) -> Element | None:
        names = self._package.related(self._package.main, kind)
        return self._package.tree(names[0]) if names else None

    def _reader_of(self, part: str) -> Reader:
        return Reader(self._package, part, self._styles, self._counts, self._mark_of)

    def _note_forms(self) -> dict[str, str]:
        settings = self._tree_of("settings")
        return {
            kind: attribute(child(settings, f"{kind}Pr", "numFmt"), "val", usual)
            for kind, usual in (("footnote", "decimal"), ("endnote", "lowerRoman"))
        }

    def _read_notes(self) -> dict[str, tuple[str, Element]]:
        found = {}
        for kind in ("footnote", "endnote"):
            for part in self._package.related(self._package.main, f"{kind}s"):
                for note in children(self._package.tree(part), kind):
                    # Those with a type are the lines between text and notes.
                    if attribute(note, "type", "normal") == "normal":
                        found[f"{kind}/{attribute(note, 'id')}"] = (part, note)
        return found

    def _mark_of(self, kind: str, identifier: str) -> str:
        if identifier not in self._marks:
            self._counted[kind] += 1
            self._marks[identifier] = formatted(self._counted[kind], self._forms[kind])
        return self._marks[identifier]


def _style_of(paragraph: Element) -> str:
    return attribute(child(paragraph, "pPr", "pStyle"), "val")

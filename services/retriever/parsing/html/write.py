"""Markup to text: walks a tree and tells a writer what it finds."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar

from selectolax.lexbor import LexborHTMLParser, LexborNode

from services.retriever.parsing.html import forms, formulas, links, styles
from services.retriever.parsing.html.numbering import number, numbered
from services.retriever.parsing.html.survey import SKIPPED, STRUCK, Survey, survey
from services.retriever.parsing.html.tree import indent, is_bold, parsed
from services.retriever.parsing.writer import TextWriter

# fmt: off
_BLOCKS = frozenset(
    (
        "address", "article", "aside", "blockquote", "body", "center", "details", "dialog", "dir",
        "div", "dl", "fieldset", "figcaption", "figure", "footer", "form", "frameset", "header",
        "hgroup", "hr", "html", "main", "menu", "nav", "noframes", "ol", "optgroup", "p",
        "search", "section", "summary", "table", "ul", "legend",
    )
)
_PREFORMATTED = frozenset(("pre", "listing", "xmp", "plaintext", "textarea"))
# fmt: on
_BREAKS = frozenset(("li", "td", "th", "dt", "dd", "h1", "h2", "h3", "h4", "h5", "h6"))
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_BLANK = re.compile(r"[ \t\n\f\r]+")
_RAISED_CHARS = 12


@dataclass
class Seen:
    """What was left out, by number of elements."""

    hidden: int = 0
    struck: int = 0
    furniture: int = 0
    frames: int = 0

    def warnings(self) -> list[str]:
        """One for each kind."""
        counted = (
            ("hidden elements left out", self.hidden),
            ("struck-out passages left out", self.struck),
            ("menus and banners left out", self.furniture),
            ("frames that hold other pages, not read", self.frames),
        )
        return [f"{name}: {count}" for name, count in counted if count]


def write(markup: str | LexborHTMLParser, writer: TextWriter) -> Seen:
    """Writes a page or a fragment: headings, lists, tables, links with their addresses, as a reader would see them.

    Raises InvalidArgument for markup that is nested too deeply.
    """
    tree = parsed(markup) if isinstance(markup, str) else markup
    walk = _Walk(tree, writer)
    walk.all(tree.root)
    return walk.seen


_Close = Callable[[], None]


@dataclass
class _List:
    style: str
    number: int
    step: int = 1


@dataclass
class _Table:
    data: bool
    rows: int = 0


class _Walk:
    """Depth first with a stack of its own: a page may nest deeper than Python recurses."""

    def __init__(self, tree: LexborHTMLParser, writer: TextWriter, whole: bool = True) -> None:
        self.seen = Seen()
        self._whole = whole
        self._writer = writer
        self._survey: Survey = survey(tree)
        self._base = links.base(tree)
        self._lists: list[_List] = []
        self._tables: list[_Table] = []  # The open ones.
        self._heads = 0  # Open <thead>.
        self._headings = 0
        self._linked: set[str] = set()  # Addresses since the last heading: each is told once.
        self._readings: list[list[str]] = []  # Of each open <ruby>.

    def all(self, root: LexborNode | None) -> None:
        stack: list[LexborNode | _Close] = [root] if root else []
        while stack:
            node = stack.pop()
            if not isinstance(node, LexborNode):
                node()
                continue
            tag = node.tag or ""
            if tag == "-text":
                self._writer.text(_BLANK.sub(" ", node.text_content or ""))
                continue
            if not self._is_read(node, tag) or self._is_done(node, tag):
                continue
            stack.append(self._open(node, tag))
            stack.extend(reversed(list(node.iter(include_text=True))))

    def _is_read(self, node: LexborNode, tag: str) -> bool:
        key = node.mem_id
        if tag.startswith(("-", "!")) or tag in SKIPPED:
            return False
        if key in self._survey.hidden or styles.is_hidden_by_attribute(node):
            self.seen.hidden += 1
            return False
        if tag in STRUCK or key in self._survey.struck or styles.is_struck_by_attribute(node):
            self.seen.struck += 1
            # Words on both sides of it stay two.
            self._writer.text(" ")
            return False
        if key in self._survey.furniture:
            self.seen.furniture += 1
            return False
        return True

    def _is_done(self, node: LexborNode, tag: str) -> bool:
        """Writes an element that has no parts of its own, or whose parts are read in another way."""
        style = "".join((node.attributes.get("style") or "").lower().split())
        if tag in _PREFORMATTED or "white-space:pre" in style:
            self._writer.preformatted(self._text(node))
            return True
        shift = self._shift(node, tag)
        if shift:
            return self._mark(node, lowered=shift < 0)
        whole = self._WHOLE.get(tag)
        return whole is not None and whole(self, node)

    def _shift(self, node: LexborNode, tag: str) -> int:
        """1 for text above the line, -1 for text below it."""
        key = node.mem_id
        if tag in ("td", "th", "tr", "img", "table") or tag in _BLOCKS:
            return 0  # There it says where a box stands.
        if tag in ("sup", "sub"):
            return 1 if tag == "sup" else -1
        by_rule = (key in self._survey.raised) - (key in self._survey.lowered)
        return styles.shift_by_attribute(node) or by_rule

    def _mark(self, node: LexborNode, lowered: bool) -> bool:
        """Raised or lowered characters; more than a few of them are running text."""
        text = self._short(node)
        if text is None:
            return False
        write = self._writer.lowered if lowered else self._writer.raised
        write(text, _after(node))
        return True

    def _short(self, node: LexborNode) -> str | None:
        """The text of an element in one line; None for more than a few characters."""
        limit = 3 * _RAISED_CHARS
        parts: list[str] = []
        stack = [node]
        while stack and limit > 0:
            part = stack.pop()
            limit -= 1
            if part.tag == "-text":
                parts.append(part.text_content or "")
                limit -= len(parts[-1])
            elif part is node or self._is_read(part, part.tag or ""):
                stack.extend(reversed(list(part.iter(include_text=True))))
        text = " ".join("".join(parts).split())
        return None if stack or len(text) > _RAISED_CHARS else text

    def _break(self, node: LexborNode) -> bool:
        self._writer.line()
        return True

    def _inline(self, node: LexborNode) -> bool:
        """Words that stand for a picture, a formula, a choice."""
        match node.tag:
            case "img":
                words = _BLANK.sub(" ", node.attributes.get("alt") or "")
            case "math":
                words = formulas.line(node)
            case _:
                words = forms.options(node)
        gap = " " if _after(node)[:1].isalnum() else ""
        self._writer.text(f" {words}{gap}" if words else gap)
        return True

    def _input(self, node: LexborNode) -> bool:
        self._writer.text(forms.value(node))
        return True

    def _frame(self, node: LexborNode) -> bool:
        self.seen.frames += 1
        return True

    def _noframes(self, node: LexborNode) -> bool:
        """Its text is markup, which the parser leaves as it stands."""
        if self._whole:
            inner = parsed(self._text(node))
            _Walk(inner, self._writer, whole=False).all(inner.root)
        return True

    def _reading(self, node: LexborNode) -> bool:
        """Of <ruby>: it follows the words whose sound it tells, and does not part them."""
        if self._readings:
            self._readings[-1].append(_BLANK.sub("", self._text(node)))
        return bool(self._readings)

    def _caption(self, node: LexborNode) -> bool:
        return True  # Written where its table begins.

    _WHOLE: ClassVar[Mapping[str, Callable[["_Walk", LexborNode], bool]]] = {
        "br": _break,
        "img": _inline,
        "math": _inline,
        "select": _inline,
        "input": _input,
        "frame": _frame,
        "noframes": _noframes,
        "rt": _reading,
        "caption": _caption,
    }

    def _open(self, node: LexborNode, tag: str) -> _Close:
        """Begins an element; what is returned ends it."""
        begin = self._BEGIN.get(tag)
        if begin is not None:
            return begin(self, node)
        if tag in _BLOCKS:
            self._writer.paragraph()
            return self._writer.paragraph
        return _nothing

    def _heading(self, node: LexborNode) -> _Close:
        self._writer.paragraph()
        self._writer.begin_heading(_HEADINGS[node.tag or ""])
        self._headings += 1
        self._linked.clear()
        return self._end_heading

    def _line(self, node: LexborNode) -> _Close:
        self._writer.fresh_line()
        return self._writer.fresh_line

    def _quoted(self, node: LexborNode) -> _Close:
        self._writer.text('"')
        return lambda: self._writer.text('"')

    def _ruby(self, node: LexborNode) -> _Close:
        self._readings.append([])
        return self._end_ruby

    def _end_heading(self) -> None:
        self._headings -= 1
        self._writer.end_heading()

    def _end_ruby(self) -> None:
        reading = "".join(self._readings.pop())
        if reading:
            self._writer.text(f"({reading})")

    def _list(self, node: LexborNode) -> _Close:
        self._around_list()
        attributes = node.attributes
        numbered = node.tag == "ol"
        count = 1
        reverse = "reversed" in attributes
        if numbered and reverse:
            count = sum(1 for child in node.iter() if child.tag == "li")
        start = number(attributes.get("start"), count)
        style = (attributes.get("type") or "1") if numbered else "-"
        self._lists.append(_List(style, start, -1 if reverse else 1))
        return self._end_list

    def _end_list(self) -> None:
        self._lists.pop()
        self._around_list()

    def _around_list(self) -> None:
        """A list inside a list goes on with its lines."""
        if self._lists:
            self._writer.fresh_line()
        else:
            self._writer.paragraph()

    def _item(self, node: LexborNode) -> _Close:
        inner = self._lists[-1] if self._lists else _List("-", 0)
        if inner.style == "-":
            self._writer.item("- ")
        else:
            count = number(node.attributes.get("value"), inner.number)
            inner.number = count + inner.step
            self._writer.item(f"{numbered(count, inner.style)}. ")
        return self._writer.end_item

    def _table(self, node: LexborNode) -> _Close:
        data = node.mem_id not in self._survey.layout
        self._tables.append(_Table(data))
        caption = next((child for child in node.iter() if child.tag == "caption"), None)
        said = _BLANK.sub(" ", self._text(caption)) if caption else ""
        if data:
            self._writer.begin_table(said)
        else:
            self._writer.paragraph()
            self._writer.text(said)
            self._writer.paragraph()
        return self._end_table

    def _end_table(self) -> None:
        if self._tables.pop().data:
            self._writer.end_table()
        else:
            self._writer.paragraph()

    def _part(self, node: LexborNode) -> _Close:
        """A row, a cell, or the rows of heads; of a table that is no data, paragraphs."""
        writer, tag = self._writer, node.tag
        if not self._tables or not self._tables[-1].data:
            writer.paragraph()
            return writer.paragraph
        if tag == "thead":
            self._heads += 1
            return self._end_heads
        if tag == "tr":
            self._tables[-1].rows += 1
            writer.begin_row()
            return writer.end_row
        rows = number(node.attributes.get("rowspan"), 1)
        strong = is_bold(node)
        writer.begin_cell(
            head=tag == "th" or self._heads > 0 or (self._tables[-1].rows == 1 and strong),
            row_span=rows or 65_534,  # 0: down to the table's end.
            column_span=number(node.attributes.get("colspan"), 1),
            strong=strong,
            indent=indent(node),
        )
        return writer.end_cell

    def _end_heads(self) -> None:
        self._heads -= 1

    def _link(self, node: LexborNode) -> _Close:
        found = links.address(node.attributes.get("href") or "", self._base)
        if not found or self._headings or found in self._linked:
            return _nothing
        began = self._writer.position

        def end() -> None:
            words = self._writer.since(began)
            if words.strip() and links.says_more(found, words):
                self._linked.add(found)
                self._writer.text(f"{' ' if words == words.rstrip() else ''}({found})")

        return end

    _BEGIN: ClassVar[Mapping[str, Callable[["_Walk", LexborNode], _Close]]] = {
        **dict.fromkeys(_HEADINGS, _heading),
        **dict.fromkeys(("ol", "ul", "menu", "dir"), _list),
        **dict.fromkeys(("dt", "dd"), _line),
        **dict.fromkeys(("tr", "td", "th", "thead"), _part),
        "li": _item,
        "table": _table,
        "a": _link,
        "ruby": _ruby,
        "q": _quoted,
    }

    def _text(self, node: LexborNode) -> str:
        """The text of an element as it stands, with its white space, without what is hidden or struck out."""
        parts: list[str] = []
        stack = list(reversed(list(node.iter(include_text=True))))
        while stack:
            part = stack.pop()
            tag = part.tag or ""
            if tag == "-text":
                parts.append(part.text_content or "")
            elif tag == "br":
                parts.append("\n")
            elif tag == "img":
                parts.append(part.attributes.get("alt") or "")
            elif self._is_read(part, tag):
                stack.extend(reversed(list(part.iter(include_text=True))))
        return "".join(parts)


def _after(node: LexborNode) -> str:
    """The text that follows an element: it may stand outside of the link or the word that the element ends."""
    place: LexborNode | None = node
    for _ in range(4):
        if place is None or place.tag in _BLOCKS or place.tag in _BREAKS:
            return ""
        following = place.next
        if following is not None:
            return (
                _BLANK.sub(" ", (following.text_content or "")[:40])
                if following.tag == "-text"
                else ""
            )
        place = place.parent
    return ""


def _nothing() -> None:
    """Ends an element that leaves nothing behind it."""

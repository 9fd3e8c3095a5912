"""What stands in the paragraphs of a Word document: letters, footnote marks, fields, links, pictures, text boxes."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from services.retriever.parsing.html import links
from services.retriever.parsing.office import equations
from services.retriever.parsing.office.docx_styles import Styles, is_on
from services.retriever.parsing.office.package import (
    Element,
    Package,
    attribute,
    child,
    children,
    name_of,
    relation,
)
from services.retriever.parsing.office.runs import Run, joined

_INSIDE = frozenset(
    (
        "ins",
        "moveTo",
        "sdt",
        "smartTag",
        "customXml",
        "bdo",
        "dir",
        "fldSimple",
        "sdtContent",
        "subDoc",
    )
)
_CHARACTERS = {"tab": "\t", "ptab": "\t", "cr": "\n", "noBreakHyphen": "\u2011", "br": "\n"}
_LINK = re.compile(r'\s*HYPERLINK\s+"([^"]*)"', re.IGNORECASE)
# Characters of fonts whose letters are signs.
_SYMBOL = dict(
    zip(
        bytes.fromhex("a2a3a5aeb0b1b2b3b4b8b9bbd6dea8"),
        "\u2032\u2264\u221e\u2192\xb0\xb1\u2033\u2265\xd7\xf7\u2260\u2248\u221a\u21d2\u2666",
        strict=True,
    )
) | dict(
    zip(
        b"abgdezhqiklmnxoprstufcywGDQLXPSFYW",
        "\u03b1\u03b2\u03b3\u03b4\u03b5\u03b6\u03b7\u03b8\u03b9\u03ba\u03bb\u03bc\u03bd\u03be\u03bf\u03c0\u03c1\u03c3"
        "\u03c4\u03c5\u03c6\u03c7\u03c8\u03c9\u0393\u0394\u0398\u039b\u039e\u03a0\u03a3\u03a6\u03a8\u03a9",
        strict=True,
    )
)
_WINGDINGS = {
    0x6F: "\u2610",
    0xA8: "\u2610",
    0xFB: "\u2717",
    0xFC: "\u2713",
    0xFD: "\u2612",
    0xFE: "\u2611",
    0xE0: "\u2192",
    0xF0: "\u2192",
}
_AUTOMATIC = "automatically generated"  # What Office writes under pictures that nobody described.
_MAX_DEPTH = 60


@dataclass
class Counts:
    """What is left out, and where the warnings have it from."""

    deleted: int = 0
    struck: int = 0
    hidden: int = 0
    charts: int = 0
    comments: int = 0
    unread: int = 0


@dataclass
class _Field:
    """A field whose end has not come: what it does (`instruction`), until its result begins."""

    instruction: str = ""
    in_result: bool = False
    began: int = 0


@dataclass
class Inline:
    """The text of a paragraph, and what hangs on it."""

    runs: list[Run] = field(default_factory=list)
    strong: bool = True
    """Whether all its letters are bold."""
    notes: list[tuple[str, str]] = field(default_factory=list)
    """Footnotes that it refers to: the printed mark, the identifier."""
    boxes: list[Element] = field(default_factory=list)
    """Text boxes that are anchored in it: elements that hold paragraphs."""

    def text(self) -> str:
        return joined(self.runs)


class Reader:
    """Reads the paragraphs of one part of the document, in order: fields may go over several. `mark_of` gives the
    printed mark of a footnote or an endnote ("footnote", "endnote")."""

    def __init__(
        self,
        package: Package,
        part: str,
        styles: Styles,
        counts: Counts,
        mark_of: Callable[[str, str], str],
    ) -> None:
        self._package, self._part, self._styles = package, part, styles
        self._counts, self._mark_of = counts, mark_of
        self._fields: list[_Field] = []
        self._style = ""
        self._on_white = True
        self._found = Inline()

    def read(self, paragraph: Element, style: str) -> Inline:
        self._style, self._found = style, Inline()
        self._on_white = _is_on_white(paragraph)
        self._all(paragraph, 0)
        if not self._found.runs:
            self._found.strong = False
        return self._found

    def _all(self, parent: Element, depth: int) -> None:
        if depth > _MAX_DEPTH:
            return
        for element in parent:
            match name_of(element):
                case "r":
                    self._run(element)
                case "del" | "moveFrom":
                    self._counts.deleted += 1
                case "hyperlink":
                    began = len(self._found.runs)
                    self._all(element, depth + 1)
                    self._address(self._package.link(self._part, relation(element)), began)
                case "oMath" | "oMathPara":
                    self._add(f" {equations.line(element)} ", 0)
                case "AlternateContent":
                    self._all(chosen(element), depth + 1)
                case name if name in _INSIDE and not _is_prompt(element):
                    self._all(element, depth + 1)

    def _run(self, run: Element) -> None:
        look = self._styles.look(self._style, child(run, "rPr"))
        hidden = look.hidden or (look.white and self._on_white)
        if hidden or look.struck:
            text = any(name_of(one) == "t" and (one.text or "").strip() for one in run)
            self._counts.hidden += hidden and text
            self._counts.struck += look.struck and text and not hidden
        for element in run:
            self._piece(element, look.level, look.strong, not (hidden or look.struck))

    def _piece(self, element: Element, level: int, strong: bool, shown: bool) -> None:
        name = name_of(element)
        if name == "fldChar":
            self._field(element)
        elif name == "instrText":
            if self._fields:
                self._fields[-1].instruction += element.text or ""
        elif shown and all(one.in_result for one in self._fields):
            self._shown(name, element, level, strong)

    def _shown(self, name: str, element: Element, level: int, strong: bool) -> None:
        match name:
            case "t":
                self._add(element.text or "", level, strong)
            case "tab" | "ptab" | "cr" | "br" | "noBreakHyphen":
                self._add(_CHARACTERS[name], 0)
            case "sym":
                self._add(_symbol(element), level)
            case "footnoteReference" | "endnoteReference":
                self._note(name.removesuffix("Reference"), element)
            case "ruby":
                for base in children(element, "rubyBase"):
                    self._all(base, 1)
            case "AlternateContent":
                for one in chosen(element):
                    self._piece(one, level, strong, True)
            case "drawing" | "pict" | "object":
                self._drawing(element)

    def _add(self, text: str, level: int, strong: bool = True) -> None:
        if text:
            self._found.runs.append(Run(text, level))
            self._found.strong = self._found.strong and (strong or not text.strip())

    def _note(self, kind: str, element: Element) -> None:
        identifier = f"{kind}/{attribute(element, 'id')}"
        mark = "" if is_on(element, "customMarkFollows") else self._mark_of(kind, identifier)
        if mark:
            self._add(f"[^{mark}]", 0)
        self._found.notes.append((mark, identifier))

    def _field(self, element: Element) -> None:
        match attribute(element, "fldCharType"):
            case "begin":
                self._fields.append(_Field())
                self._form(element)
            case "separate" if self._fields:
                self._fields[-1].in_result = True
                self._fields[-1].began = len(self._found.runs)
            case "end" if self._fields:
                ended = self._fields.pop()
                link = _LINK.match(ended.instruction)
                if link:
                    self._address(link[1], ended.began)

    def _form(self, element: Element) -> None:
        """A box that is ticked, or the choice of a list: fields without a result."""
        data = child(element, "ffData")
        box = child(data, "checkBox")
        if box is not None:
            said = child(box, "checked")
            said = child(box, "default") if said is None else said
            ticked = said is not None and attribute(said, "val", "1") in ("1", "true", "on")
            self._add("\u2612" if ticked else "\u2610", 0)
        choices = child(data, "ddList")
        if choices is not None:
            chosen = attribute(child(choices, "result"), "val", "0")
            entries = [attribute(one, "val") for one in choices if name_of(one) == "listEntry"]
            if chosen.isdecimal() and int(chosen) < len(entries):
                self._add(entries[int(chosen)], 0)

    def _address(self, target: str, began: int) -> None:
        """The address of a link behind its words, if they do not say it."""
        address = links.address(target)
        words = "".join(run.text for run in self._found.runs[began:])
        if address and words.strip() and links.says_more(address, words):
            self._found.runs.append(Run(f" ({address})"))

    def _drawing(self, element: Element) -> None:
        for one in element.iter():
            match name_of(one) if isinstance(one.tag, str) else "":
                case "txbxContent" if not _is_fallback(one, element):
                    self._found.boxes.append(one)
                case "docPr" | "cNvPr" if attribute(one, "descr"):
                    alt = attribute(one, "descr")
                    inside = f" {alt} "
                    if _AUTOMATIC not in alt and (
                        not self._found.runs or self._found.runs[-1].text != inside
                    ):
                        self._add(inside, 0)
                case "chart" | "relIds":
                    self._counts.charts += 1
                case "OLEObject":
                    self._counts.unread += 1


def chosen(element: Element) -> Element:
    """What is shown of alternatives: the newest that is there; the others say the same in older words."""
    for one in element:
        if name_of(one) == "Choice" and len(one):
            return one
    fallback = child(element, "Fallback")
    return fallback if fallback is not None else element


def _is_on_white(paragraph: Element) -> bool:
    """Whether a paragraph stands on the bare page: not in a table or a box, and without a ground of its own, which may
    be dark."""
    if child(paragraph, "pPr", "shd") is not None:
        return False
    above = paragraph.getparent()
    while above is not None:
        name = name_of(above)
        if name in ("tc", "txbxContent") or child(above, "background") is not None:
            return False
        above = above.getparent()
    return True


def _is_prompt(element: Element) -> bool:
    """Whether a control still holds the words that ask for its content."""
    return child(element, "sdtPr", "showingPlcHdr") is not None


def _is_fallback(box: Element, top: Element) -> bool:
    """Whether a text box is inside another one, or is the older form of one."""
    above = box.getparent()
    while above is not None and above is not top:
        if name_of(above) in ("Fallback", "txbxContent"):
            return True
        above = above.getparent()
    return False


def _symbol(element: Element) -> str:
    try:
        code = int(attribute(element, "char"), 16)
    except ValueError:
        return ""
    font = attribute(element, "font").lower()
    if 0xF000 <= code <= 0xF0FF or code < 0x100:
        known = _SYMBOL if font == "symbol" else _WINGDINGS if font.startswith("wingdings") else {}
        plain = chr(code & 0xFF) if font not in ("symbol", "wingdings") and code < 0x100 else ""
        return known.get(code & 0xFF, plain)
    return chr(code) if code < 0x110000 and not 0xE000 <= code <= 0xF8FF else ""

"""HTML to text: what a reader would see, without scripts, styles, comments and hidden elements."""

import re
from dataclasses import dataclass, field

from selectolax.lexbor import LexborHTMLParser, LexborNode

from folio.formats import MediaType
from services.retriever.documents import Page, ParsedDocument
from services.retriever.parsing import plain, sections
from services.retriever.parsing.limits import ParseLimits
from services.retriever.parsing.parser import DEFAULT_LIMITS, NO_HINTS, Hints, Progress, unseen
from services.retriever.parsing.sections import Heading
from services.retriever.parsing.text import clean, clean_line, position

_CHARSET = re.compile(rb"<meta[^>]{0,200}charset\s*=\s*[\"']?([\w.:-]{1,40})", re.IGNORECASE)
# fmt: off
_SKIPPED = frozenset(
    (
        "script", "style", "template", "noscript", "head", "title", "iframe", "object", "embed",
        "svg", "math", "canvas", "audio", "video", "select", "datalist",
    )
)
_BLOCKS = frozenset(
    (
        "address", "article", "aside", "blockquote", "body", "dd", "details", "dialog", "div",
        "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3",
        "h4", "h5", "h6", "header", "hr", "html", "li", "main", "nav", "ol", "p", "pre",
        "section", "summary", "table", "tbody", "tfoot", "thead", "tr", "ul",
    )
)
# fmt: on
_LINES = frozenset(("li", "tr", "dt", "dd"))  # A line of their own, without an empty one between.
_CELLS = frozenset({"td", "th"})
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
# Letters below 2 px, which is 1.5 pt, are not legible (see hidden.py); 0.9em are.
_UNSEEN_STYLE = re.compile(
    r"display:none|visibility:hidden|(?<![\w-])opacity:(?:0(?:\.0+)?|\.0+)(?![\d.])"
    r"|font-size:(?:(?:0(?:\.0+)?|\.0+)(?![\d.])|(?:[01](?:\.\d+)?|\.\d+)px|(?:0?\.\d+|1(?:\.[0-4]\d*)?)pt)"
    r"|text-indent:-\d{3,}|(?<![\w-])(?:left|top):-\d{3,}|margin-(?:left|top):-\d{4,}"
)
_BLANK = re.compile(r"[ \t\n\f\r]+")


@dataclass
class _Text:
    """The text so far, with the raw places of its headings."""

    parts: list[str] = field(default_factory=list)
    length: int = 0
    headings: list[tuple[int, int, str]] = field(default_factory=list)
    hidden: int = 0

    def add(self, text: str) -> None:
        self.parts.append(text)
        self.length += len(text)

    def since(self, at: int) -> str:
        """What was added from raw offset `at` on. Searched from the end: headings are short."""
        index, length = len(self.parts), self.length
        while index > 0 and length > at:
            index -= 1
            length -= len(self.parts[index])
        return "".join(self.parts[index:])

    def in_row(self) -> bool:
        """Whether something stands before this place on its line."""
        last = next((part for part in reversed(self.parts) if part.strip(" ")), "\n")
        return not last.endswith("\n")


def parse(
    data: bytes,
    hints: Hints = NO_HINTS,
    limits: ParseLimits = DEFAULT_LIMITS,
    progress: Progress = unseen,
) -> ParsedDocument:
    """One page labelled "1". Titles: the sender's, <title>, the first heading, the file's name."""
    found_charset = _CHARSET.search(data[:2048])
    charset = found_charset[1].decode("ascii").lower() if found_charset else ""
    # Where "charset" can be read in single bytes, they are not UTF-16 or UTF-32, whatever it says.
    raw, warnings = plain.decode(data, "" if charset.startswith(("utf-16", "utf-32")) else charset)
    tree = LexborHTMLParser(raw.encode("utf-8", "replace"))
    found = _walk(tree.root)
    cleaned = clean("".join(found.parts))
    headings = [
        Heading(position(cleaned.sources, at), level, clean_line(text))
        for at, level, text in found.headings
    ]
    named = tree.css_first("head > title")
    titles = [clean_line(named.text()) if named else ""]
    titles += [heading.title for heading in headings[:1]]
    if found.hidden:
        warnings += (f"hidden elements left out: {found.hidden}",)
    return ParsedDocument(
        media_type=MediaType.HTML,
        title=hints.title_of(*titles),
        pages=(Page(0, "1", cleaned.text, 0),),
        sections=sections.build(headings, len(cleaned.text)),
        empty_pages=() if cleaned.text else (0,),
        warnings=warnings,
    )


def _walk(root: LexborNode | None) -> _Text:
    """Depth first with a stack of our own: a page may nest deeper than Python recurses."""
    found = _Text()
    # (node, None) opens a node; (node, n) closes it, n being where its text began.
    stack: list[tuple[LexborNode, int | None]] = [(root, None)] if root else []
    preformatted = 0
    while stack:
        node, began = stack.pop()
        tag = node.tag or ""
        if began is not None:
            preformatted -= tag == "pre"
            _close(found, tag, began)
            continue
        if tag == "-text":
            content = node.text_content or ""
            found.add(content if preformatted else _BLANK.sub(" ", content))
            continue
        if tag.startswith(("-", "!")) or tag in _SKIPPED:
            continue
        if _is_hidden(node):
            found.hidden += 1
            continue
        if tag == "br":
            found.add("\n")
        elif tag in _BLOCKS:
            found.add("\n" if tag in _LINES else "\n\n")
        if tag == "li":
            found.add("- ")
        elif tag in _CELLS and found.in_row():
            found.add(" | ")
        preformatted += tag == "pre"
        stack.append((node, found.length))
        children = list(node.iter(include_text=True))
        stack.extend((child, None) for child in reversed(children))
    return found


def _close(found: _Text, tag: str, began: int) -> None:
    if tag in _HEADINGS:
        text = found.since(began)
        if text.strip():
            found.headings.append((began, _HEADINGS[tag], text))
    if tag in _BLOCKS and tag not in _LINES:
        found.add("\n\n")


def _is_hidden(node: LexborNode) -> bool:
    attributes = node.attributes
    if "hidden" in attributes or (node.tag == "input"):
        return True
    style = attributes.get("style")
    return bool(style and _UNSEEN_STYLE.search(_BLANK.sub("", style).lower()))

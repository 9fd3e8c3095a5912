"""Markdown to text: what a reader of the rendered page would see, without comments and embedded HTML."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from markdown_it import MarkdownIt
from markdown_it.token import Token

from folio.formats import MediaType
from services.retriever.documents import Page, ParsedDocument
from services.retriever.parsing import plain, sections
from services.retriever.parsing.limits import ParseLimits
from services.retriever.parsing.parser import DEFAULT_LIMITS, NO_HINTS, Hints, Progress, unseen
from services.retriever.parsing.sections import Heading
from services.retriever.parsing.text import clean, clean_line, position

_FRONT_MATTER = re.compile(r"\A---[ \t]*\r?\n(.{0,10000}?)\r?\n---[ \t]*(?:\r?\n|\Z)", re.DOTALL)
_TITLE = re.compile(r"^title:[ \t]*[\"']?(.+?)[\"']?[ \t]*$", re.MULTILINE)


@dataclass
class _Text:
    parts: list[str] = field(default_factory=list)
    length: int = 0
    headings: list[tuple[int, int, str]] = field(default_factory=list)
    lists: list[int | None] = field(default_factory=list)
    """One entry for each open list: the next number, or None for bullets."""
    html: int = 0

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


def parse(
    data: bytes,
    hints: Hints = NO_HINTS,
    limits: ParseLimits = DEFAULT_LIMITS,
    progress: Progress = unseen,
) -> ParsedDocument:
    """One page labelled "1". Titles: the sender's, the front matter's, the first heading, the file's name."""
    raw, warnings = plain.decode(data)
    front = _FRONT_MATTER.match(raw)
    named = _TITLE.search(front[1]) if front else None
    body = raw[front.end() :] if front else raw
    found = _Text()
    for token in MarkdownIt("commonmark").enable("table").parse(body):
        _add(found, token)
    cleaned = clean("".join(found.parts))
    headings = [
        Heading(position(cleaned.sources, at), level, clean_line(text))
        for at, level, text in found.headings
    ]
    titles = [clean_line(named[1]) if named else ""]
    titles += [heading.title for heading in headings[:1]]
    if found.html:
        warnings += (f"embedded HTML left out: {found.html} pieces",)
    return ParsedDocument(
        media_type=MediaType.MARKDOWN,
        title=hints.title_of(*titles),
        pages=(Page(0, "1", cleaned.text, 0),),
        sections=sections.build(headings, len(cleaned.text)),
        empty_pages=() if cleaned.text else (0,),
        warnings=warnings,
    )


def _add(found: _Text, token: Token) -> None:
    kind = token.type
    if kind == "inline":
        _inline(found, token.children or ())
    elif kind == "heading_open":
        found.headings.append((found.length, int(token.tag[1]), ""))
    elif kind == "heading_close":
        at, level, _ = found.headings[-1]
        found.headings[-1] = (at, level, found.since(at))
        found.add("\n\n")
    elif kind in ("fence", "code_block"):
        found.add(token.content + "\n")
    elif kind == "html_block":
        found.html += 1
    elif kind == "paragraph_close":
        found.add("\n" if token.hidden else "\n\n")
    elif kind.startswith(("bullet_list", "ordered_list", "list_item")):
        _list(found, token)
    elif kind in ("td_open", "th_open"):
        found.add("" if not found.parts or found.parts[-1].endswith("\n") else " | ")
    elif kind in ("tr_open", "table_close", "hr", "blockquote_close"):
        found.add("\n" if kind == "tr_open" else "\n\n")


def _list(found: _Text, token: Token) -> None:
    match token.type:
        case "bullet_list_open":
            found.lists.append(None)
        case "ordered_list_open":
            found.lists.append(int(token.attrs.get("start", 1)))
        case "list_item_open":
            _item(found)
        case "bullet_list_close" | "ordered_list_close":
            found.lists.pop()
            found.add("\n")


def _item(found: _Text) -> None:
    number = found.lists[-1] if found.lists else None
    if number is None:
        found.add("- ")
    else:
        found.add(f"{number}. ")
        found.lists[-1] = number + 1


def _inline(found: _Text, children: Sequence[Token]) -> None:
    for token in children:
        if token.type in ("text", "code_inline"):
            found.add(token.content)
        elif token.type in ("softbreak", "hardbreak"):
            found.add("\n")
        elif token.type == "image":
            _inline(found, token.children or ())
        elif token.type == "html_inline":
            found.html += 1

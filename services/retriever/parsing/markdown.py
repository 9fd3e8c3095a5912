"""Markdown to text: rendered as HTML, embedded HTML included, and read as a web page is (html)."""

import re
from collections.abc import Callable, Sequence

from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from markdown_it.parser_block import ParserBlock
from markdown_it.rules_block import StateBlock
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict

from folio.formats import MediaType
from services.retriever.documents import ParsedDocument
from services.retriever.parsing import html
from services.retriever.parsing.encodings import decode
from services.retriever.parsing.limits import ParseLimits
from services.retriever.parsing.parser import DEFAULT_LIMITS, NO_HINTS, Hints, Progress, unseen
from services.retriever.parsing.text import clean_line
from services.retriever.parsing.writer import TextWriter

_FRONT_MATTER = re.compile(
    r"\A---[ \t]*\r?\n((?:[\w-]+[ \t]*:|[ \t#-]|\r?\n)[^\n]*\n(?:[^\n]*\n){0,500}?)---[ \t]*(?:\r?\n|\Z)"
)
_TITLE = re.compile(r"^title:[ \t]*[\"']?(.+?)[\"']?[ \t\r]*$", re.MULTILINE)
# Lists count two for each level, quotations one. markdown-it stops at 20 and drops what is deeper; every level costs
# frames of Python's stack.
_MAX_NESTING = 100
_DEEP = "deep"
# Elements whose text is no markup, or is not shown: unclosed, they would swallow the rest of the document.
_SWALLOWING = re.compile(
    r"<(script|style|title|textarea|xmp|iframe|noembed|noframes|noscript|template|select|svg|math|object|audio|video"
    r"|canvas|plaintext|head|frameset)\b[^<>]*>",
    re.IGNORECASE,
)
_TAG = re.compile(r"</?([a-zA-Z][\w-]*)")
# fmt: off
_ELEMENTS = frozenset(
    """
    a abbr acronym address area article aside audio b base basefont bdi bdo big blockquote body br button canvas
    caption center cite code col colgroup data datalist dd del details dfn dialog dir div dl dt em embed fieldset
    figcaption figure font footer form frame frameset h1 h2 h3 h4 h5 h6 head header hgroup hr html i iframe img input
    ins kbd label legend li link main map mark math menu meta meter nav nobr noembed noframes noscript object ol
    optgroup option output p param picture plaintext pre progress q rp rt ruby s samp script search section select
    slot small source span strike strong style sub summary sup svg table tbody td template textarea tfoot th thead
    time title tr track tt u ul var video wbr xmp
    """.split()  # noqa: SIM905
)
# fmt: on


def parse(
    data: bytes,
    hints: Hints = NO_HINTS,
    limits: ParseLimits = DEFAULT_LIMITS,
    progress: Progress = unseen,
) -> ParsedDocument:
    """One page labelled "1". Titles: the sender's, the front matter's, the first heading, the file's name."""
    raw, warnings = decode(data, named=hints.charset)
    front = _FRONT_MATTER.match(raw)
    named = _TITLE.search(front[1]) if front else None
    writer = TextWriter()
    env: dict[str, int] = {}
    page = _markdown().render(raw[front.end() :] if front else raw, env)
    seen = html.write(page, writer)
    found = [*warnings, *seen.warnings()]
    if env.get(_DEEP):
        found.append(
            f"lists or quotations nested too deeply, read as plain text: {env[_DEEP]} passages"
        )
    return writer.finish(
        MediaType.MARKDOWN,
        titles=[clean_line(named[1]) if named else ""],
        hints=hints,
        warnings=found,
    )


def _markdown() -> MarkdownIt:
    """CommonMark with tables and strikethrough, and with notes left as they are written: [^1]."""
    markdown = MarkdownIt("commonmark", {"maxNesting": _MAX_NESTING})
    markdown.block = _Block()
    markdown.enable(["table", "strikethrough"])
    reference = next(rule.fn for rule in markdown.block.ruler.__rules__ if rule.name == "reference")
    markdown.block.ruler.at("reference", _without_notes(reference))
    markdown.add_render_rule("softbreak", _line_break)
    markdown.add_render_rule("html_inline", _embedded)
    markdown.add_render_rule("html_block", _embedded)
    return markdown


class _Block(ParserBlock):
    def tokenize(self, state: StateBlock, startLine: int, endLine: int) -> None:
        """As CommonMark says; what is nested beyond the limit is a paragraph of its lines, where markdown-it would
        drop it and all that follows."""
        if state.level < _MAX_NESTING:
            super().tokenize(state, startLine, endLine)
            return
        line = startLine
        while line < endLine and (state.isEmpty(line) or state.sCount[line] >= state.blkIndent):
            line += 1
        state.env[_DEEP] = state.env.get(_DEEP, 0) + 1
        state.push("paragraph_open", "p", 1)
        inline = state.push("inline", "", 0)
        inline.content = state.getLines(startLine, line, state.blkIndent, False).strip()
        inline.children = []
        state.push("paragraph_close", "p", -1)
        state.line = line


_BlockRule = Callable[[StateBlock, int, int, bool], bool]


def _without_notes(rule: _BlockRule) -> _BlockRule:
    """Link definitions, but for [^1]: what a note says is text, and no address."""

    def reference(state: StateBlock, start: int, end: int, silent: bool) -> bool:
        at = state.bMarks[start] + state.tShift[start]
        return not state.src.startswith("[^", at) and rule(state, start, end, silent)

    return reference


def _line_break(
    renderer: object, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType
) -> str:
    return "<br>"


def _embedded(
    renderer: object, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType
) -> str:
    """Embedded HTML as it is, and as the text that its writer meant where it is none: <name>, an unclosed <title>."""
    token = tokens[index]
    content = token.content
    if token.type == "html_inline":
        name = _TAG.match(content)
        if name and name[1].lower() not in _ELEMENTS and "-" not in name[1]:
            return escapeHtml(content)
        swallowing = _SWALLOWING.match(content)
        if not swallowing:
            return content
        end = f"</{swallowing[1].lower()}"
        closed = any(end in other.content.lower() for other in tokens[index + 1 : index + 500])
        return content if closed else escapeHtml(content)
    if content.startswith("<!--") and "-->" not in content:
        return _lines(content.removeprefix("<!--"))
    lowered = content.lower()
    begins = _SWALLOWING.match(lowered)
    if begins and f"</{begins[1]}" not in lowered:
        return _lines(content)
    return _SWALLOWING.sub(
        lambda match: (
            match[0] if f"</{match[1].lower()}" in lowered[match.end() :] else escapeHtml(match[0])
        ),
        content,
    )


def _lines(text: str) -> str:
    """What is no markup, as it stands."""
    return f"<div>{escapeHtml(text.strip()).replace(chr(10), '<br>')}</div>"

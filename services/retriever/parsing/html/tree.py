"""Markup as a tree."""

import re

from selectolax.lexbor import LexborHTMLParser, LexborNode

from services.rpc.errors import InvalidArgument

# The time of lexbor grows with the square of the depth of these: each looks through all that are open for a <p>.
_DEEP = re.compile(
    r"<(/?)(?:address|article|aside|blockquote|center|details|dialog|dir|div|dl|fieldset|figcaption|figure"
    r"|footer|form|header|hgroup|main|menu|nav|ol|search|section|summary|ul)\b",
    re.IGNORECASE,
)
_MAX_DEPTH = 20_000


def parsed(markup: str) -> LexborHTMLParser:
    """The tree of a page or of a fragment. Raises InvalidArgument for one that is nested too deeply to read in a time
    that grows with its length alone."""
    depth = 0
    for match in _DEEP.finditer(markup):
        depth = max(0, depth + (-1 if match[1] else 1))
        if depth > _MAX_DEPTH:
            raise InvalidArgument(
                f"the page is nested too deeply: more than {_MAX_DEPTH:,} elements inside one another",
                reason="TOO_DEEP",
            )
    # Lone surrogates are not UTF-8; lexbor reads bytes.
    return LexborHTMLParser(markup.encode("utf-8", "replace"))


def is_bold(cell: LexborNode) -> bool:
    """Whether all of a cell is: in a first row, that is how pages without <th> mark their heads."""
    node = cell
    for _ in range(3):
        inner = [
            child
            for child in node.iter(include_text=True)
            if child.tag not in ("-text", "br") or (child.text_content or "").strip()
        ]
        if len(inner) != 1 or inner[0].tag == "-text":
            return False
        node = inner[0]
        if node.tag in ("b", "strong"):
            return True
    return False

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
_BOLD = re.compile(r"font-weight:\s*(?:bold|[6-9]00)")
_INDENT = re.compile(
    r"(?:padding-left|margin-left|(?<![\w-])text-indent):\s*(\d{0,4}\.?\d{1,4})(px|pt|em|rem|%)"
)
_LETTERS_PER_UNIT = {"px": 8.0, "pt": 6.0, "em": 0.5, "rem": 0.5, "%": 1.0}


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


def indent(cell: LexborNode) -> float:
    """How far in the text of a cell stands by the styles of the cell and of the block in it, in widths of a letter."""
    found = 0.0
    node: LexborNode | None = cell
    for _ in range(2):
        if node is None:
            break
        for distance, unit in _INDENT.findall((node.attributes.get("style") or "").lower()):
            found += float(distance) / _LETTERS_PER_UNIT[unit]
        node = next((child for child in node.iter() if child.tag in ("div", "p", "span")), None)
    return found


def is_bold(cell: LexborNode) -> bool:
    """Whether all of a cell is: that is how pages without <th> mark heads, and titles of rows."""
    node = cell
    for _ in range(3):
        if _BOLD.search((node.attributes.get("style") or "").lower()):
            return True
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

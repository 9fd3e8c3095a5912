"""What a page's own styles hide, strike out or raise: the attributes of its elements, and the rules of its <style>.

Not a style engine: it knows the properties that change what a text says, on a wide screen, in the order of the cascade.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from selectolax.lexbor import LexborHTMLParser, LexborNode, SelectolaxError

# Letters below 2 px, which is 1.5 pt, are not legible (see pdf/hidden.py); 0.9em are.
_UNSEEN_STYLE = re.compile(
    r"display:none|visibility:hidden|(?<![\w-])opacity:(?:0(?:\.0+)?|\.0+)(?![\d.])"
    r"|font-size:(?:(?:0(?:\.0+)?|\.0+)(?![\d.])|(?:[01](?:\.\d+)?|\.\d+)px|(?:0?\.\d+|1(?:\.[0-4]\d*)?)pt)"
    r"|text-indent:-\d{3,}|(?<![\w-])(?:left|top):-\d{3,}|margin-(?:left|top):-\d{4,}"
)
_BLANK = re.compile(r"\s+")
_COMMENT = re.compile(r"/\*.*?\*/|<!--|-->", re.DOTALL)
_MARK = re.compile("[{};]")
# Properties of a class that are looked at. Others that hide (opacity, offsets) belong to pages that show by script.
_PROPERTIES = frozenset(
    {"display", "visibility", "text-decoration", "text-decoration-line", "vertical-align"}
)
_LENGTH = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+))(em|ex|rem|px|pt|%)")
_RAISED = {"em": 0.2, "ex": 0.4, "rem": 0.2, "px": 3.0, "pt": 2.0, "%": 20.0}
"""Least lengths above the line from which a text is raised."""
# At most three compounds: longer ones cost more time than they tell.
_COMPOUND = r"[\w.#*\[\]=\"'-]+"
_SELECTOR = re.compile(rf"{_COMPOUND}(?:\s*[\s>+~]\s*{_COMPOUND}){{0,2}}")
_WIDTH = re.compile(r"\(\s*(min|max)-(?:device-)?width\s*:\s*([\d.]+)\s*(px|em|rem)", re.IGNORECASE)
_SCREEN_PX = 1280
_MAX_RULES = 500
_MAX_MATCHES = 500_000
_MAX_SHEET = 2**20  # Characters of one <style>.


@dataclass
class Styles:
    """Elements (by `mem_id`) that the page's rules hide, strike out, raise above the line or lower below it."""

    hidden: set[int] = field(default_factory=set)
    struck: set[int] = field(default_factory=set)
    raised: set[int] = field(default_factory=set)
    lowered: set[int] = field(default_factory=set)


def is_hidden_by_attribute(node: LexborNode) -> bool:
    """Whether the element's own attributes hide it."""
    attributes = node.attributes
    if "hidden" in attributes:
        return True
    style = attributes.get("style")
    return bool(style and _UNSEEN_STYLE.search(_BLANK.sub("", style).lower()))


def is_struck_by_attribute(node: LexborNode) -> bool:
    """Whether the element's own style strikes its text out."""
    return "line-through" in (node.attributes.get("style") or "").lower()


def shift_by_attribute(node: LexborNode) -> int:
    """1 if the element's own style raises its text, -1 if it lowers it, else 0."""
    style = node.attributes.get("style") or ""
    if "vertical-align" not in style.lower():
        return 0
    return _shift(next((v for n, v, _ in _declarations(style) if n == "vertical-align"), ""))


def _shift(value: str) -> int:
    """What a value of vertical-align does: a footnote's mark is often raised by a length."""
    if value in ("super", "sub"):
        return 1 if value == "super" else -1
    length = _LENGTH.fullmatch(value)
    if not length:
        return 0
    up, least = float(length[1]), _RAISED[length[2]]
    return (up >= least) - (up <= -least)


def of_page(tree: LexborHTMLParser) -> Styles:
    """What the rules of all <style> elements say, as a wide screen shows it."""
    best: dict[tuple[int, str], tuple[tuple[bool, int, int, int, int], str]] = {}
    order = matched = 0
    for sheet in tree.css("style"):
        if not _on_screen(sheet.attributes.get("media") or ""):
            continue
        for selectors, body in _rules(_COMMENT.sub(" ", sheet.text()[:_MAX_SHEET])):
            said = list(_declarations(body))
            for selector in selectors.split(",") if said else ():
                order += 1
                nodes = _matches(tree, selector.strip()) if order <= _MAX_RULES else []
                matched += len(nodes)
                if matched > _MAX_MATCHES:
                    return _found(best)
                rank = _specificity(selector)
                for name, value, important in said:
                    for node in nodes:
                        mine = (important, *rank, order)
                        if (node, name) not in best or best[node, name][0] < mine:
                            best[node, name] = (mine, value)
    return _found(best)


def _found(best: Mapping[tuple[int, str], tuple[object, str]]) -> Styles:
    found = Styles()
    for (node, name), (_, value) in best.items():
        if (name, value) in (
            ("display", "none"),
            ("visibility", "hidden"),
            ("visibility", "collapse"),
        ):
            found.hidden.add(node)
        elif name == "text-decoration" and "line-through" in value:
            found.struck.add(node)
        elif name == "vertical-align" and (shift := _shift(value)):
            (found.raised if shift > 0 else found.lowered).add(node)
    return found


def _declarations(body: str) -> Iterator[tuple[str, str, bool]]:
    """Property, value and whether it is important, of those that are looked at."""
    for declaration in body.split(";"):
        name, _, value = declaration.partition(":")
        name = name.strip().lower()
        if name in _PROPERTIES:
            value, important, _ = value.lower().partition("!")
            yield name.removesuffix("-line"), value.strip(), bool(important)


def _rules(sheet: str) -> Iterator[tuple[str, str]]:
    """Selectors and declarations of every rule that a screen applies. Braces are matched; nothing else is parsed."""
    blocks: list[tuple[str, int]] = []  # The open ones: prelude, where the body begins.
    skipped = 0  # How many of them are not for a screen.
    last = 0
    for match in _MARK.finditer(sheet):
        if match[0] == "{":
            prelude = sheet[last : match.start()].strip()
            skipped += bool(skipped) or not _applies(prelude)
            blocks.append((prelude, match.end()))
        elif match[0] == "}" and blocks:
            prelude, start = blocks.pop()
            if skipped:
                skipped -= 1
            elif not prelude.startswith("@"):
                yield prelude, sheet[start : match.start()]
        last = match.end()


def _applies(prelude: str) -> bool:
    if not prelude.startswith("@"):
        return True
    name, _, condition = prelude[1:].partition(" ")
    return name == "layer" or name == "supports" or (name == "media" and _on_screen(condition))


def _on_screen(media: str) -> bool:
    """Whether a media query holds on a wide screen; one that asks for a preference does not."""
    if not media.strip():
        return True
    return any(_holds(query.strip().lower()) for query in media.split(","))


def _holds(query: str) -> bool:
    if "prefers-" in query:
        return False
    if re.match(
        r"(only\s+)?(print|speech|tty|tv|projection|handheld|aural|braille|embossed)\b", query
    ):
        return False
    if re.match(r"not\s+(all|screen)\b", query):
        return False
    for bound, number, unit in _WIDTH.findall(query):
        width = float(number) * (1 if unit == "px" else 16)
        if (width > _SCREEN_PX) if bound == "min" else (width < _SCREEN_PX):
            return False
    return True


def _matches(tree: LexborHTMLParser, selector: str) -> list[int]:
    # No pseudo classes: they hold for a moment (:hover) or for a part (::before).
    if not _SELECTOR.fullmatch(selector):
        return []
    with suppress(SelectolaxError):
        return [node.mem_id for node in tree.css(selector)]
    return []


def _specificity(selector: str) -> tuple[int, int, int]:
    ids = selector.count("#")
    classes = selector.count(".") + selector.count("[")
    return ids, classes, len(re.findall(r"(?:^|[\s>+~])[a-zA-Z]", selector))

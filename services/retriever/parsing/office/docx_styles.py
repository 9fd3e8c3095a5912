"""What a Word document's styles say: which paragraphs are headings or items of lists, which letters are hidden."""

import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass

from services.retriever.parsing.office.package import (
    Element,
    attribute,
    child,
    children,
    name_of,
    whole,
)

_HEADING = re.compile(r"heading (\d)", re.IGNORECASE)
_BODY_LEVEL = 9  # The outline level of text that is no heading.
_LEGIBLE_HALF_POINTS = 3  # Smaller letters cannot be read: 1.5 points, as in the other formats.
_SWITCHES = {
    "strike": "struck",
    "dstrike": "struck",
    "vanish": "hidden",
    "specVanish": "hidden",
    "b": "strong",
}
_LEVELS = {"superscript": 1, "subscript": -1}


@dataclass(frozen=True)
class Look:
    """How letters look. `white`: on no ground of their own. `level`: 0 on the line, 1 raised, -1 lowered."""

    struck: bool = False
    hidden: bool = False
    white: bool = False
    strong: bool = False
    level: int = 0


class Styles:
    """Styles by identifier, each with those that it is based on."""

    def __init__(self, tree: Element | None) -> None:
        self._styles: dict[str, Element] = {}
        self._default = ""
        for style in children(tree, "style"):
            identifier = attribute(style, "styleId")
            self._styles[identifier] = style
            if attribute(style, "type") == "paragraph" and is_on(style, "default"):
                self._default = identifier
        self._looks: dict[tuple[str, str], Look] = {}

    def name(self, identifier: str) -> str:
        """The name that Word shows, in English and in lower case: identifiers differ between languages."""
        return attribute(child(self._styles.get(identifier), "name"), "val").lower()

    def heading_level(self, identifier: str, paragraph: Element | None) -> int:
        """1 is the highest; 0 for text that is no heading. `paragraph`: the properties of its own."""
        for properties in (paragraph, *self._properties(identifier, "pPr")):
            outline = child(properties, "outlineLvl")
            if outline is not None:
                level = whole(attribute(outline, "val"), _BODY_LEVEL)
                return level + 1 if 0 <= level < _BODY_LEVEL else 0
        for style in self._chain(identifier):
            name = attribute(child(style, "name"), "val").lower()
            named = _HEADING.fullmatch(name)
            if named:
                return int(named[1])
            if name == "title":
                return 1
        return 0

    def numbering(self, identifier: str, paragraph: Element | None) -> tuple[str, int] | None:
        """The list of a paragraph and its level in it, from 0; None if it is in none."""
        level = ""
        for properties in (paragraph, *self._properties(identifier, "pPr")):
            numbered = child(properties, "numPr")
            if numbered is None:
                continue
            level = level or attribute(child(numbered, "ilvl"), "val")
            number = attribute(child(numbered, "numId"), "val")
            if number:
                return None if number == "0" else (number, max(0, whole(level)))
        return None

    def look(self, paragraph_style: str, run: Element | None) -> Look:
        """Of a run with these properties: what it says itself, else its style, else the paragraph's."""
        style = attribute(child(run, "rStyle"), "val")
        key = paragraph_style, style
        base = self._looks.get(key)
        if base is None:
            chain = [*self._properties(style, "rPr")] if style else []
            chain += self._properties(paragraph_style or self._default, "rPr")
            base = Look()
            for properties in reversed(chain):
                base = _changed(base, properties)
            self._looks[key] = base
        return _changed(base, run)

    def _chain(self, identifier: str) -> Iterator[Element]:
        seen: set[str] = set()
        identifier = identifier or self._default
        while identifier in self._styles and identifier not in seen:
            seen.add(identifier)
            style = self._styles[identifier]
            yield style
            identifier = attribute(child(style, "basedOn"), "val")

    def _properties(self, identifier: str, name: str) -> Iterator[Element]:
        for style in self._chain(identifier):
            found = child(style, name)
            if found is not None:
                yield found


def is_on(element: Element | None, name: str) -> bool:
    return attribute(element, name) in ("1", "true", "on")


def _changed(look: Look, properties: Element | None) -> Look:
    if properties is None or not len(properties):
        return look
    found: dict[str, bool | int] = {}
    for one in properties:
        match name_of(one):
            case name if name in _SWITCHES:
                found[_SWITCHES[name]] = _says(one)
            case "color":
                found["white"] = attribute(one, "val").upper() == "FFFFFF"
            case "vertAlign":
                found["level"] = _LEVELS.get(attribute(one, "val"), 0)
            case "position":
                height = whole(attribute(one, "val"))
                found["level"] = (height > 0) - (height < 0)
    if child(properties, "shd") is not None or child(properties, "highlight") is not None:
        found["white"] = False
    size = whole(attribute(child(properties, "sz"), "val"), _LEGIBLE_HALF_POINTS)
    if size < _LEGIBLE_HALF_POINTS:
        found["hidden"] = True
    return Look(**{**asdict(look), **found}) if found else look


def _says(element: Element) -> bool:
    return attribute(element, "val", "1") not in ("0", "false", "off", "none")

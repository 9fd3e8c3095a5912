"""Shapes of slides: where they stand, in the order of reading, and the text in them (DrawingML)."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import isfinite

from services.retriever.parsing.html import links
from services.retriever.parsing.office import equations
from services.retriever.parsing.office.docx_numbering import formatted
from services.retriever.parsing.office.package import (
    Element,
    Package,
    attribute,
    child,
    children,
    name_of,
    relation,
    whole,
)
from services.retriever.parsing.office.runs import Run, joined

_SHAPES = frozenset(("sp", "pic", "graphicFrame"))
_PROPERTIES = ("nvSpPr", "nvPicPr", "nvGraphicFramePr", "nvGrpSpPr", "nvCxnSpPr")
_MAX_DEPTH = 30
_SAME_LINE = 0.5  # Of a shape's height: shapes that overlap by so much stand beside each other.
_AUTOMATIC = "automatically generated"
_FORMS = {
    "alphaLc": "lowerLetter",
    "alphaUc": "upperLetter",
    "romanLc": "lowerRoman",
    "romanUc": "upperRoman",
}


@dataclass(frozen=True)
class Box:
    """In EMU, from the top left corner of the slide."""

    left: float
    top: float
    right: float
    bottom: float

    def is_outside(self, other: "Box") -> bool:
        if self.right <= self.left and self.bottom <= self.top:
            return False  # Nobody said where it is.
        return (
            self.right <= other.left
            or self.left >= other.right
            or self.bottom <= other.top
            or self.top >= other.bottom
        )


@dataclass(frozen=True)
class Shape:
    """`placeholder`: what of its layout it fills ("title", "body", "dt"); empty for a shape of its own."""

    element: Element
    placeholder: str
    number: str
    box: Box
    hidden: bool


@dataclass(frozen=True)
class _Place:
    """How the inside of a group lies on the slide."""

    left: float = 0.0
    top: float = 0.0
    across: float = 1.0
    down: float = 1.0


class Shapes:
    """The shapes of a slide, a layout or a master, in the order of reading; those in groups too. `above`: those of the
    layout, where a placeholder stands if it does not say so itself."""

    def __init__(self, tree: Element, above: "Shapes | None" = None) -> None:
        self._above = above
        found = list(self._walk(child(tree, "cSld", "spTree"), _Place(), False, 0))
        self.all = _in_order(found)

    def find(self, placeholder: str, number: str) -> Box | None:
        """Where the placeholder of that number stands, else the one of that kind."""
        same = [shape for shape in self.all if shape.placeholder == placeholder]
        for shape in (*(one for one in self.all if number and one.number == number), *same):
            if shape.box != _NOWHERE:
                return shape.box
        return self._above.find(placeholder, number) if self._above else None

    def _walk(
        self, parent: Element | None, place: _Place, hidden: bool, depth: int
    ) -> Iterator[Shape]:
        if parent is None or depth > _MAX_DEPTH:
            return
        for element in parent:
            name = name_of(element)
            if name == "AlternateContent":
                choice = child(element, "Choice")
                chosen = (
                    choice if choice is not None and len(choice) else child(element, "Fallback")
                )
                yield from self._walk(chosen, place, hidden, depth + 1)
            elif name == "grpSp":
                unseen = hidden or _is_hidden(element)
                yield from self._walk(element, _inside(element, place), unseen, depth + 1)
            elif name in _SHAPES:
                yield self._shape(element, place, hidden)

    def _shape(self, element: Element, place: _Place, hidden: bool) -> Shape:
        properties = next((one for one in element if name_of(one) in _PROPERTIES), None)
        slot = child(properties, "nvPr", "ph")
        kind = attribute(slot, "type", "body") if slot is not None else ""
        number = attribute(slot, "idx")
        frame = child(element, "xfrm")
        box = _box(frame if frame is not None else child(element, "spPr", "xfrm"), place)
        if box is None and slot is not None and self._above:
            box = self._above.find(kind, number)
        return Shape(element, kind, number, box or _NOWHERE, hidden or _is_hidden(element))


_NOWHERE = Box(0.0, 0.0, 0.0, 0.0)


def _is_hidden(element: Element) -> bool:
    properties = next((one for one in element if name_of(one) in _PROPERTIES), None)
    return attribute(child(properties, "cNvPr"), "hidden") in ("1", "true")


def _pair(element: Element | None, first: str, second: str) -> tuple[float, float] | None:
    try:
        found = float(attribute(element, first)), float(attribute(element, second))
    except ValueError:
        return None
    return found if all(map(isfinite, found)) else None


def _box(frame: Element | None, place: _Place) -> Box | None:
    corner, size = _pair(child(frame, "off"), "x", "y"), _pair(child(frame, "ext"), "cx", "cy")
    if corner is None or size is None:
        return None
    left = place.left + corner[0] * place.across
    top = place.top + corner[1] * place.down
    return Box(left, top, left + size[0] * place.across, top + size[1] * place.down)


def _inside(group: Element, place: _Place) -> _Place:
    frame = child(group, "grpSpPr", "xfrm")
    box = _box(frame, place)
    corner, size = _pair(child(frame, "chOff"), "x", "y"), _pair(child(frame, "chExt"), "cx", "cy")
    if box is None or corner is None or size is None or 0 in size:
        return place
    across, down = (box.right - box.left) / size[0], (box.bottom - box.top) / size[1]
    return _Place(box.left - corner[0] * across, box.top - corner[1] * down, across, down)


def _in_order(shapes: list[Shape]) -> list[Shape]:
    """From the top down; those that stand beside each other from left to right."""
    lines: list[list[Shape]] = []
    for shape in sorted(shapes, key=lambda shape: (shape.box.top, shape.box.left)):
        if lines:
            first = lines[-1][0].box
            shared = min(first.bottom, shape.box.bottom) - shape.box.top
            least = min(first.bottom - first.top, shape.box.bottom - shape.box.top)
            if shared > _SAME_LINE * least > 0:
                lines[-1].append(shape)
                continue
        lines.append([shape])
    return [shape for line in lines for shape in sorted(line, key=lambda shape: shape.box.left)]


class Texts:
    """Reads the text of shapes. `part`: the slide that they stand on, which has their links. `struck`: passages left
    out so far."""

    def __init__(self, package: Package) -> None:
        self._package = package
        self.part = ""
        self.struck = 0

    def alternative(self, properties: Element | None) -> str:
        """What somebody wrote for who cannot see a picture."""
        text = attribute(properties, "descr")
        return "" if _AUTOMATIC in text else text

    def paragraphs(self, body: Element | None) -> list[str]:
        return [self._paragraph(paragraph) for paragraph in children(body, "p")]

    def lines(self, body: Element | None, listed: bool) -> Iterator[str]:
        """Paragraphs with their bullets and numbers. `listed`: in a placeholder, several paragraphs are a list."""
        read = [(one, self._paragraph(one)) for one in children(body, "p")]
        paragraphs = [(one, text) for one, text in read if text.strip()]
        counted: dict[int, int] = {}
        for paragraph, text in paragraphs:
            properties = child(paragraph, "pPr")
            level = whole(attribute(properties, "lvl"))
            automatic = child(properties, "buAutoNum")
            for deeper in [
                at for at in counted if at > level or (at == level and automatic is None)
            ]:
                del counted[deeper]
            if automatic is not None:
                start = whole(attribute(automatic, "startAt"), 1)
                counted[level] = counted.get(level, start - 1) + 1
                kind = attribute(automatic, "type")
                form = next((name for key, name in _FORMS.items() if kind.startswith(key)), "")
                yield f"{formatted(counted[level], form)}. {text}"
            elif child(properties, "buChar") is not None or (
                listed and len(paragraphs) > 1 and child(properties, "buNone") is None
            ):
                yield f"- {text}"
            else:
                yield text

    def _paragraph(self, paragraph: Element) -> str:
        return joined(self._runs(paragraph))

    def _runs(self, parent: Element) -> Iterator[Run]:
        for one in parent:
            match name_of(one):
                case "r":
                    yield from self._run(one)
                case "br":
                    yield Run("\n")
                case "fld" if attribute(one, "type") != "slidenum":
                    yield from self._run(one)
                case "AlternateContent":
                    choice = child(one, "Choice")
                    chosen = (
                        choice if choice is not None and len(choice) else child(one, "Fallback")
                    )
                    if chosen is not None:
                        yield from self._runs(chosen)
                case "m" | "oMath" | "oMathPara":
                    yield Run(f" {equations.line(one)} ")

    def _run(self, run: Element) -> Iterator[Run]:
        look, text = child(run, "rPr"), child(run, "t")
        content = (text.text or "") if text is not None else ""
        if attribute(look, "strike", "noStrike") != "noStrike":
            self.struck += 1
            return
        height = attribute(look, "baseline", "0")
        level = -1 if height.startswith("-") else int(height.rstrip("%") not in ("0", ""))
        yield Run(content, level)
        address = links.address(self._package.link(self.part, relation(child(look, "hlinkClick"))))
        if address and content.strip() and links.says_more(address, content):
            yield Run(f" ({address})")

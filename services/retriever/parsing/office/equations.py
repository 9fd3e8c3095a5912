"""Equations of Office (Office MathML, ECMA-376, part 1, chapter 22) on one line: (a + b)/c, x^2, sqrt(y)."""

from collections.abc import Callable, Mapping

from services.retriever.parsing import marks
from services.retriever.parsing.office.package import Element, attribute, child, children, name_of

_MAX_DEPTH = 40
_SILENT = frozenset(("rPr", "ctrlPr"))


def line(element: Element | None, depth: int = 0) -> str:
    """An equation, or a part of one, as text."""
    if element is None or depth > _MAX_DEPTH or name_of(element) in _SILENT:
        return ""
    form = _FORMS.get(name_of(element))
    if form is not None:
        return form(element, depth + 1)
    return "".join(line(one, depth + 1) for one in element)


def _run(element: Element, depth: int) -> str:
    return "".join(one.text or "" for one in children(element, "t"))


def _fraction(element: Element, depth: int) -> str:
    return f"{_grouped(element, 'num', depth)}/{_grouped(element, 'den', depth)}"


def _raised(element: Element, depth: int) -> str:
    return f"{_grouped(element, 'e', depth)}^{_grouped(element, 'sup', depth)}"


def _lowered(element: Element, depth: int) -> str:
    base = line(child(element, "e"), depth)
    return base + marks.lowered(base, line(child(element, "sub"), depth))


def _both(element: Element, depth: int) -> str:
    return f"{_lowered(element, depth)}^{_grouped(element, 'sup', depth)}"


def _root(element: Element, depth: int) -> str:
    degree = line(child(element, "deg"), depth)
    return f"{f'root {degree} of ' if degree else 'sqrt'}({line(child(element, 'e'), depth)})"


def _delimited(element: Element, depth: int) -> str:
    properties = child(element, "dPr")
    begin = attribute(child(properties, "begChr"), "val", "(")
    end = attribute(child(properties, "endChr"), "val", ")")
    return begin + ", ".join(line(one, depth) for one in children(element, "e")) + end


def _sum(element: Element, depth: int) -> str:
    """A sum, a product or an integral with its bounds."""
    sign = attribute(child(element, "naryPr", "chr"), "val", "\u222b")
    low, high = line(child(element, "sub"), depth), line(child(element, "sup"), depth)
    bounds = (f" from {low}" if low else "") + (f" to {high}" if high else "")
    return f"{sign}{bounds} {line(child(element, 'e'), depth)}"


def _function(element: Element, depth: int) -> str:
    return f"{line(child(element, 'fName'), depth)} {line(child(element, 'e'), depth)}"


def _matrix(element: Element, depth: int) -> str:
    rows = (
        ", ".join(line(cell, depth) for cell in children(row, "e"))
        for row in children(element, "mr")
    )
    return f"[{'; '.join(rows)}]"


def _grouped(element: Element, name: str, depth: int) -> str:
    """A part in parentheses, unless it is a single word or number."""
    text = line(child(element, name), depth).strip()
    single = text.replace(".", "").replace(",", "").isalnum()
    return text if single or not text else f"({text})"


_FORMS: Mapping[str, Callable[[Element, int], str]] = {
    "r": _run,
    "f": _fraction,
    "sSup": _raised,
    "sSub": _lowered,
    "sSubSup": _both,
    "rad": _root,
    "d": _delimited,
    "nary": _sum,
    "func": _function,
    "m": _matrix,
}

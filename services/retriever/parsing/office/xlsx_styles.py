"""How the cells of a workbook look: what that says of their values."""

from collections.abc import Sequence
from dataclasses import dataclass

from services.retriever.parsing.office.number_formats import BUILT_IN, GENERAL
from services.retriever.parsing.office.package import (
    Element,
    Package,
    attribute,
    child,
    children,
    whole,
)


@dataclass(frozen=True)
class Style:
    """`format` is that of its numbers; `white`: on no ground of its own; `indent` in widths of a letter."""

    format: str = GENERAL
    strong: bool = False
    struck: bool = False
    white: bool = False
    indent: int = 0


def read(package: Package) -> list[Style]:
    """The styles of a workbook, by the number that its cells name."""
    for part in package.related(package.main, "styles"):
        tree = package.tree(part)
        formats = dict(BUILT_IN) | {
            attribute(one, "numFmtId"): attribute(one, "formatCode")
            for one in children(child(tree, "numFmts"), "numFmt")
        }
        fonts = list(children(child(tree, "fonts"), "font"))
        return [
            Style(
                formats.get(attribute(one, "numFmtId"), GENERAL),
                *_look(fonts, attribute(one, "fontId"), attribute(one, "fillId", "0") == "0"),
                indent=3 * whole(attribute(child(one, "alignment"), "indent"), 0),
            )
            for one in children(child(tree, "cellXfs"), "xf")
        ]
    return []


def _look(fonts: Sequence[Element], index: str, bare: bool) -> tuple[bool, bool, bool]:
    """Bold, struck out, and white on no ground of its own (`bare`)."""
    font = fonts[int(index)] if index.isdecimal() and int(index) < len(fonts) else None
    white = bare and attribute(child(font, "color"), "rgb").upper() in ("FFFFFFFF", "00FFFFFF")
    return is_set(font, "b"), is_set(font, "strike"), white


def is_set(font: Element | None, name: str) -> bool:
    """Whether a font has a property such as "b" or "strike"."""
    found = child(font, name)
    return found is not None and attribute(found, "val", "1") not in ("0", "false")

"""From PDF user space to the page as it is shown, and from characters to the rectangles of their lines."""

from collections.abc import Iterable
from dataclasses import dataclass

from services.retriever.documents import Box

Rectangle = tuple[float, float, float, float]
"""Left, bottom, right, top in user space: points, the origin at the bottom left, before rotation."""


@dataclass(frozen=True)
class Frame:
    """The visible part of a page (CropBox within MediaBox) and its rotation: 0, 90, 180 or 270, clockwise."""

    left: float
    bottom: float
    right: float
    top: float
    rotation: int

    @property
    def size(self) -> tuple[float, float]:
        """Width and height as shown, in points."""
        width, height = self.right - self.left, self.top - self.bottom
        return (height, width) if self.rotation in (90, 270) else (width, height)

    def shown(self, rectangle: Rectangle) -> Box:
        """The same rectangle on the page as it is shown, as fractions; it may lie outside of 0..1."""
        x0, x1 = ((x - self.left) / (self.right - self.left) for x in (rectangle[0], rectangle[2]))
        y0, y1 = (
            (y - self.bottom) / (self.top - self.bottom) for y in (rectangle[1], rectangle[3])
        )
        match self.rotation:
            case 90:
                return Box(y0, x0, y1, x1)
            case 180:
                return Box(1 - x1, y0, 1 - x0, y1)
            case 270:
                return Box(1 - y1, 1 - x1, 1 - y0, 1 - x0)
            case _:
                return Box(x0, 1 - y1, x1, 1 - y0)


def clip(box: Box) -> Box | None:
    """The part of a box that is on the page; None when there is none."""
    left, top = max(0.0, box.left), max(0.0, box.top)
    right, bottom = min(1.0, box.right), min(1.0, box.bottom)
    return Box(left, top, right, bottom) if left < right and top < bottom else None


def merge_lines(boxes: Iterable[Box], size: tuple[float, float]) -> list[Box]:
    """Joins boxes that follow each other on one line, or in one column of vertical text: one box for each.

    `size` is the page's width and height: lengths across and down are compared.
    """
    lines: list[Box] = []
    direction = ""  # Of the last line: its second letter tells.
    for box in boxes:
        found = _direction(lines[-1], box, size) if lines else ""
        if found and direction in ("", found):
            lines[-1] = _around(lines[-1], box)
            direction = found
        else:
            lines.append(box)
            direction = ""
    return lines


def _around(one: Box, other: Box) -> Box:
    return Box(
        min(one.left, other.left),
        min(one.top, other.top),
        max(one.right, other.right),
        max(one.bottom, other.bottom),
    )


def _direction(line: Box, box: Box, size: tuple[float, float]) -> str:
    """How a box goes on from a line: "across", "down", or not at all."""
    width = (line.right - line.left) * size[0]
    height = (line.bottom - line.top) * size[1]
    if _overlap(line.top, line.bottom, box.top, box.bottom) > 0.5:
        # Two characters' height apart is still the same line; a column's gutter is not.
        gap = max(box.left - line.right, line.left - box.right) * size[0]
        return "across" if gap < 2 * height else ""
    if _overlap(line.left, line.right, box.left, box.right) > 0.9:
        gap = max(box.top - line.bottom, line.top - box.bottom) * size[1]
        return "down" if gap < width else ""
    return ""


def _overlap(a0: float, a1: float, b0: float, b1: float) -> float:
    """The shared part of two ranges as a share of the shorter one."""
    shorter = min(a1 - a0, b1 - b0)
    return (min(a1, b1) - max(a0, b0)) / shorter if shorter > 0 else 0.0

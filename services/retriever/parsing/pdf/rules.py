"""The straight lines that a page draws: borders of tables, lines under heads, columns' rules."""

import ctypes
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise

import pypdfium2 as pdfium
import pypdfium2.raw as c

from services.retriever.parsing.pdf.geometry import Frame

# A drawing has more; a page of ruled tables has fewer.
MAX_SEGMENTS = 20_000
MAX_OBJECTS = 60_000
_MAX_DEPTH = 6
_THIN = 2.5  # Points: a filled rectangle no thicker is a line.
_SHORT = 4.0  # Points: a line no longer is a dot of a dotted one, or a letter's stroke.
_WHITE = 250

Matrix = tuple[float, float, float, float, float, float]
_IDENTITY: Matrix = (1.0, 0.0, 0.0, 1.0, 0.0, 0.0)


@dataclass
class Rules:
    """Lines in points on the page as shown, from its top left corner."""

    across: list[tuple[float, float, float]] = field(default_factory=list)
    """y, left, right."""
    down: list[tuple[float, float, float]] = field(default_factory=list)
    """x, top, bottom."""


def read(page: pdfium.PdfPage, frame: Frame) -> Rules:
    """The page's lines; none at all for a page that draws more than MAX_SEGMENTS of them, which is a drawing."""
    reader = _Reader(frame)
    try:
        reader.walk(c.FPDFPage_CountObjects(page), partial(c.FPDFPage_GetObject, page))
    except _TooMany:
        return Rules()
    return reader.rules


class _TooMany(Exception):
    pass


class _Reader:
    def __init__(self, frame: Frame) -> None:
        self._frame = frame
        self._width, self._height = frame.size
        self._objects = self._segments = 0
        self.rules = Rules()

    def walk(
        self,
        count: int,
        get: Callable[[int], c.FPDF_PAGEOBJECT],
        outer: Matrix = _IDENTITY,
        depth: int = 0,
    ) -> None:
        for at in range(count):
            self._objects += 1
            if self._objects > MAX_OBJECTS:
                raise _TooMany
            item = get(at)
            kind = c.FPDFPageObj_GetType(item)
            if kind == c.FPDF_PAGEOBJ_PATH:
                self._path(item, outer)
            elif kind == c.FPDF_PAGEOBJ_FORM and depth < _MAX_DEPTH:
                self.walk(
                    c.FPDFFormObj_CountObjects(item),
                    partial(c.FPDFFormObj_GetObject, item),
                    _times(_matrix(item), outer),
                    depth + 1,
                )

    def _path(self, path: c.FPDF_PAGEOBJECT, outer: Matrix) -> None:
        count = c.FPDFPath_CountSegments(path)
        self._segments += max(0, count)
        if self._segments > MAX_SEGMENTS:
            raise _TooMany
        if not _is_seen(path):
            return
        fill, stroke = ctypes.c_int(0), ctypes.c_int(0)
        c.FPDFPath_GetDrawMode(path, fill, stroke)
        matrix = _times(_matrix(path), outer)
        for points in _subpaths(path, count, matrix):
            shown = [self._point(x, y) for x, y in points]
            xs, ys = [x for x, _ in shown], [y for _, y in shown]
            left, right, top, bottom = min(xs), max(xs), min(ys), max(ys)
            if bottom - top <= _THIN or right - left <= _THIN:
                self._line(left, top, right, bottom)
            elif stroke.value:
                for (x0, y0), (x1, y1) in pairwise(shown):
                    if abs(x0 - x1) <= 0.5 or abs(y0 - y1) <= 0.5:
                        self._line(min(x0, x1), min(y0, y1), max(x0, x1), max(y0, y1))

    def _point(self, x: float, y: float) -> tuple[float, float]:
        box = self._frame.shown((x, y, x, y))
        return box.left * self._width, box.top * self._height

    def _line(self, left: float, top: float, right: float, bottom: float) -> None:
        if right - left >= _SHORT and bottom - top <= _THIN:
            self.rules.across.append(((top + bottom) / 2, left, right))
        elif bottom - top >= _SHORT and right - left <= _THIN:
            self.rules.down.append(((left + right) / 2, top, bottom))


def _subpaths(
    path: c.FPDF_PAGEOBJECT, count: int, matrix: Matrix
) -> list[list[tuple[float, float]]]:
    """The corners of each part of a path in user space; a part with a curve is left out."""
    found: list[list[tuple[float, float]]] = []
    points: list[tuple[float, float]] = []
    curved = False
    x, y = ctypes.c_float(0), ctypes.c_float(0)
    for at in range(count):
        segment = c.FPDFPath_GetPathSegment(path, at)
        kind = c.FPDFPathSegment_GetType(segment)
        c.FPDFPathSegment_GetPoint(segment, x, y)
        point = _apply(matrix, x.value, y.value)
        if kind == c.FPDF_SEGMENT_MOVETO:
            if len(points) > 1 and not curved:
                found.append(points)
            points, curved = [point], False
        else:
            curved = curved or kind == c.FPDF_SEGMENT_BEZIERTO
            points.append(point)
        if c.FPDFPathSegment_GetClose(segment) and points:
            points.append(points[0])
    if len(points) > 1 and not curved:
        found.append(points)
    return found


def _is_seen(path: c.FPDF_PAGEOBJECT) -> bool:
    """Not white, not clear."""
    parts = [ctypes.c_uint(0) for _ in range(4)]
    fill, stroke = ctypes.c_int(0), ctypes.c_int(0)
    c.FPDFPath_GetDrawMode(path, fill, stroke)
    colours = []
    if stroke.value:
        colours.append(c.FPDFPageObj_GetStrokeColor)
    if fill.value:
        colours.append(c.FPDFPageObj_GetFillColor)
    for colour in colours:
        if not colour(path, *parts):
            return True
        red, green, blue, alpha = (part.value for part in parts)
        if alpha and min(red, green, blue) < _WHITE:
            return True
    return False


def _matrix(item: c.FPDF_PAGEOBJECT) -> Matrix:
    found = c.FS_MATRIX()
    if not c.FPDFPageObj_GetMatrix(item, found):
        return _IDENTITY
    return found.a, found.b, found.c, found.d, found.e, found.f


def _times(inner: Matrix, outer: Matrix) -> Matrix:
    """First the inner, then the outer."""
    a, b, cc, d, e, f = inner
    oa, ob, oc, od, oe, of = outer
    return (
        a * oa + b * oc,
        a * ob + b * od,
        cc * oa + d * oc,
        cc * ob + d * od,
        e * oa + f * oc + oe,
        e * ob + f * od + of,
    )


def _apply(matrix: Matrix, x: float, y: float) -> tuple[float, float]:
    a, b, cc, d, e, f = matrix
    return a * x + cc * y + e, b * x + d * y + f

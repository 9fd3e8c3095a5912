"""Where the characters of a page stand: one box for each, as they are kept with the page's text.

A box is left, top, right, bottom in 65,535ths of the page as it is shown; (0, 0, 0, 0) is a character without ink.
Kept are the page's width and height in points, then the four columns one after the other, each as differences from the
character before, compressed: about two bytes a character.
"""

import struct
import sys
import zlib
from array import array
from collections.abc import Iterator, Sequence
from itertools import accumulate
from operator import sub

from services.retriever.documents import Box, Page
from services.retriever.parsing.pdf.geometry import merge_lines

FULL = 65_535
"""A box's coordinates are fractions of the shown page in this many parts, from its top left corner."""
_SIZE = struct.Struct("<ff")


def encode(boxes: Sequence[int], size: tuple[float, float]) -> bytes:
    """`boxes`: four numbers a character. `size`: the page's width and height as shown, in points."""
    packed = [_SIZE.pack(*size)]
    for column in range(4):
        values = array("i", boxes[column::4])
        deltas = values[:1] + array("i", map(sub, values[1:], values))
        if sys.byteorder == "big":
            deltas.byteswap()
        packed.append(deltas.tobytes())
    return zlib.compress(b"".join(packed))


def decode(encoded: bytes, count: int) -> tuple[list["array[int]"], tuple[float, float]]:
    """The four columns, each of `count` characters, and the page's width and height."""
    length = 4 * count
    # A parser may have been captured by a hostile file: no more is unpacked than there can be.
    packed = zlib.decompressobj().decompress(encoded, _SIZE.size + 4 * length)
    width, height = _SIZE.unpack_from(packed)
    columns = []
    for column in range(4):
        start = _SIZE.size + column * length
        deltas = array("i", packed[start : start + length])
        if sys.byteorder == "big":
            deltas.byteswap()
        columns.append(array("H", accumulate(deltas)))
    return columns, (width, height)


def regions(page: Page, start: int, end: int) -> list[Box]:
    """One rectangle for each line of the document's characters start..end that stand on this page, in reading order.

    None where the format has no geometry, or those characters no ink.
    """
    if not page.boxes:
        return []
    columns, size = decode(page.boxes, len(page.text))
    first, last = max(0, start - page.char_start), min(len(page.text), end - page.char_start)
    return merge_lines(_inked(columns, first, last), size)


def _inked(columns: Sequence[Sequence[int]], first: int, last: int) -> Iterator[Box]:
    previous = None
    for values in zip(*(column[first:last] for column in columns), strict=True):
        if values != previous and any(values):
            yield Box(*(value / FULL for value in values))
        previous = values

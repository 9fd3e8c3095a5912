"""Whether the characters of a font can be the letters that they are said to be, by how wide they are drawn.

In fonts of all kinds and in every language of Latin letters, i and l are narrow and m and w are wide. A font whose map
to Unicode is wrong, or that has none and numbers its glyphs in its own way, gives letters of the wrong widths, and
shows it in a few words. Fonts of one width show nothing.
"""

import ctypes
from collections import defaultdict
from statistics import correlation, fmean, median, pstdev

import pypdfium2.raw as c

from services.retriever.parsing.pdf import legibility
from services.retriever.parsing.pdf.glyphs import Glyphs

# Of Helvetica (the widths of the Adobe Core 14 fonts), in thousandths of the size.
_USUAL = dict(
    zip(
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ",
        (
            *(556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833),
            *(556, 556, 556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500),
            *(667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833),
            *(722, 778, 667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611),
        ),
        strict=True,
    )
)
_LEAST_LETTERS, _LEAST_CHARS = 8, 20  # Different letters, and all.
_LEAST_SPREAD = 0.12  # Of the mean width: less is a font of one width.
# How letters' widths go with the usual ones. Real fonts have 0.6 and more, mostly above 0.9; wrong maps 0.15 mostly.
_WRONG, _DOUBTFUL = 0.25, 0.5
_PAIRS = 0.5  # The least share of common pairs where the widths are in doubt.
_MOST_CHARS = 5_000  # Of a font.


def ciphered(found: Glyphs) -> set[int]:
    """The characters in fonts whose letters cannot be what they are said to be. Only while the page is open."""
    fonts, sizes = _by_font(found), _sizes(found)
    return {
        index for members in fonts.values() if _is_wrong(found, sizes, members) for index in members
    }


def _by_font(found: Glyphs) -> dict[int, list[int]]:
    """The characters of each font, by its address."""
    known: dict[int, int] = {}
    fonts: dict[int, list[int]] = defaultdict(list)
    for index, address in enumerate(found.objects):
        if not address:
            continue
        font = known.get(address)
        if font is None:
            handle = c.FPDFTextObj_GetFont(ctypes.cast(address, c.FPDF_PAGEOBJECT))
            font = known[address] = ctypes.addressof(handle.contents) if handle else 0
        fonts[font].append(index)
    return fonts


def _is_wrong(found: Glyphs, sizes: list[float], members: list[int]) -> bool:
    measured: dict[str, list[float]] = defaultdict(list)
    chars, boxes, turns = found.chars, found.boxes, found.turns
    members = members[:_MOST_CHARS]
    for index in members:
        if chars[index] in _USUAL and not turns[index] and sizes[index] > 0:
            width = boxes[4 * index + 2] - boxes[4 * index]
            measured[chars[index]].append(width / sizes[index])
    if len(measured) < _LEAST_LETTERS or sum(map(len, measured.values())) < _LEAST_CHARS:
        return False
    widths = [median(values) for values in measured.values()]
    if min(widths) < 0 or pstdev(widths) < _LEAST_SPREAD * fmean(widths):
        return False
    alike = correlation(widths, [_USUAL[letter] for letter in measured])
    if alike < _WRONG:
        return True
    return alike < _DOUBTFUL and legibility.common_pairs(_words(found, members)) < _PAIRS


def _words(found: Glyphs, members: list[int]) -> str:
    """The font's characters, with the spaces between them."""
    parts, last = [], members[0]
    for index in members:
        parts.append(" " if index > last + 1 else "")
        parts.append(found.chars[index])
        last = index
    return "".join(parts)


def _sizes(found: Glyphs) -> list[float]:
    sizes = [0.0] * len(found.chars)
    for start, end, style in found.runs:
        sizes[start:end] = [style.size] * (end - start)
    return sizes

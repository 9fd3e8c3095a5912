"""Addresses of links, written once behind the words that carry them: "The form is here (https://forms.example/7)"."""

import re
from collections.abc import Sequence

from services.retriever.parsing.pdf.geometry import Rectangle
from services.retriever.parsing.pdf.glyphs import Glyphs
from services.retriever.parsing.text import LINE_HYPHEN

Links = Sequence[tuple[list[Rectangle], str]]

_SCHEME = re.compile(r"^(?:https?://|ftp://|mailto:|tel:)?(?:www\.)?", re.IGNORECASE)
_INNER = re.compile(r"[\s\u00ad\u200b-]+")
_BUCKET = 8.0  # Points.


def of_glyphs(glyphs: Glyphs, links: Links) -> dict[int, str]:
    """The address of each character that is inside a link."""
    if not links:
        return {}
    rows: dict[int, list[int]] = {}
    boxes = glyphs.boxes
    for index, char in enumerate(glyphs.chars):
        if char > " ":
            middle = (boxes[4 * index + 1] + boxes[4 * index + 3]) / 2
            rows.setdefault(int(middle // _BUCKET), []).append(index)
    found: dict[int, str] = {}
    for rectangles, address in links:
        for left, bottom, right, top in rectangles:
            for row in range(
                int(bottom // _BUCKET), min(int(top // _BUCKET), int(bottom // _BUCKET) + 200) + 1
            ):
                for index in rows.get(row, ()):
                    x = (boxes[4 * index] + boxes[4 * index + 2]) / 2
                    y = (boxes[4 * index + 1] + boxes[4 * index + 3]) / 2
                    if left <= x <= right and bottom <= y <= top:
                        found[index] = address
    return found


def written(
    chars: list[str], sources: list[int], addresses: dict[int, str]
) -> list[tuple[int, str]]:
    """Where among raw characters an address goes, and what is written there, from the last one to the first."""
    found: list[tuple[int, str]] = []
    address, words, begun, end = "", "", 0, 0
    for at, source in enumerate([*sources, -2]):
        here = addresses.get(source, "") if source >= 0 else ""
        if not here and source != -2 and (chars[at] <= " " or chars[at] == LINE_HYPHEN):
            words += " " if address else ""
            continue
        if here != address:
            while address and end < len(chars) and chars[end].isalnum():
                end += 1  # A link's rectangle may end in a word.
            if address and not _says(words, address):
                text = f" ({address})"
                if found and found[-1][1] == text and not _has_words(chars[found[-1][0] : begun]):
                    found.pop()
                found.append((end, text))
            begun = at
            address, words = here, ""
        if address:
            words += chars[at]
            end = at + 1
    found.reverse()
    return found


def _has_words(chars: Sequence[str]) -> bool:
    return any(char.isalnum() for char in chars)


def _says(words: str, address: str) -> bool:
    """Whether the words are the address, or as much of it as makes it known."""
    bare, short = (
        _INNER.sub("", _SCHEME.sub("", text.strip().casefold())).rstrip("/.,;)")
        for text in (words, address)
    )
    bare = bare.lstrip("(<[").rstrip(">]")
    if not bare:
        return True
    if bare == short or (
        len(bare) > 7 and (short.endswith(bare) or ("/" in bare and bare in short))
    ):
        return True
    return "." in bare and "/" in bare and short.startswith(bare)

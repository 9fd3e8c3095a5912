"""The one cleaning function, for bodies, headings, titles, metadata and file names alike.

What comes out can be stored, sent and searched: no NUL, no control characters, no lone surrogates, words in one
piece, NFC. NFC and not NFKC: letters stay the ones that were printed, so that a quote is verbatim. Every cleaned
character knows the raw character that it came from, so a slice of the clean text maps back to its place on a page.
"""

import re
import unicodedata
from array import array
from collections.abc import Sequence
from dataclasses import dataclass

from services.text.invisible import CONTROLS, HIDDEN, LONE_SURROGATE

# Stands for a hyphen at a line's end together with the line break. A noncharacter: no text has it.
LINE_HYPHEN = "\ufdd0"

TITLE_CHARS = 500

_SPACE = "\\t-\\r\x1c-\x1f\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"
_NEWLINE = re.compile("\r\n|[\n-\r\x85\u2028]|(\u2029)")
# What shapes letters stays.
_UNSEEN = rf"(?:[{CONTROLS}{HIDDEN}]|{LONE_SURROGATE})"
_LETTER = r"[^\W\d_]"
_SPECIAL = re.compile(
    rf"(?P<hyphen>(?<={_LETTER})[-\u2010]{_UNSEEN}*[ \t]*\r?\n[ \t\r]*(?={_LETTER})|{LINE_HYPHEN})"
    r"|(?P<leader>(?P<dot>[._\xb7])(?:[ \xa0]{0,2}(?P=dot)){3,})"
    r"|(?P<soft>\xad[ \t]*\r?\n[ \t]*)"
    rf"|(?P<space>{_UNSEEN}*(?:[^\S ]| (?=[{_SPACE}]|{_UNSEEN}))(?:[{_SPACE}]|{_UNSEEN})*)"
    rf"|(?P<unseen>{_UNSEEN}+)"
    r"|(?P<pair>[\ud800-\udbff][\udc00-\udfff])"
    r"|(?P<ligature>[\ufb00-\ufb06\ufb13-\ufb17\ufb50-\ufbb1\ufbd3-\ufd3d\ufd50-\ufdc7\ufe70-\ufefc])"
)
_BROKEN = re.compile(rf"[{CONTROLS}]|{LONE_SURROGATE}")
_MARKS_PER_LETTER = (
    30  # Unicode's Stream-Safe Text Format (UAX 15): a run of marks never costs more than this.
)


@dataclass(frozen=True)
class Cleaned:
    """`sources[i]` is the index in the raw text of the character that gave `text[i]`; it never decreases.

    `dropped` counts characters that could not be kept: control characters and lone surrogates.
    """

    text: str
    sources: Sequence[int]
    dropped: int


def clean(raw: str) -> Cleaned:
    """Cleans a page's or a file's text. Line ends become "\\n", paragraph ends "\\n\\n", other space " "."""
    parts: list[str] = []
    sources = array("I")
    done = 0
    for match in _SPECIAL.finditer(raw):
        start, end = match.span()
        if done < start:
            parts.append(raw[done:start])
            sources.extend(range(done, start))
        done = end
        found = match.group()
        piece = _replacement(match.lastgroup or "", found, raw, start, end)
        parts.append(piece)
        sources.extend([start] * len(piece))
    parts.append(raw[done:])
    sources.extend(range(done, len(raw)))
    dropped = sum(1 for _ in _BROKEN.finditer(raw))
    text = "".join(parts)
    kept = text.strip(" \n")
    if len(kept) < len(text):
        start = len(text) - len(text.lstrip(" \n"))
        text, sources = kept, sources[start : start + len(kept)]
    if not unicodedata.is_normalized("NFC", text):
        return Cleaned(*_compose(text, sources), dropped)
    return Cleaned(text, sources, dropped)


def clean_line(raw: str, limit: int = TITLE_CHARS) -> str:
    """The same for a text of one line: a title, a heading, a file name, a metadata value."""
    # Bounded before the work as well: a title of a gigabyte is no reason to clean a gigabyte.
    return clean(raw[: 4 * limit]).text.replace("\n\n", " ").replace("\n", " ")[:limit].rstrip()


def position(sources: Sequence[int], raw_index: int) -> int:
    """The index of the first clean character that came from `raw_index` or from behind it."""
    low, high = 0, len(sources)
    while low < high:
        middle = (low + high) // 2
        if sources[middle] < raw_index:
            low = middle + 1
        else:
            high = middle
    return low


def _replacement(kind: str, found: str, raw: str, start: int, end: int) -> str:
    match kind:
        case "space":
            lines = sum(2 if match[1] else 1 for match in _NEWLINE.finditer(found))
            return (" ", "\n", "\n\n")[min(lines, 2)]
        case "hyphen":
            # A word that goes on in lower case was broken by the typesetter; "Anglo-Saxon" and "pre-1990" were not.
            broken = raw[start - 1 : start].isalpha() and raw[end : end + 1].islower()
            return "" if broken else "-"
        case "leader":
            # The dots of a table of contents and the lines of a form: each would be a token.
            return found[0] * 3
        case "pair":
            high, low = map(ord, found)
            return chr(0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00))
        case "ligature":
            return unicodedata.normalize("NFKC", found)
        case _:
            return ""


def _compose(text: str, sources: Sequence[int]) -> tuple[str, Sequence[int]]:
    """NFC, letter by letter, so that each result knows its source."""
    parts: list[str] = []
    composed = array("I")
    start = 0
    for index in range(1, len(text) + 1):
        joined = index < len(text) and _joins(text[index])
        if joined and index - start <= _MARKS_PER_LETTER:
            continue
        piece = text[start:index]
        if len(piece) > 1 or ord(piece) > 0x2FF:
            piece = unicodedata.normalize("NFC", piece)
        parts.append(piece)
        if len(piece) == index - start:
            composed.extend(sources[start:index])
        else:
            composed.extend([sources[start]] * len(piece))
        start = index
    return "".join(parts), composed


def _joins(char: str) -> bool:
    """Whether a character may combine with the one before it: marks, and the vowels and finals of Hangul."""
    if char < "\u0300":
        return False
    return unicodedata.category(char)[0] == "M" or "\u1161" <= char <= "\u11ff"

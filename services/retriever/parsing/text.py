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
# Behind a hyphen that stands for the rest of a word ("Haupt- und Nebenwege") nothing is joined.
_CONJUNCTION = r"(?:und|oder|bzw|sowie|and|or|et|ou|og|och|eller)\b"
_SPECIAL = re.compile(
    rf"(?P<hyphen>(?<={_LETTER})[-\u2010]{_UNSEEN}*[ \t]*\r?\n[ \t\r]*(?!{_CONJUNCTION})(?={_LETTER})|{LINE_HYPHEN})"
    r"|(?P<leader>(?P<dot>[._\xb7])(?:[ \xa0]{0,2}(?P=dot)){3,})"
    r"|(?P<soft>\xad[ \t]*\r?\n[ \t]*)"
    rf"|(?P<space>{_UNSEEN}*(?:[^\S ]| (?=[{_SPACE}]|{_UNSEEN}))(?:[{_SPACE}]|{_UNSEEN})*)"
    rf"|(?P<unseen>{_UNSEEN}+)"
    r"|(?P<pair>[\ud800-\udbff][\udc00-\udfff])"
    r"|(?P<ligature>[\ufb00-\ufb06\ufb13-\ufb17\ufb50-\ufbb1\ufbd3-\ufd3d\ufd50-\ufdc7\ufe70-\ufefc])"
)
_LINE_END = re.compile("\r\n|[\n-\r\x1c-\x1e\x85\u2028\u2029]")
# In preformatted text nothing else changes: spaces and tabs stand where they stood.
_KEPT_SPECIAL = re.compile(
    rf"(?P<blank>[^\S \t])|(?P<unseen>{_UNSEEN}+)|(?P<pair>[\ud800-\udbff][\udc00-\udfff])"
    r"|(?P<ligature>[\ufb00-\ufb06\ufb13-\ufb17\ufb50-\ufbb1\ufbd3-\ufd3d\ufd50-\ufdc7\ufe70-\ufefc])"
)
SUSPENDED = re.compile(_CONJUNCTION)
"""At the beginning of a line: a hyphen in front of it stays where it is."""
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


def clean(
    raw: str, preformatted: Sequence[tuple[int, int]] = (), line_hyphens: bool = False
) -> Cleaned:
    """Cleans a page's or a file's text. Line ends become "\\n", paragraph ends "\\n\\n", other space " ".

    `preformatted`: raw spans, in order, that keep the spaces and tabs in front of and between their words, and their
    hyphens and dots; of several empty lines one stays, and white space at a line's end goes.
    `line_hyphens`: a hyphen at a line's end that may be the typesetter's becomes LINE_HYPHEN, for the caller to decide;
    else a word that goes on in lower case is joined.
    """
    cleaned = _Building(raw, line_hyphens)
    done = 0
    for start, end in preformatted:
        cleaned.running(done, start)
        cleaned.kept(start, end)
        done = end
    cleaned.running(done, len(raw))
    dropped = sum(1 for _ in _BROKEN.finditer(raw))
    text, sources = "".join(cleaned.parts), cleaned.sources
    kept = text.rstrip(" \n")
    # The first line of a text may be an indented one.
    start = len(kept) - len(kept.lstrip(" \n"))
    if preformatted:
        start = min(start, position(sources, preformatted[0][0]))
    if start or len(kept) < len(text):
        text, sources = kept[start:], sources[start : len(kept)]
    if not unicodedata.is_normalized("NFC", text):
        return Cleaned(*_compose(text, sources), dropped)
    return Cleaned(text, sources, dropped)


class _Building:
    """Clean text while it grows, with the source of each character."""

    def __init__(self, raw: str, line_hyphens: bool) -> None:
        self._raw = raw
        self._line_hyphens = line_hyphens
        self.parts: list[str] = []
        self.sources = array("I")

    def _verbatim(self, start: int, end: int) -> None:
        if start < end:
            self.parts.append(self._raw[start:end])
            self.sources.extend(range(start, end))

    def _instead(self, piece: str, source: int) -> None:
        self.parts.append(piece)
        self.sources.extend([source] * len(piece))

    def running(self, start: int, end: int) -> None:
        for match in _SPECIAL.finditer(self._raw, start, end):
            self._verbatim(start, match.start())
            start = match.end()
            kind = match.lastgroup or ""
            if self._line_hyphens and kind == "hyphen":
                piece = LINE_HYPHEN
            else:
                piece = _replacement(kind, match.group(), self._raw, *match.span())
            self._instead(piece, match.start())
        self._verbatim(start, end)

    def kept(self, start: int, end: int) -> None:
        """Lines from the first to the last that is not empty."""
        ends: list[int] = []  # Of the lines since the last that is not empty.
        begun = False
        while start < end:
            match = _LINE_END.search(self._raw, start, end)
            stop, following = match.span() if match else (end, end)
            length = len(self._raw[start:stop].rstrip())
            if _KEPT_SPECIAL.sub("", self._raw[start : start + length]).strip():
                for line_end in ends[:2] if begun else ():
                    self._instead("\n", line_end)
                self._line(start, start + length)
                begun, ends = True, []
            ends.append(stop)
            start = following

    def _line(self, start: int, end: int) -> None:
        for match in _KEPT_SPECIAL.finditer(self._raw, start, end):
            self._verbatim(start, match.start())
            start = match.end()
            kind = match.lastgroup or ""
            piece = (
                " "
                if kind == "blank"
                else _replacement(kind, match.group(), self._raw, *match.span())
            )
            self._instead(piece, match.start())
        self._verbatim(start, end)


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

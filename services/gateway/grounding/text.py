"""Two views of a text: as quotes are compared, and as it is safe to show."""

import re
import unicodedata
from dataclasses import dataclass

from services.text.invisible import is_invisible, without_hidden

LIGATURES = {
    "\ufb00": "ff",
    "\ufb01": "fi",
    "\ufb02": "fl",
    "\ufb03": "ffi",
    "\ufb04": "ffl",
    "\ufb05": "st",
    "\ufb06": "st",
}
HYPHENS = frozenset("-\u2010")
# ECMA-48: control sequences, and strings such as the operating system command, up to their terminator.
ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]PX^_].*?(?:\x1b\\|\x07|$)|\x1b[ -/]*[0-~]|\x9b[0-?]*[ -/]*[@-~]",
    re.S,
)


@dataclass(frozen=True)
class Normalised:
    """A text as quotes are compared. `places[i]` is where character i of `text` stands in the original."""

    text: str
    places: tuple[int, ...]


def normalise(original: str, *, join_hyphens: bool = True) -> Normalised:
    """White space becomes one space, invisible characters go, ligatures are spelt out.

    A hyphen at a line end, before a lower-case letter, goes with its line end; with join_hyphens=False only the line
    end goes. (Whether "well-/known" is one word or two nobody can tell from the page, so both readings are tried.)
    """
    text: list[str] = []
    places: list[int] = []
    at, end = 0, len(original)
    while at < end:
        character = original[at]
        if character.isspace():
            if text and text[-1] != " ":
                text.append(" ")
                places.append(at)
        elif character in HYPHENS or character == "\u00ad":
            after = _line_end_hyphen(original, at)
            if character in HYPHENS and (after is None or not join_hyphens):
                text.append("-")
                places.append(at)
            if after is not None:
                at = after
                continue
        elif character.isascii() or not is_invisible(character):
            for letter in LIGATURES.get(character, character):
                text.append(letter)
                places.append(at)
        at += 1
    while text and text[-1] == " ":
        text.pop()
        places.pop()
    return Normalised("".join(text), tuple(places))


def _line_end_hyphen(text: str, at: int) -> int | None:
    """Where the word goes on, if the hyphen at `at` ends a line inside a word."""
    if at == 0 or not text[at - 1].isalpha():
        return None
    after, line_end = at + 1, False
    while after < len(text) and text[after].isspace():
        line_end = line_end or text[after] in "\n\r"
        after += 1
    return after if line_end and after < len(text) and text[after].islower() else None


def neutralise(text: str) -> str:
    """Without terminal escapes, control characters (but tab and line feed) and characters that hide or re-order."""
    text = ESCAPES.sub("", without_hidden(text)).replace("\r\n", "\n").replace("\r", "\n")
    return "".join(
        character
        for character in text
        if character in "\t\n" or unicodedata.category(character) not in ("Cc", "Cs")
    )

"""Characters that nobody sees, in which words can hide from a reader, a search or a check.

Sets are written as the inside of a regular expression's brackets. The base is Default_Ignorable_Code_Point of the
Unicode Character Database (DerivedCoreProperties.txt, 15.1), and the noncharacters and annotation marks beside it.
"""

import re

# Shape or join the letters beside them: joiners of Persian, Indic scripts and emoji, variants of emoji, Han and
# Mongolian letters, fillers of Hangul syllables, the grapheme joiner of Hebrew, inherent vowels of Khmer. Text that is
# stored or shown keeps them; texts are compared, and searched for hidden words, without them.
SHAPING = "\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u200c\u200d\u3164\ufe00-\ufe0f\uffa0"
# Change the order in which their neighbours are shown (UAX 9), so that a text reads otherwise than it is.
REORDERING = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
# Of the first plane, and without U+FDD0: the parsers mark a line's hyphen with it while they work.
NONCHARACTERS = "\ufdd1-\ufdef\ufffe\uffff"
# No reader misses these: soft hyphens, zero-width spaces, byte order marks, formats of music and shorthand,
# annotations, and the plane of tags and variation selectors, in which whole sentences can be hidden.
HIDDEN = (
    REORDERING
    + "\xad\u180e\u200b\u2060-\u2065\u206a-\u206f\ufeff\ufff0-\ufffb"
    + "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
    + NONCHARACTERS
)
# Control characters that are no white space.
CONTROLS = "\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f"
# Halves of a pair of UTF-16 that stand alone, each a pattern of its own; UTF-8 cannot hold them.
LONE_SURROGATE = r"[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]"

_HIDDEN = re.compile(f"[{HIDDEN}]+")
_INVISIBLE = re.compile(f"[{HIDDEN}{SHAPING}]+")


def without_hidden(text: str) -> str:
    """A text to store or to show: whatever hides in it is gone, whatever shapes letters stays."""
    return _HIDDEN.sub("", text)


def without_invisible(text: str) -> str:
    """A text to compare or to search: only what can be seen."""
    return _INVISIBLE.sub("", text)


def is_invisible(text: str) -> bool:
    """Whether all of a text is invisible; false for an empty one. White space and controls are not meant here."""
    return _INVISIBLE.fullmatch(text) is not None

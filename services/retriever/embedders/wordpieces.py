"""Tokens without the model's own tokenizer, on the side of too many, so that a window fits the model."""

import re

# A run of letters gives one piece per four characters (English averages 4 to 5 a piece), anything else one each.
_PIECE = re.compile(r"[^\W\d_]{1,4}|\d{1,2}|[^\w\s]|_")


def approximate_offsets(text: str) -> list[tuple[int, int]]:
    """The characters of each piece, end exclusive."""
    return [match.span() for match in _PIECE.finditer(text)]

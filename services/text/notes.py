"""Marks of footnotes in a text: "320[^1]", as services/retriever/parsing/marks.py writes them."""

import re

# Behind what it is a note to; "[^a-z]" and the like are something else.
_MARK = re.compile(r"(?<=\S)\[\^(?:\d{1,3}(?:-\d{1,3})?|[A-Za-z]{1,2}|[ivx]{1,5}|[^\w\s\]]{1,4})\]")


def without_marks(text: str) -> str:
    """The text for somebody who does not see the notes: "320 euros", not "320[^1] euros"."""
    return _MARK.sub("", text)

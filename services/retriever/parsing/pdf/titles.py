"""The title that a PDF's first page shows, for files that have none of their own."""

from collections.abc import Sequence

from services.retriever.parsing.pdf.page import PageText
from services.retriever.parsing.pdf.strips import body_size
from services.retriever.parsing.text import LINE_HYPHEN

_LARGER = 1.2
_MAX_LINES = 3
_MIN_LETTERS, _MAX_CHARS = 4, 150


def on_first_page(pages: Sequence[PageText]) -> list[str]:
    """The largest type of the first page that has text, if it is larger than the body's and stands in one place."""
    first = next((page for page in pages if page.lines), None)
    if first is None:
        return []
    upright = [line for line in first.lines if not line.aside]
    largest = max((line.size for line in upright), default=0.0)
    if largest < _LARGER * body_size(pages):
        return []
    at = [
        index for index, line in enumerate(first.lines) if line in upright and line.size == largest
    ]
    if len(at) > _MAX_LINES or at[-1] - at[0] != len(at) - 1:
        return []
    words = " ".join(first.text[first.lines[i].start : first.lines[i].end].strip() for i in at)
    words = words.replace(LINE_HYPHEN + " ", "").replace(LINE_HYPHEN, "")
    letters = sum(map(str.isalpha, words))
    return [words] if letters >= _MIN_LETTERS and len(words) <= _MAX_CHARS else []

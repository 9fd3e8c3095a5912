"""A question and its sources as a chat: numbered sources, the question last."""

import re
from collections.abc import Sequence
from typing import Any

from services.generator.answers import Source
from services.generator.instructions import RULES, title
from services.generator.quotes import blank, encodable
from services.text.invisible import SHAPING, without_hidden

SYSTEM = f"""{RULES}
- End every sentence with the numbers of the documents it comes from, in square brackets: [1] or [1][3]."""

# The tag that fences a document, whatever stands between its letters that a model might read over.
_FENCE = re.compile(rf"<(?=[\s/{SHAPING}]*{f'[{SHAPING}]*'.join('document')})", re.IGNORECASE)


def citable(sources: Sequence[Source]) -> list[Source]:
    """The sources that hold text; marker [n] is the n-th of these."""
    return [source for source in sources if not blank(source.text)]


def request(
    model: str, question: str, documents: Sequence[Source], max_tokens: int
) -> dict[str, Any]:
    """The arguments of chat.completions.create. `documents` are citable(...)."""
    shown = "\n\n".join(
        f'<document number="{place}" title="{title(source.title, place - 1)}">\n{_inert(source.text)}\n</document>'
        for place, source in enumerate(documents, start=1)
    )
    return {
        "model": model,
        "max_tokens": max_tokens,
        "temperature": 0,
        "messages": [
            {"role": "system", "content": SYSTEM},
            {"role": "user", "content": f"{shown}\n\nQuestion: {encodable(question)}"},
        ],
    }


def _inert(text: str) -> str:
    """The text without anything that would end its own document or open another, and without hidden characters."""
    return _FENCE.sub("‹", without_hidden(encodable(text)))

"""A question and its sources as a request: every source a plain-text document with citations, the question last."""

from collections.abc import Sequence
from typing import Any

from services.generator.answers import Source
from services.generator.instructions import RULES, title
from services.generator.quotes import blank, encodable

SYSTEM = f"{RULES}\n- Cite a document for every statement."


def citable(sources: Sequence[Source]) -> list[Source]:
    """The sources that hold text: the API refuses blank ones. document_index counts these."""
    return [source for source in sources if not blank(source.text)]


def request(
    model: str, question: str, documents: Sequence[Source], max_tokens: int
) -> dict[str, Any]:
    """The arguments of messages.create. `documents` are citable(...)."""
    content: list[dict[str, Any]] = [
        {
            "type": "document",
            "source": {"type": "text", "media_type": "text/plain", "data": encodable(source.text)},
            "title": title(source.title, place),
            "citations": {"enabled": True},
        }
        for place, source in enumerate(documents)
    ]
    content.append({"type": "text", "text": encodable(question)})
    return {
        "model": model,
        "max_tokens": max_tokens,
        "system": SYSTEM,
        "messages": [{"role": "user", "content": content}],
    }

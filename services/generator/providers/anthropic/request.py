"""A question and its sources as a request: every source a plain-text document with citations, the question last."""

from collections.abc import Sequence
from typing import Any

from services.generator.answers import Source
from services.generator.instructions import RULES, title
from services.generator.quotes import encodable

SYSTEM = f"{RULES}\n- Cite a document for every statement."


def request(
    model: str, question: str, documents: Sequence[Source], max_tokens: int
) -> dict[str, Any]:
    """The arguments of messages.create. The API refuses documents without text."""
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


def continued(sent: dict[str, Any], said: str) -> dict[str, Any]:
    """The request that goes on after a pause: what was said so far becomes the assistant's turn."""
    user = sent["messages"][0]
    said = said.rstrip()
    messages = [user, {"role": "assistant", "content": said}] if said else [user]
    return {**sent, "messages": messages}

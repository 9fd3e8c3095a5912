"""Messages of the Claude API as its documentation prints them."""

from typing import Any

START: dict[str, Any] = {
    "type": "message_start",
    "message": {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "claude-x",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {
            "input_tokens": 100,
            "output_tokens": 1,
            "cache_read_input_tokens": 40,
            "cache_creation_input_tokens": 7,
        },
    },
}
STOP = {"type": "message_stop"}


def citation(text: str, document: int, start: int, end: int) -> dict[str, Any]:
    return {
        "type": "char_location",
        "cited_text": text,
        "document_index": document,
        "document_title": "handbook",
        "start_char_index": start,
        "end_char_index": end,
    }


def block(
    index: int, text: str, *citations: dict[str, Any], citations_first: bool = False
) -> list[dict[str, Any]]:
    """One text block, in two deltas, with its citations after the text or before it."""
    half = len(text) // 2
    deltas = [{"type": "text_delta", "text": part} for part in (text[:half], text[half:])]
    cites = [{"type": "citations_delta", "citation": one} for one in citations]
    body = cites + deltas if citations_first else deltas + cites
    content: dict[str, Any] = {"type": "text", "text": ""}
    if citations:
        content["citations"] = []
    return [
        {"type": "content_block_start", "index": index, "content_block": content},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in body),
        {"type": "content_block_stop", "index": index},
    ]


def end(reason: str | None = "end_turn", output_tokens: int = 25) -> dict[str, Any]:
    return {
        "type": "message_delta",
        "delta": {"stop_reason": reason, "stop_sequence": None},
        "usage": {"output_tokens": output_tokens},
    }


def error(kind: str, message: str = "the server's words", code: str = "") -> dict[str, Any]:
    body: dict[str, Any] = {"type": kind, "message": message}
    if code:
        body["details"] = {"error_code": code}
    return {"type": "error", "error": body}

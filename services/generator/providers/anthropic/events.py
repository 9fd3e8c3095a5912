"""Reads the events of one streamed message."""

from collections.abc import Iterator
from typing import Any

from services.generator.providers import BlockEnd, Ending, Quote, Text

ENDINGS = {
    "end_turn": Ending.DONE,
    "max_tokens": Ending.TOKEN_LIMIT,
    "model_context_window_exceeded": Ending.CONTEXT_FULL,
    "refusal": Ending.REFUSED,
    "stop_sequence": Ending.STOP_SEQUENCE,
    "tool_use": Ending.TOOL,
    "pause_turn": Ending.PAUSED,
}


class EventReader:
    """Fed with events in order. An event of another form raises one of MALFORMED: the SDK checks none."""

    def __init__(self) -> None:
        self.text = ""
        self._open: int | None = None
        self._stop, self._whole = "", False

    @property
    def ending(self) -> Ending | None:
        """Why the message ended; None if message_stop or the reason never came."""
        if not self._whole or not self._stop:
            return None
        return ENDINGS.get(self._stop, Ending.UNKNOWN)

    def read(self, event: Any) -> Iterator[Text | Quote | BlockEnd]:
        """What an event says of the answer. Events of a block that nobody opened say nothing."""
        match event.type:
            case "content_block_start" if event.content_block.type == "text":
                self._open = _index(event)
                yield self._said(event.content_block.text or "")
            case "content_block_delta":
                kind = event.delta.type
                if event.index == self._open and kind == "text_delta":
                    yield self._said(event.delta.text)
                elif event.index == self._open and kind == "citations_delta":
                    yield quote(event.delta.citation)
            case "content_block_stop" if event.index == self._open:
                self._open = None
                yield BlockEnd()
            case "message_delta":
                self._stop = str(event.delta.stop_reason or self._stop)
            case "message_stop":
                self._whole = True

    def _said(self, text: str) -> Text:
        said = Text(text)
        self.text += text
        return said


def _index(event: Any) -> int:
    if type(event.index) is not int:
        raise TypeError("a block's index is a number")
    return int(event.index)


def quote(raw: Any) -> Quote:
    """A citation of the API's. What is of another form than documented quotes nothing."""
    start, end = getattr(raw, "start_char_index", None), getattr(raw, "end_char_index", None)
    document, text = getattr(raw, "document_index", None), getattr(raw, "cited_text", None)
    of_characters = getattr(raw, "type", "") == "char_location" and isinstance(text, str)
    return Quote(
        document=document if type(document) is int else -1,
        text=str(text) if of_characters else "",
        start=start if type(start) is int else 0,
        end=end if type(end) is int else 0,
    )

"""Counts tokens over the messages of one answer. The API repeats running totals within a message."""

from typing import Any

from services.generator.prices import Tokens

_FIELDS = {
    "input_tokens": "input",
    "output_tokens": "output",
    "cache_read_input_tokens": "cached_input",
    "cache_creation_input_tokens": "cache_write",
}


class TokenCount:
    """begin() for each message, note() for each usage that it reports, total() at the end."""

    def __init__(self) -> None:
        self._messages: list[dict[str, int]] = []

    def begin(self) -> None:
        self._messages.append({})

    def note(self, usage: Any) -> None:
        """A usage object of the SDK; fields that are absent keep what was known."""
        for name, kind in _FIELDS.items():
            value = getattr(usage, name, None)
            if isinstance(value, int) and value >= 0:
                self._messages[-1][kind] = value

    def note_event(self, event: Any) -> bool:
        """The usage of an event of a stream; whether it has one."""
        if event.type == "message_start":
            self.note(event.message.usage)
        elif event.type == "message_delta":
            self.note(event.usage)
        else:
            return False
        return True

    def total(self) -> Tokens:
        return Tokens(
            **{
                kind: sum(message.get(kind, 0) for message in self._messages)
                for kind in _FIELDS.values()
            }
        )

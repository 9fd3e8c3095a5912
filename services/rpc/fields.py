"""Checks of request fields that the rules in the protos cannot express."""

from datetime import date

from services.rpc.errors import InvalidArgument


def day(text: str, field: str) -> date | None:
    """A date, or none for an empty text. InvalidArgument for 2025-02-30, which the proto's pattern lets through."""
    if not text:
        return None
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise InvalidArgument.field(field, "is not a valid date") from None

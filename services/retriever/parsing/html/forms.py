"""What the fields of a form hold."""

from selectolax.lexbor import LexborNode

_VALUES = frozenset(
    ("text", "number", "date", "datetime-local", "email", "tel", "url", "time", "month", "week", "")
)
_MAX_OPTIONS = 30


def value(node: LexborNode) -> str:
    """What stands in a field of a form, or whether it is ticked."""
    attributes = node.attributes
    kind = (attributes.get("type") or "").lower()
    if kind in ("checkbox", "radio"):
        return "[x] " if "checked" in attributes else "[ ] "
    return f" {attributes.get('value') or ''} " if kind in _VALUES else ""


def options(node: LexborNode) -> str:
    """The options that are chosen; of a short list without a choice, all of them."""
    listed = node.css("option")
    chosen = [option for option in listed if "selected" in option.attributes]
    if not chosen and len(listed) <= _MAX_OPTIONS:
        chosen = listed
    return ", ".join(filter(None, (" ".join(option.text().split()) for option in chosen)))

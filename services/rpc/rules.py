"""The limits that the contract sets, read from its own rules (buf.validate), so that no number is written twice."""

from google.protobuf.message import Message

from buf.validate import validate_pb2


def max_items(message: type[Message], field: str) -> int:
    """The most values of a repeated field."""
    return _stated(message, field, _rules(message, field).repeated, "max_items")


def max_bytes(message: type[Message], field: str) -> int:
    """The longest text, in bytes of UTF-8; of a repeated field, of each of its texts."""
    rules = _rules(message, field)
    if rules.HasField("repeated"):
        rules = rules.repeated.items
    return _stated(message, field, rules.string, "max_bytes")


def most(message: type[Message], field: str) -> int:
    """The greatest value of a uint32 field."""
    return _stated(message, field, _rules(message, field).uint32, "lte")


def _rules(message: type[Message], field: str) -> validate_pb2.FieldRules:
    descriptor = message.DESCRIPTOR.fields_by_name[field]
    rules: validate_pb2.FieldRules = descriptor.GetOptions().Extensions[validate_pb2.field]
    return rules


def _stated(message: type[Message], field: str, rules: Message, name: str) -> int:
    """LookupError where the contract has no such rule: code that leans on one must not go on without."""
    if not rules.HasField(name):
        raise LookupError(f"{message.DESCRIPTOR.name}.{field} has no rule {name}")
    return int(getattr(rules, name))

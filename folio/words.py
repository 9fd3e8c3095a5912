"""The values of the contract's enums as words for people, logs and files: STEP_TOKEN_VECTORS is "token_vectors"."""

import re
from typing import Any

from google.protobuf.internal.enum_type_wrapper import EnumTypeWrapper

_CAPITAL = re.compile(r"(?<!^)(?=[A-Z])")


def word(enum: "type[Any] | EnumTypeWrapper", value: int) -> str:
    """The word for a value; "unspecified" for 0. A number that this release does not know stays a number."""
    descriptor = enum.DESCRIPTOR
    known = descriptor.values_by_number.get(value)
    if known is None:
        return str(value)
    prefix = _CAPITAL.sub("_", descriptor.name).upper() + "_"
    return str(known.name.removeprefix(prefix).lower())

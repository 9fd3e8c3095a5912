"""Other wordings of a question, for the search: from a file of synonyms, or from a model."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from services.generator.answers import NOTHING, Usage
from services.rpc.deadline import Deadline

MAX_VARIANTS = 3


class Method(Enum):
    """How a variant is made."""

    SYNONYMS = "synonyms"
    MULTI_QUERY = "multi_query"
    HYDE = "hyde"


@dataclass(frozen=True)
class Variant:
    """One other wording."""

    text: str
    method: Method


@dataclass(frozen=True)
class Expansion:
    """At most MAX_VARIANTS variants. `degraded_reason`: a method that was asked for and not done."""

    variants: tuple[Variant, ...] = ()
    usage: Usage = NOTHING
    degraded_reason: str = ""


class Expander(Protocol):
    """Never fails for want of a model: it says what it left out."""

    methods: tuple[Method, ...]

    async def expand(
        self,
        question: str,
        methods: Sequence[Method],
        limit: int,
        organization_id: int,
        deadline: Deadline,
    ) -> Expansion: ...

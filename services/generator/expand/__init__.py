"""Other wordings of a question, for the search: from a file of synonyms, or from a model."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from folio.common.v1 import query_pb2
from folio.generator.v1 import generator_pb2
from services.generator.answers import NOTHING, Usage
from services.rpc import rules
from services.rpc.deadline import Deadline
from services.rpc.providers import Worker

MAX_VARIANTS = rules.most(generator_pb2.ExpandRequest, "max_variants")


@dataclass(frozen=True)
class Variant:
    """One other wording."""

    text: str
    kind: "query_pb2.QueryKind.ValueType"


@dataclass(frozen=True)
class Expansion:
    """At most MAX_VARIANTS variants. `degraded_reason`: a kind that was asked for and not made."""

    variants: tuple[Variant, ...] = ()
    usage: Usage = NOTHING
    degraded_reason: str = ""


class Expander(Worker, Protocol):
    """Never fails for want of a model: it says what it left out."""

    kinds: "tuple[query_pb2.QueryKind.ValueType, ...]"

    async def expand(
        self,
        question: str,
        kinds: "Sequence[query_pb2.QueryKind.ValueType]",
        limit: int,
        organization_id: int,
        deadline: Deadline,
    ) -> Expansion: ...

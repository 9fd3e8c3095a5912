"""Turns the last message of a conversation into one standalone question, or into a question to ask back."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from services.generator.answers import NOTHING, Usage
from services.rpc.deadline import Deadline
from services.rpc.providers import Worker

# Only the last turns count.
MAX_TURNS = 6


@dataclass(frozen=True)
class Turn:
    """One message of a conversation."""

    from_user: bool
    text: str


@dataclass(frozen=True)
class Rewrite:
    """Either a standalone question or a clarification to ask back; the other one is empty.

    `unchanged`: it stood alone already and nothing was called. `degraded_reason`: a model failed, the rules answered.
    """

    standalone: str = ""
    clarification: str = ""
    unchanged: bool = False
    method: str = "rules"
    usage: Usage = NOTHING
    degraded_reason: str = ""


class Rewriter(Worker, Protocol):
    """`history` is oldest first."""

    async def rewrite(
        self, question: str, history: Sequence[Turn], deadline: Deadline
    ) -> Rewrite: ...

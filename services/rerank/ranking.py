"""From a model's numbers to ranked candidates."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple


class Status(Enum):
    """What became of a candidate; the values are the proto's CandidateStatus."""

    SCORED = 1
    EMPTY = 2
    NOT_FINITE = 3


@dataclass(frozen=True)
class Alignment:
    """For each query token: the document token that answered it, and their similarity."""

    document_tokens: Sequence[int]
    similarities: Sequence[float]


class CandidateScore(NamedTuple):
    """What a model says of one candidate, before ranking. `score` counts where status is SCORED.

    A tuple, as Ranked is: a hundred of each are made in every call, at a third of a dataclass's price.
    """

    score: float = 0.0
    score_per_token: float = 0.0
    status: Status = Status.SCORED
    truncated: bool = False
    alignment: Alignment | None = None

    @classmethod
    def of(cls, score: float, *, truncated: bool = False) -> "CandidateScore":
        """A pair's score as it came from a model; one that is not finite says so."""
        if not math.isfinite(score):
            return cls(status=Status.NOT_FINITE, truncated=truncated)
        return cls(score, score, truncated=truncated)


class Ranked(NamedTuple):
    """A candidate with its place in the request (`position`, from 0) and in the order (`rank`, from 1)."""

    position: int
    rank: int
    scored: CandidateScore


def rank(scores: Sequence[CandidateScore], top_n: int = 0) -> list[Ranked]:
    """The best `top_n` (0 for all) in the caller's order.

    Higher scores rank first, equal ones by position; what could not be scored comes last.
    """
    order = sorted(
        range(len(scores)),
        key=lambda index: (
            scores[index].status is not Status.SCORED,
            -scores[index].score,
            index,
        ),
    )
    kept = order[:top_n] if top_n else order
    ranked = [Ranked(index, place, scores[index]) for place, index in enumerate(kept, start=1)]
    return sorted(ranked)

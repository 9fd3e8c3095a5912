"""Decides what a question gets: an answer, an honest no, or a question back. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from services.gateway.calibration import Calibration, Signal


class Decision(StrEnum):
    """Where a question goes."""

    ANSWER = "answer"
    ABSTAIN = "abstain"
    CLARIFY = "clarify"


@dataclass(frozen=True)
class Scored:
    """What the last scoring step said of the hits, best first, and which model it was."""

    model: str
    signal: Signal
    scores: tuple[float, ...]


@dataclass(frozen=True)
class Route:
    """The decision and what it rests on. `probabilities` are per hit; empty where no calibration fits."""

    decision: Decision
    probability: float = 0.0
    threshold: float = 0.0
    probabilities: tuple[float, ...] = ()
    floor: float = 0.0
    # Why no probability could be given, if none could.
    uncalibrated: str = ""


@dataclass(frozen=True)
class Router:
    """The calibrations there are. `threshold` overrides theirs, for models that have one."""

    calibrations: Mapping[tuple[str, str], Calibration]
    threshold: float | None = None

    def decide(self, scored: Scored | None, hits: int, *, threshold: float | None = None) -> Route:
        """Routes on the top probability and on how many hits cleared the floor.

        Without hits: no. With a threshold of 0: an answer, whatever the probability. Without a calibration of the very
        model that scored, no threshold is applied: the generator reads, and the check of its answer decides.
        """
        if hits == 0:
            return Route(Decision.ABSTAIN)
        if scored is None:
            return Route(Decision.ANSWER, uncalibrated="no reranker scored the hits")
        calibration = self.calibrations.get((scored.model, scored.signal))
        if calibration is None:
            return Route(
                Decision.ANSWER,
                uncalibrated=f"no calibration for model '{scored.model}' ({scored.signal}); no threshold applied",
            )
        limit = next(
            value
            for value in (threshold, self.threshold, calibration.threshold)
            if value is not None
        )
        each = tuple(calibration.probability(score) for score in scored.scores)
        best = max(each, default=0.0)
        cleared = sum(value >= calibration.floor for value in each)
        if limit == 0 or (best >= limit and cleared >= calibration.least_above_floor):
            decision = Decision.ANSWER
        elif calibration.clarify_from is not None and best >= calibration.clarify_from:
            decision = Decision.CLARIFY
        else:
            decision = Decision.ABSTAIN
        return Route(decision, best, limit, each, calibration.floor)


def spread(
    documents: Sequence[int], limit: int, per_document: int, relevant: Sequence[bool]
) -> list[int]:
    """Which hits to keep: positions of at most `limit`, best first, few of one document.

    `documents[i]` is hit i's document. Beyond `per_document` hits of one document, a hit gives way to relevant hits
    of other documents, and only to those: where one document alone knows, it keeps all the places.
    """
    counts: dict[int, int] = {}
    first: list[int] = []
    deferred: list[int] = []
    for position, document in enumerate(documents):
        counts[document] = counts.get(document, 0) + 1
        welcome = relevant[position] and not 0 < per_document < counts[document]
        (first if welcome else deferred).append(position)
    kept = first[:limit] + deferred[: max(0, limit - len(first))]
    return sorted(kept)

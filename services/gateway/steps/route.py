"""Decides where a question goes, and with which of its hits."""

from dataclasses import dataclass, replace

from folio.common.v1 import step_pb2
from services.gateway.hits import Hits
from services.gateway.request import Call
from services.gateway.route import Decision, Route, Router, spread


@dataclass(frozen=True)
class Routed:
    """The decision, the hits to go on with, and the probability that they answer against its threshold."""

    decision: Decision
    hits: Hits
    probability: float
    threshold: float


def route(call: Call, router: Router, hits: Hits) -> Routed:
    """See route.Router."""
    with call.report.step(step_pb2.STEP_ROUTE) as step:
        found = router.decide(hits.scored, len(hits), threshold=call.plan.answer_threshold)
        step.model = hits.scored.model if hits.scored else ""
        step.reason = str(found.decision)
        if found.uncalibrated:
            step.degrade(found.uncalibrated)
    return Routed(found.decision, kept(call, found, hits), found.probability, found.threshold)


def kept(call: Call, route: Route, hits: Hits) -> Hits:
    """As many hits as the plan keeps, few of one document where others are relevant too, with their probabilities."""
    known = route.probabilities
    positions = spread(
        [hit.chunk.document_id for hit in hits.items],
        call.plan.kept,
        # Without probabilities nobody knows what is relevant, and the order stays as it is.
        call.settings.max_per_document if known else 0,
        [_is_welcome(hits, position, p >= route.floor) for position, p in enumerate(known)]
        if known
        else [True] * len(hits),
    )
    chosen = hits.at(positions)
    if not known:
        return chosen
    items = (
        replace(hit, probability=known[position])
        for hit, position in zip(chosen.items, positions, strict=True)
    )
    return replace(chosen, items=tuple(items))


def _is_welcome(hits: Hits, position: int, relevant: bool) -> bool:
    """Relevant, named by its code, or found by words alone where meaning was scored: nobody scored that one."""
    unscored = (
        hits.scored is not None
        and hits.scored.signal == "dense_score"
        and hits.scored.scores[position] == 0.0
    )
    return relevant or unscored or hits.items[position].named

"""Thresholds from .1 to .9: what is answered falsely and what is left unanswered at each; and the calibration file.

A run that answers whatever the probability (question.ALWAYS) holds all that a sweep needs: below a threshold a question
is abstained, from it on it has the score that its answer got. A run that only searches shows the route alone. The
probability is fitted on the very run, five-fold: a question's own label is not in the fit that gives its probability.
"""

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import numpy as np

from evals.records import Record
from evals.scoring.answers import ABSTAINED, CORRECT, NO_ANSWER, WRONG, Rates, rates
from evals.training.platt import fit
from services.gateway.calibration import Calibration, sigmoid
from services.rpc.errors import FailedPrecondition

THRESHOLDS = tuple(round(0.1 * step, 1) for step in range(1, 10))
FOLDS = 5


@dataclass(frozen=True)
class Signal:
    """What one question gave a calibration: the top hit's signal, and whether the documents answer the question."""

    record: Record
    value: float
    answerable: bool


@dataclass(frozen=True)
class Point:
    """The rates at one threshold."""

    threshold: float
    rates: Rates


@dataclass(frozen=True)
class Sweep:
    """Of one model. `isotonic` are (signal, probability) steps: the shape that Platt's curve is held against."""

    model: str
    signal: str
    calibration: Calibration
    points: tuple[Point, ...]
    brier_platt: float
    brier_isotonic: float
    isotonic: tuple[tuple[float, float], ...]
    # No answers were made: what would be answered counts as answered rightly.
    route_only: bool = False


def sweep(records: Sequence[Record], dataset: str, *, false_answer_cost: float = 1.0) -> Sweep:
    """Fits and sweeps. The threshold chosen is the least of a fine grid that makes false_answer_cost * false-answer
    rate + over-abstention rate + wrong-answer rate least.

    FailedPrecondition where the records have no signal, signals of several models, or only one kind of question.
    """
    signals = [found for record in records if (found := _signal(record))]
    models = {(s.record.rankings[-1].model, s.record.rankings[-1].signal) for s in signals}
    if len(models) != 1:
        told = ", ".join(f"{model} ({signal})" for model, signal in sorted(models)) or "none"
        raise FailedPrecondition(
            f"a sweep needs one scoring model with signals in its trace; these records have: {told}"
        )
    if len({s.answerable for s in signals}) != 2:
        raise FailedPrecondition(
            "a sweep needs questions that the documents answer and ones that they do not; add cases"
        )
    ((model, signal),) = models
    values = [s.value for s in signals]
    labels = [s.answerable for s in signals]
    slope, intercept = fit(values, labels)
    platt = _held_out(signals)
    stairs = isotonic(values, labels)
    fine = [round(0.01 * step, 2) for step in range(1, 100)]
    curve = {limit: at_threshold(signals, platt, limit) for limit in {*fine, *THRESHOLDS}}
    return Sweep(
        model,
        signal,
        Calibration(
            model=model,
            signal=signal,
            slope=slope,
            intercept=intercept,
            threshold=min(fine, key=lambda limit: (cost(curve[limit], false_answer_cost), limit)),
            dataset=dataset,
            date=date.today().isoformat(),
            questions=len(signals),
        ),
        tuple(Point(limit, curve[limit]) for limit in THRESHOLDS),
        brier(platt, labels),
        brier([_step(stairs, value) for value in values], labels),
        tuple(stairs),
        route_only=all(s.record.score in NO_ANSWER for s in signals),
    )


def at_threshold(signals: Sequence[Signal], probabilities: Sequence[float], limit: float) -> Rates:
    """The rates if everything below the limit were abstained."""
    scored = []
    for signal, probability in zip(signals, probabilities, strict=True):
        expect, score = signal.record.expect, signal.record.score
        if score in NO_ANSWER:
            # No answer was made: what would be answered counts as a right one where there is one.
            score = CORRECT if signal.answerable else WRONG
        if probability < limit:
            score = ABSTAINED if expect in ("answer", "clarify") else CORRECT
        scored.append((expect, score))
    return rates(scored)


def cost(found: Rates, false_answer_cost: float) -> float:
    """What a threshold costs: falsely answered, left unanswered, answered wrongly."""
    return (
        false_answer_cost * (found.false_answer_rate or 0.0)
        + (found.over_abstention_rate or 0.0)
        + (found.wrong_answer_rate or 0.0)
    )


def isotonic(values: Sequence[float], labels: Sequence[bool]) -> list[tuple[float, float]]:
    """(least value, probability) of each step of the increasing least-squares fit, by pooling adjacent violators.

    Source: Ayer et al. (1955). ValueError for no values.
    """
    if not values:
        raise ValueError("there is nothing to fit")
    blocks: list[list[float]] = []
    for value, label in sorted(zip(values, labels, strict=True)):
        if blocks and blocks[-1][0] == value:
            blocks[-1][1] += label
            blocks[-1][2] += 1
        else:
            blocks.append([value, float(label), 1.0])
        while len(blocks) > 1 and blocks[-2][1] / blocks[-2][2] >= blocks[-1][1] / blocks[-1][2]:
            _, total, count = blocks.pop()
            blocks[-1][1] += total
            blocks[-1][2] += count
    return [(least, total / count) for least, total, count in blocks]


def brier(probabilities: Sequence[float], labels: Sequence[bool]) -> float:
    """Mean squared error of probabilities: 0 is perfect, .25 is a coin."""
    return float(np.mean((np.asarray(probabilities) - np.asarray(labels, dtype=float)) ** 2))


def write_calibration(folder: Path, calibration: Calibration) -> Path:
    """Writes it where the gateway reads: over the file of the same model and signal, else into one named for them.

    The gateway refuses two sweeps of one model. FailedPrecondition for a file there that is no calibration.
    """
    kept = "".join(c if c.isalnum() or c in "-." else "-" for c in calibration.model).strip("-.")
    path = folder / f"{kept}.{calibration.signal}.json"
    for other in sorted(folder.glob("*.json")):
        try:
            known = Calibration.model_validate_json(other.read_bytes())
        except ValueError:
            raise FailedPrecondition(
                f"{other} is not a calibration; repair it or remove it"
            ) from None
        if (known.model, known.signal) == (calibration.model, calibration.signal):
            path = other
    path.write_text(calibration.model_dump_json(indent=2) + "\n", encoding="utf-8")
    return path


def _signal(record: Record) -> Signal | None:
    if record.failed or not record.rankings or not record.rankings[-1].signals:
        return None
    value = record.rankings[-1].signals[0]
    if record.expect == "clarify" or not math.isfinite(value):
        return None
    return Signal(record, value, record.expect == "answer")


def _held_out(signals: Sequence[Signal]) -> list[float]:
    """Platt's probability of each question from a fit without its fold; folds by the hash of the question's id."""
    folds = [
        int(hashlib.sha256(s.record.case.encode()).hexdigest(), 16) // 5 % FOLDS for s in signals
    ]
    found = [0.0] * len(signals)
    for fold in range(FOLDS):
        rest = [s for s, own in zip(signals, folds, strict=True) if own != fold]
        try:
            slope, intercept = fit([s.value for s in rest], [s.answerable for s in rest])
        except ValueError:
            raise FailedPrecondition(
                f"{len(signals)} questions are too few to fit five-fold; add cases of both kinds"
            ) from None
        for position, own in enumerate(folds):
            if own == fold:
                found[position] = sigmoid(slope * signals[position].value + intercept)
    return found


def _step(stairs: Sequence[tuple[float, float]], value: float) -> float:
    return next((p for least, p in reversed(stairs) if value >= least), stairs[0][1])

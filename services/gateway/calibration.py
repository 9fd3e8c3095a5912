"""From a model's score to the probability that the documents answer: Platt scaling, one file per model.

A file is JSON with the fields of Calibration below. A threshold holds only for the model that it was swept with, so a
model without a file has no probability, and the route says so instead of guessing.

Source: J. Platt, Probabilistic Outputs for Support Vector Machines (1999); H.-T. Lin, C.-J. Lin, R. Weng, A Note on
Platt's Probabilistic Outputs (2007).
"""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from services.rpc.errors import FailedPrecondition

MAX_STEPS = 100


class Calibration(BaseModel):
    """P(answerable | score) = 1 / (1 + exp(-(slope * score + intercept))), and the thresholds of the sweep."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: str = Field(min_length=1)
    signal: Literal["score_per_token", "score", "dense_score"]
    slope: float = Field(gt=0, allow_inf_nan=False)
    intercept: float = Field(allow_inf_nan=False)
    threshold: float = Field(ge=0, le=1, description="answer from this probability on")
    floor: float = Field(0.0, ge=0, le=1, description="a hit clears the floor from here on")
    least_above_floor: int = Field(1, ge=0, description="hits that must clear the floor")
    clarify_from: float | None = Field(
        None, ge=0, le=1, description="below the threshold but above this: ask back; null: never"
    )
    dataset: str = Field(description="what it was fitted on")
    date: str = Field(description="when, ISO 8601")
    questions: int = Field(0, ge=0, description="how many")

    def probability(self, score: float) -> float:
        return sigmoid(self.slope * score + self.intercept)


def sigmoid(value: float) -> float:
    """1 / (1 + exp(-value)), without overflow."""
    if value >= 0:
        return 1.0 / (1.0 + math.exp(-value))
    return math.exp(value) / (1.0 + math.exp(value))


def load(folder: Path) -> dict[tuple[str, str], Calibration]:
    """All calibrations of a folder, by (model, signal). FailedPrecondition names a file that is wrong."""
    found: dict[tuple[str, str], Calibration] = {}
    if not folder.is_dir():
        raise FailedPrecondition("FOLIO_CALIBRATION is not a folder")
    for path in sorted(folder.glob("*.json")):
        try:
            calibration = Calibration.model_validate_json(path.read_bytes())
        except ValidationError as error:
            first = error.errors(include_input=False, include_url=False)[0]
            where = ".".join(str(part) for part in first["loc"])
            raise FailedPrecondition(f"calibration {path.name}: {where}: {first['msg']}") from None
        key = (calibration.model, calibration.signal)
        if key in found:
            raise FailedPrecondition(
                f"calibration {path.name}: '{key[0]}' has two sweeps; keep one"
            )
        found[key] = calibration
    return found


def fit(scores: Sequence[float], labels: Sequence[bool]) -> tuple[float, float]:
    """(slope, intercept) of Platt scaling, by Newton's method with backtracking on smoothed targets.

    Scores are standardised inside, so that their scale does not matter. ValueError without both labels.
    """
    positives = sum(labels)
    negatives = len(labels) - positives
    if len(scores) != len(labels) or not positives or not negatives:
        raise ValueError("a fit needs as many labels as scores, and both kinds of them")
    mean = math.fsum(scores) / len(scores)
    spread = math.sqrt(math.fsum((s - mean) ** 2 for s in scores) / len(scores)) or 1.0
    points = [(s - mean) / spread for s in scores]
    high, low = (positives + 1) / (positives + 2), 1 / (negatives + 2)
    targets = [high if label else low for label in labels]
    slope, intercept = 0.0, math.log((positives + 1) / (negatives + 1))
    loss = _loss(points, targets, slope, intercept)
    for _ in range(MAX_STEPS):
        step = _newton_step(points, targets, slope, intercept)
        scale = 1.0
        while scale > 1e-10:
            tried = _loss(points, targets, slope + scale * step[0], intercept + scale * step[1])
            if tried <= loss:
                break
            scale /= 2
        slope, intercept = slope + scale * step[0], intercept + scale * step[1]
        if loss - tried < 1e-12:
            break
        loss = tried
    return slope / spread, intercept - slope * mean / spread


def _newton_step(
    points: Sequence[float], targets: Sequence[float], slope: float, intercept: float
) -> tuple[float, float]:
    gradient_a = gradient_b = aa = ab = bb = 0.0
    for point, target in zip(points, targets, strict=True):
        p = sigmoid(slope * point + intercept)
        weight = p * (1 - p)
        gradient_a += (p - target) * point
        gradient_b += p - target
        aa += weight * point * point
        ab += weight * point
        bb += weight
    aa, bb = aa + 1e-12, bb + 1e-12
    determinant = aa * bb - ab * ab
    return (
        -(bb * gradient_a - ab * gradient_b) / determinant,
        -(aa * gradient_b - ab * gradient_a) / determinant,
    )


def _loss(
    points: Sequence[float], targets: Sequence[float], slope: float, intercept: float
) -> float:
    total = 0.0
    for point, target in zip(points, targets, strict=True):
        value = slope * point + intercept
        # log(1 + exp(-v)) + (1 - t) v, for either sign of v.
        total += math.log1p(math.exp(-abs(value))) + max(-value, 0.0) + (1 - target) * value
    return total

"""From a model's score to the probability that the documents answer: Platt scaling, one file per model.

A file is JSON with the fields of Calibration below. A threshold holds only for the model that it was swept with, so a
model without a file has no probability, and the route says so instead of guessing.

The fit is evals/training/platt.py, which `folio eval sweep --write` runs.
"""

import math
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from services.rpc.errors import FailedPrecondition

# Which of a model's numbers is read.
Signal = Literal["score_per_token", "score", "dense_score"]


class Calibration(BaseModel):
    """P(answerable | score) = 1 / (1 + exp(-(slope * score + intercept))), and the thresholds of the sweep."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    model: str = Field(min_length=1)
    signal: Signal
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

"""Two logistic regressions: which sentence answers best, and whether it answers at all.

The coefficients stand in coefficients.json with the data, the seed and the scores of the fit, which is
evals/training/fit_extractive.py.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources

import numpy as np
from numpy.typing import NDArray

from services.generator.extractive.features import ANSWER_FEATURES, SENTENCE_FEATURES
from services.rpc.errors import Internal


@dataclass(frozen=True)
class Logistic:
    """P(yes) = 1 / (1 + exp(-(weights . x + bias)))."""

    weights: NDArray[np.float64]
    bias: float

    def logits(self, features: NDArray[np.float64]) -> NDArray[np.float64]:
        """(n,) for (n, features); one for one row."""
        result: NDArray[np.float64] = features @ self.weights + self.bias
        return result

    def probability(self, features: NDArray[np.float64]) -> float:
        """Of one row."""
        return float(1 / (1 + np.exp(-(features @ self.weights + self.bias))))


@dataclass(frozen=True)
class Coefficients:
    """`sentence` ranks, `answer` is calibrated."""

    sentence: Logistic
    answer: Logistic
    threshold: float


@cache
def coefficients() -> Coefficients:
    """The fitted ones."""
    data = json.loads(resources.files(__package__).joinpath("coefficients.json").read_text())
    return Coefficients(
        sentence=_logistic(data["sentence"], SENTENCE_FEATURES),
        answer=_logistic(data["answer"], ANSWER_FEATURES),
        threshold=float(data["threshold"]),
    )


def _logistic(data: dict[str, float], names: Sequence[str]) -> Logistic:
    if set(data) != {*names, "bias"}:
        raise Internal(
            "coefficients.json does not fit the features; run evals/training/fit_extractive.py"
        )
    return Logistic(np.array([data[name] for name in names]), data["bias"])

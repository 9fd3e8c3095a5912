"""Platt scaling: the slope and the intercept that turn a model's score into the probability that the documents answer.

Source: J. Platt, Probabilistic Outputs for Support Vector Machines (1999); H.-T. Lin, C.-J. Lin, R. Weng, A Note on
Platt's Probabilistic Outputs (2007).
"""

import math
from collections.abc import Sequence

from services.gateway.calibration import sigmoid

MAX_STEPS = 100


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

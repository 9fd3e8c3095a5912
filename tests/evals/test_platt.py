"""The fit of a calibration, on curves whose numbers are known."""

import math
import random

import pytest

from evals.training.platt import fit
from services.gateway.calibration import sigmoid


def test_the_fit_finds_the_curve_that_made_the_labels() -> None:
    chance = random.Random(1)
    scores = [chance.uniform(-4, 4) for _ in range(20_000)]
    labels = [chance.random() < sigmoid(1.5 * score - 0.7) for score in scores]
    slope, intercept = fit(scores, labels)
    assert slope == pytest.approx(1.5, abs=0.1)
    assert intercept == pytest.approx(-0.7, abs=0.1)


def test_the_fit_of_separated_scores_is_finite_and_needs_both_labels() -> None:
    """Platt's smoothed targets: perfect separation must not send the slope to infinity."""
    slope, intercept = fit([0.1, 0.2, 0.8, 0.9], [False, False, True, True])
    assert math.isfinite(slope)
    assert math.isfinite(intercept)
    assert sigmoid(slope * 0.9 + intercept) > 0.5 > sigmoid(slope * 0.1 + intercept)
    with pytest.raises(ValueError, match="both kinds"):
        fit([0.1, 0.2], [True, True])


def test_the_fit_does_not_depend_on_the_scale_of_the_scores() -> None:
    scores = [0.1, 0.4, 0.35, 0.8, 0.7, 0.2]
    labels = [False, False, True, True, True, False]
    slope, intercept = fit(scores, labels)
    scaled_slope, scaled_intercept = fit([1000 * score + 7 for score in scores], labels)
    assert 1000 * scaled_slope == pytest.approx(slope, rel=1e-4)
    assert scaled_intercept + 7 * scaled_slope == pytest.approx(intercept, rel=1e-4)

"""Paired comparison with bootstrap intervals."""

import numpy as np
import pytest

from evals.scoring.stats import compare, interval, percentile


def test_better_worse_and_same_are_counted_per_question() -> None:
    a = {"q1": 0.0, "q2": 1.0, "q3": 0.5, "q4": 0.2, "only-a": 1.0}
    b = {"q1": 1.0, "q2": 0.5, "q3": 0.5, "q4": 0.4, "only-b": 1.0}
    found = compare(a, b)
    assert (found.better, found.worse, found.same) == (2, 1, 1)
    assert (found.only_a, found.only_b) == (1, 1)
    assert found.difference.mean == pytest.approx(0.175)
    assert found.verdict == "no difference shown"


def test_a_clear_gain_has_an_interval_above_zero_and_its_mirror_below() -> None:
    generator = np.random.default_rng(3)
    a = {f"q{n}": value for n, value in enumerate(generator.uniform(0, 0.5, 80))}
    b = {name: value + 0.2 + 0.05 * generator.standard_normal() for name, value in a.items()}
    assert compare(a, b).verdict == "better"
    assert compare(b, a).verdict == "worse"


def test_the_interval_is_near_the_normal_one_and_repeats() -> None:
    values = np.random.default_rng(5).normal(0.3, 1.0, 400)
    first, second = interval(values), interval(values)
    assert first == second
    half = 1.96 * values.std(ddof=1) / np.sqrt(values.size)
    assert first.low == pytest.approx(values.mean() - half, abs=0.1 * half)
    assert first.high == pytest.approx(values.mean() + half, abs=0.1 * half)


def test_no_spread_gives_a_point() -> None:
    assert (interval(np.full(9, 0.25)).low, interval(np.full(9, 0.25)).high) == (0.25, 0.25)


def test_what_cannot_be_measured_is_refused() -> None:
    with pytest.raises(ValueError, match="share no question"):
        compare({"a": 1.0}, {"b": 1.0})
    with pytest.raises(ValueError, match="not a finite number"):
        interval(np.array([0.1, np.nan]))
    with pytest.raises(ValueError, match="1,000 or more"):
        interval(np.array([0.1, 0.2]), resamples=100)


def test_percentiles_by_nearest_rank() -> None:
    assert percentile([3.0, 1.0, 2.0, 4.0], 0.5) == 2.0
    assert percentile([float(n) for n in range(1, 101)], 0.95) == 95.0
    assert percentile([], 0.5) == 0.0

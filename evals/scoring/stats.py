"""Is B better than A? Paired over the same questions: counts, and a bootstrap interval of the mean difference."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.stats import bootstrap

RESAMPLES = 2_000
CONFIDENCE = 0.95
SEED = 20_240_607
# Differences below this are rounding, not a change.
SAME = 1e-9


@dataclass(frozen=True)
class Interval:
    """A mean with its 95% bootstrap interval; low and high equal the mean where there is no spread."""

    mean: float
    low: float
    high: float
    count: int


@dataclass(frozen=True)
class Comparison:
    """B against A over the questions that both have: how many got better, worse, stayed, and by how much."""

    difference: Interval
    better: int
    worse: int
    same: int
    only_a: int
    only_b: int

    @property
    def verdict(self) -> str:
        """ "better" or "worse" where the interval leaves out 0, else "no difference shown"."""
        if self.difference.low > 0:
            return "better"
        return "worse" if self.difference.high < 0 else "no difference shown"


def interval(values: np.ndarray, *, resamples: int = RESAMPLES) -> Interval:
    """Mean of (n,) values with the percentile bootstrap interval (Efron, 1979), fixed seed.

    ValueError for no values, values that are not finite or fewer than 1,000 resamples.
    """
    if resamples < 1_000:
        raise ValueError(f"{resamples} resamples are too few for a 95% interval; use 1,000 or more")
    if values.size == 0:
        raise ValueError("there is nothing to average: no question was measured")
    if not np.isfinite(values).all():
        raise ValueError("a measured value is not a finite number")
    mean = float(values.mean())
    if values.size == 1 or np.ptp(values) == 0:
        return Interval(mean, mean, mean, values.size)
    found = bootstrap(
        (values,),
        np.mean,
        n_resamples=resamples,
        confidence_level=CONFIDENCE,
        method="percentile",
        rng=np.random.default_rng(SEED),
        batch=500,
    ).confidence_interval
    return Interval(mean, float(found.low), float(found.high), values.size)


def compare(a: Mapping[str, float], b: Mapping[str, float]) -> Comparison:
    """B minus A per question. ValueError if they share no question."""
    shared = sorted(a.keys() & b.keys())
    if not shared:
        raise ValueError(
            "the two runs share no question that both measured; compare runs of one set"
        )
    differences = np.array([b[name] - a[name] for name in shared], dtype=np.float64)
    return Comparison(
        interval(differences),
        better=int((differences > SAME).sum()),
        worse=int((differences < -SAME).sum()),
        same=int((np.abs(differences) <= SAME).sum()),
        only_a=len(a) - len(shared),
        only_b=len(b) - len(shared),
    )


def percentile(values: list[float], share: float) -> float:
    """The value at a share (0 to 1) of the sorted values, by nearest rank; 0 for none."""
    ordered = sorted(values)
    if not ordered:
        return 0.0
    return ordered[max(0, int(np.ceil(share * len(ordered))) - 1)]

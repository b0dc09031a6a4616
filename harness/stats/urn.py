"""Is the urn well mixed: which way of sampling explains how much a rate varies from trial to trial.

After "Is the Urn Well-Mixed?" (2004), section 3: repeat an experiment, compare the variance of its results with what
each design predicts from within the trials, and reject the designs that do not fit. The paper compares by eye; here a
prediction is compatible when it lies in the chi-square interval of the observed variance.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from harness.stats.designs import Weights, design_variances_all
from harness.stats.rates import Interval

__all__ = ["Urn", "urn", "variance_interval"]


@dataclass(frozen=True, slots=True)
class Urn:
    """The variance of the trials' means, its interval, and the mean prediction of each design."""

    trials: int
    sample_variance: float
    interval: Interval
    st: float
    srs: float
    cl: float
    compatible: tuple[str, ...]


def urn(values: npt.ArrayLike, groups: npt.ArrayLike, *, weights: Weights = "cases", confidence: float = 0.95) -> Urn:
    """Test the designs on an (n cases, trials) table whose rows are grouped alike in every trial.

    Trials must not share cases. Whether the groups of a trial are those of the other trials (the same subjects again)
    or others of their kind is what decides between `st` and `cl`.
    """
    table = np.asarray(values, dtype=np.float64)
    if table.ndim != 2 or table.shape[1] < 2:
        raise ValueError(f"values have shape {table.shape}, expected (cases, trials) with two trials at least")
    predicted = design_variances_all(table, groups, weights=weights)
    variance = float(predicted.mean.var(ddof=1))
    interval = variance_interval(variance, table.shape[1] - 1, confidence=confidence)
    means = {name: float(getattr(predicted, name).mean()) for name in ("st", "srs", "cl")}
    fits = tuple(name for name, value in means.items() if interval.low <= value <= interval.high)
    return Urn(table.shape[1], variance, interval, **means, compatible=fits)


def variance_interval(variance: float, df: int, *, confidence: float = 0.95) -> Interval:
    """Chi-square interval of a variance with these degrees of freedom, for values near enough to normal."""
    from scipy.special import chdtri

    if not (variance >= 0 and df > 0 and 0 < confidence < 1):
        raise ValueError(f"variance {variance!r}, {df!r} degrees of freedom, confidence {confidence!r}: out of range")
    tail = (1 - confidence) / 2
    return Interval(float(df * variance / chdtri(df, tail)), float(df * variance / chdtri(df, 1 - tail)))

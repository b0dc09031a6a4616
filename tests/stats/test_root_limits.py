"""Limits of a root mean square: chi-square for normal errors of known mean, and coverage by simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import chi2

from harness.stats.arrays import FloatArray
from harness.stats.limits import root_mean_square_limits
from harness.stats.replication.estimates import make_estimates
from harness.stats.replication.sample import make_sample
from harness.stats.replication.statistic import SmoothFormula
from tests.simulation import experiments, slack


def test_with_many_degrees_of_freedom_they_are_those_of_a_normal_deviation() -> None:
    """With the standard error that normal errors have, value / sqrt(2 n), and known: n m / sigma^2 is chi-square."""
    n, value = 40, 3.0
    limits = root_mean_square_limits(value, value / math.sqrt(2 * n), math.inf)
    expected = [value * math.sqrt(n / chi2.ppf(p, n)) for p in (0.975, 0.025)]
    assert [float(limits.low), float(limits.high)] == pytest.approx(expected, rel=1e-9)
    assert float(root_mean_square_limits(value, 0.3, 5).high) > float(root_mean_square_limits(value, 0.3, 50).high)


def test_without_variance_they_are_the_value() -> None:
    limits = root_mean_square_limits([0.0, 2.0], 0.0, 9)
    assert limits.low.tolist() == limits.high.tolist() == [0.0, 2.0]


def test_an_estimate_has_them() -> None:
    errors = np.random.default_rng(1).normal(size=30)
    columns = np.column_stack([errors**2, np.ones(30)])
    root = SmoothFormula(columns, (0.0, math.inf), formula=lambda t: (t[..., 0] / t[..., 1]) ** 0.5, parts=2, root=True)
    one = make_estimates(make_sample(30), root).estimate(0)
    assert one.interval is not None
    expected = root_mean_square_limits(one.value, one.se, 29)
    assert (one.interval.low, one.interval.high) == (float(expected.low), float(expected.high))
    wider = one.at(0.99)
    assert wider is not None
    assert wider.low < one.interval.low < one.value < one.interval.high < wider.high


def squares(kind: str, rng: np.random.Generator, shape: tuple[int, int]) -> tuple[FloatArray, float]:
    """Squared errors of units, and the root of their mean."""
    if kind == "normal":
        return rng.normal(size=shape) ** 2, 1.0
    if kind == "laplace":
        return rng.laplace(size=shape) ** 2, math.sqrt(2)
    if kind == "uniform":
        return rng.uniform(-1, 1, size=shape) ** 2, math.sqrt(1 / 3)
    # Units of five cases with an intraclass correlation of 0.3.
    shared = rng.normal(size=(*shape, 1))
    return ((math.sqrt(0.7) * rng.normal(size=(*shape, 5)) + math.sqrt(0.3) * shared) ** 2).mean(axis=2), 1.0


# As in docs/explanation/coverage.md; the limits of tails heavier than normal are too narrow with few units.
@pytest.mark.parametrize(
    ("kind", "units", "coverage"),
    [("normal", 10, 92.9), ("normal", 20, 93.1), ("normal", 50, 94.1), ("normal", 200, 94.7),
     ("clusters", 10, 93.9), ("clusters", 20, 93.9), ("clusters", 40, 94.4), ("uniform", 10, 95.0),
     ("laplace", 20, 89.0), ("laplace", 50, 91.3), ("laplace", 200, 93.1)],
)  # fmt: skip
@experiments(40_000, quick=2_000)
def test_coverage(kind: str, units: int, coverage: float, experiments: int) -> None:
    values, truth = squares(kind, np.random.default_rng([units, len(kind)]), (experiments, units))
    mean, error = values.mean(axis=1), values.std(axis=1, ddof=1) / math.sqrt(units)
    root = np.sqrt(mean)
    limits = root_mean_square_limits(root, error / (2 * root), units - 1)
    inside = 100 * ((limits.low <= truth) & (truth <= limits.high)).mean()
    assert inside == pytest.approx(coverage, abs=slack(0.5, full=40_000, experiments=experiments))

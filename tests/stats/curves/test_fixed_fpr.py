"""Bands at a fixed false-positive rate, against a step-by-step computation, invariances, and coverage."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

from harness.stats.curves.bands import fixed_fpr_bands
from harness.stats.curves.scores import ScoredCases, make_scored_cases
from harness.stats.rates import clopper_pearson, wilson
from harness.stats.replication.sample import make_sample

GRID = [0.0, 0.01, 0.1, 0.3, 1.0]


def drawn(seed: int, n: int = 60, shift: float = 1.5) -> ScoredCases:
    rng = np.random.default_rng(seed)
    positive = np.arange(2 * n) < n
    return make_scored_cases(rng.normal(size=2 * n) + shift * positive, positive)


def test_both_sources_are_added_in_quadrature() -> None:
    cases = drawn(1, n=100)
    positives, negatives = cases.better[cases.positive], np.sort(cases.better[~cases.positive])[::-1]

    def curve(fpr: float) -> float:
        return float(np.interp(fpr, np.arange(1, 101) / 100, [(positives >= q).mean() for q in negatives]))

    tpr, at = curve(0.2), wilson(20, 100)
    own, exact = wilson(tpr * 100, 100), clopper_pearson(tpr * 100, 100)
    below = np.hypot(tpr - min(own.low, exact.low), tpr - curve(at.low))
    above = np.hypot(own.high - tpr, curve(at.high) - tpr)
    result = fixed_fpr_bands(cases, None, 0.2)
    assert tpr > 0.5
    assert (result.low[0], result.high[0]) == pytest.approx((tpr - below, tpr + above), abs=1e-9)
    assert result.tpr[0] == pytest.approx((positives > negatives[20]).mean())


def test_only_the_order_of_scores_counts() -> None:
    cases = drawn(2)
    turned = make_scored_cases(-np.exp(cases.better), cases.positive, larger_is_better=False)
    one, other = fixed_fpr_bands(cases, None, GRID), fixed_fpr_bands(turned, None, GRID)
    assert one.low == pytest.approx(other.low)
    assert one.high == pytest.approx(other.high)


def test_cases_as_units_are_independent() -> None:
    cases = drawn(3, n=2000)
    own = fixed_fpr_bands(cases, make_sample(4000), [0.05, 0.2])
    plain = fixed_fpr_bands(cases, None, [0.05, 0.2])
    assert own.df == 3999
    assert own.low == pytest.approx(plain.low, abs=5e-4)
    assert own.high == pytest.approx(plain.high, abs=5e-4)


def test_copies_in_a_unit_add_nothing() -> None:
    """Four copies of each case in a unit: the standard errors, and so the limits, are those of single cases."""
    cases = drawn(4, n=500)
    copied = make_scored_cases(np.repeat(cases.better, 4), np.repeat(cases.positive, 4))
    once = fixed_fpr_bands(cases, make_sample(1000), [0.1, 0.3])
    clustered = fixed_fpr_bands(copied, make_sample(4000, units=np.repeat(np.arange(1000), 4)), [0.1, 0.3])
    assert clustered.low == pytest.approx(once.low, abs=2e-3)
    assert clustered.high == pytest.approx(once.high, abs=2e-3)
    assert clustered.low[0] < fixed_fpr_bands(copied, None, 0.1).low[0] - 0.02


def test_a_constant_weight_changes_nothing() -> None:
    cases = drawn(5)
    units = np.arange(120) % 12
    one, other = (make_sample(120, units=units, weights=np.full(120, w)) for w in (1.0, 7.0))
    assert fixed_fpr_bands(cases, one, GRID).low == pytest.approx(fixed_fpr_bands(cases, other, GRID).low)


@pytest.mark.parametrize("units", [None, 12])
def test_limits_contain_the_rate_and_are_never_certain(units: int | None) -> None:
    for shift in (0.0, 1.5, 30.0):
        cases = drawn(6, shift=shift)
        sample = None if units is None else make_sample(120, units=np.arange(120) % units)
        result = fixed_fpr_bands(cases, sample, GRID)
        assert (result.low <= result.tpr).all()
        assert (result.tpr <= result.high).all()
        assert (result.high - result.low > 0.01).all()


def test_few_negatives_say_little_below_one_over_their_number() -> None:
    cases = drawn(7, n=100, shift=2.0)
    result = fixed_fpr_bands(cases, None, [0.002, 0.1])
    assert result.low[0] < 0.5 * result.tpr[0]
    assert result.low[1] > 0.7 * result.tpr[1]


@pytest.mark.parametrize("fpr", [0.01, 0.1])
def test_covers(fpr: float) -> None:
    truth = ndtr(2 + ndtri(fpr))
    bands = [fixed_fpr_bands(drawn(seed, n=200, shift=2.0), None, fpr) for seed in range(300)]
    inside = np.mean([band.low[0] <= truth <= band.high[0] for band in bands])
    assert 0.92 < inside < 0.99


def test_anything_but_a_rate_is_refused() -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        fixed_fpr_bands(drawn(8), None, [0.1, 1.2])

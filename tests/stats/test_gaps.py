"""The difference of two gaps: against loops over groups, closed forms, and repeated experiments."""

import itertools
from collections.abc import Callable
from contextlib import AbstractContextManager

import numpy as np
import pytest
from scipy.stats import f, studentized_range

from harness.stats import gaps
from harness.stats.arrays import FloatArray
from harness.stats.gaps import difference_of_gaps, widened
from tests.simulation import experiments, slack


def _covariance(rng: np.random.Generator, groups: int) -> FloatArray:
    """Groups are independent, runs are not."""
    covariance = np.zeros((2 * groups, 2 * groups))
    for g in range(groups):
        a, b = rng.uniform(0.01, 0.05, 2)
        at = np.ix_([g, g + groups], [g, g + groups])
        covariance[at] = [[a * a, 0.4 * a * b], [0.4 * a * b, b * b]]
    return covariance


def test_the_difference_and_its_ends_are_those_of_loops() -> None:
    rng = np.random.default_rng(0)
    values, covariance = rng.uniform(0.5, 0.9, 8), _covariance(rng, 4)
    found = difference_of_gaps(values, covariance, 50, confidence=0.95, rng=np.random.default_rng(1))
    a, b = values[:4], values[4:]
    assert found.value == pytest.approx(np.ptp(a) - np.ptp(b))
    best, worst = (int(np.argmax(a)), int(np.argmin(a))), (int(np.argmax(b)), int(np.argmin(b)))
    contrast = np.zeros(8)
    contrast[best[0]], contrast[best[1]], contrast[4 + worst[0]], contrast[4 + worst[1]] = 1, -1, -1, 1
    assert found.se == pytest.approx(np.sqrt(contrast @ covariance @ contrast))
    # The interval has some factor; both ends have the same one.
    ends = {}
    for sign in (-1, 1):

        def end(factor: float, sign: int = sign) -> float:
            outer = []
            for i, j in itertools.permutations(range(4), 2):
                inner = []
                for k, m in itertools.permutations(range(4), 2):
                    c = np.zeros(8)
                    c[i] += 1
                    c[j] -= 1
                    c[4 + k] -= 1
                    c[4 + m] += 1
                    inner.append(c @ values + sign * factor * np.sqrt(c @ covariance @ c))
                outer.append(min(inner))
            return float(max(outer))

        goal = found.interval.low if sign < 0 else found.interval.high
        low, high = 0.0, 20.0
        for _ in range(50):
            middle = (low + high) / 2
            low, high = (middle, high) if sign * (end(middle) - goal) < 0 else (low, middle)
        ends[sign] = low
    assert ends[-1] == pytest.approx(ends[1], abs=1e-6)


def test_the_factor_of_one_run_is_that_of_tukeys_method() -> None:
    """If the second run never varies, the contrasts are those of all pairs of groups."""
    values = np.array([0.5, 0.6, 0.7, 0.8, 0.8, 0.8])
    covariance = np.diag([0.01] * 3 + [0.0] * 3) ** 2.0
    found = difference_of_gaps(values, covariance, 30, confidence=0.95, rng=np.random.default_rng(2))
    factor = (found.value - found.interval.low) / found.se
    assert found.se == pytest.approx(0.01 * np.sqrt(2))
    assert factor == pytest.approx(studentized_range.ppf(0.95, 3, 30) / np.sqrt(2), rel=0.03)


def test_scheffes_bound_for_many_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    values, covariance = rng.uniform(0.5, 0.9, 6), _covariance(rng, 3)
    simulated = difference_of_gaps(values, covariance, 40, confidence=0.95, rng=np.random.default_rng(1))
    monkeypatch.setattr(gaps, "MAX_CONTRASTS", 1)
    bound = difference_of_gaps(values, covariance, 40, confidence=0.95, rng=np.random.default_rng(1))
    assert bound.value == simulated.value
    assert bound.interval.low < simulated.interval.low
    assert bound.interval.high > simulated.interval.high
    assert bound.p_value >= simulated.p_value - 0.02
    contrasts = gaps._contrasts(values, covariance)
    factor = np.sqrt(4 * f.ppf(0.95, 4, 40))
    assert bound.interval.low == pytest.approx(contrasts.end(-factor))


def test_the_p_value_is_that_of_the_interval() -> None:
    rng = np.random.default_rng(4)
    values, covariance = np.array([0.57, 0.7, 0.83, 0.7, 0.72, 0.71]), _covariance(rng, 3)
    found = difference_of_gaps(values, covariance, 40, confidence=0.95, rng=np.random.default_rng(1))
    at_p = difference_of_gaps(values, covariance, 40, confidence=1 - found.p_value, rng=np.random.default_rng(1))
    assert found.p_value < 0.05
    assert at_p.interval.low == pytest.approx(0, abs=0.001)
    same = difference_of_gaps(np.tile(values[:3], 2), covariance, 40, confidence=0.95, rng=np.random.default_rng(1))
    assert (same.value, same.p_value) == (0, 1)


def test_a_group_without_errors_is_not_certain() -> None:
    covariance = np.array([[0.04, 0.01], [0.01, 0.0]])
    wide = widened(covariance, np.array([0.1, 0.196]), np.array([np.inf, np.inf]), 0.95)
    np.testing.assert_allclose(np.sqrt(np.diag(wide)), [0.2, 0.1], rtol=1e-4)


@pytest.mark.sampled(3)
@experiments(2000, quick=60)
@pytest.mark.parametrize(
    ("first", "second"),
    [((0.7, 0.9), (0.8, 0.8)), ((0.6, 0.8, 0.8, 0.9), (0.8,) * 4), ((0.8,) * 4, (0.8,) * 4)],
)
def test_the_interval_covers_whichever_groups_are_chosen(
    first: tuple[float, ...], second: tuple[float, ...], experiments: int
) -> None:
    """Rates of 100 cases a group; where one run has no gap, chance makes one, and a plain interval covers 89 %."""
    rng, n, groups = np.random.default_rng(5), 100, len(first)
    true, hits = np.ptp(first) - np.ptp(second), 0
    for _ in range(experiments):
        values, covariance = np.zeros(2 * groups), np.zeros((2 * groups, 2 * groups))
        for g in range(groups):
            ease = rng.random(n)
            other = np.where(rng.random(n) < 0.5, ease, rng.random(n))
            right = np.stack([ease < first[g], other < second[g]])
            values[[g, g + groups]] = right.mean(axis=1)
            covariance[np.ix_([g, g + groups], [g, g + groups])] = np.cov(right) / n
        found = difference_of_gaps(values, covariance, groups * (n - 1), confidence=0.95, rng=rng)
        hits += found.interval.low <= true <= found.interval.high
    assert hits / experiments > 0.95 - slack(0.01, full=2000, experiments=experiments)


def test_the_interval_does_not_depend_on_the_processor(
    another_processor: Callable[[], AbstractContextManager[None]],
) -> None:
    rng = np.random.default_rng(2)
    values, covariance = rng.uniform(0.5, 0.9, 8), np.eye(8) * 0.03 + 0.002
    for matrix in (covariance, _covariance(rng, 4)):
        here = difference_of_gaps(values, matrix, 20, confidence=0.95, rng=np.random.default_rng(1))
        with another_processor():
            there = difference_of_gaps(values, matrix, 20, confidence=0.95, rng=np.random.default_rng(1))
        assert there.interval == pytest.approx(here.interval, rel=1e-9)
        assert there.p_value == here.p_value

"""The urn's verdicts by simulation: the true design is kept 95 % of the time, a wrong one is rejected."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2

from harness.lab.urn.statistics import UrnVariance, urn, variance_interval

N, M, TRIALS, RUNS = 60, 4, 90, 250
GROUPS = np.repeat(np.arange(N), M)


def verdicts(rng: np.random.Generator, *, same_subjects: bool) -> list[UrnVariance]:
    def trials() -> npt.NDArray[np.bool_]:
        theta = rng.beta(1.5, 1.0, size=(N, 1, 1 if same_subjects else TRIALS))
        return (rng.random((N, M, TRIALS)) < theta).reshape(N * M, TRIALS)

    return [urn(trials(), GROUPS) for _ in range(RUNS)]


@pytest.mark.parametrize(("same_subjects", "right", "wrong"), [(True, "st", "cl"), (False, "cl", "st")])
def test_right_design_is_kept_and_wrong_one_rejected(same_subjects: bool, right: str, wrong: str) -> None:
    got = verdicts(np.random.default_rng(16), same_subjects=same_subjects)
    # Standard error of a share of 95 % in 250 runs: 1.4 %; three of them either way.
    assert np.mean([right in u.compatible for u in got]) == pytest.approx(0.95, abs=0.042)
    assert np.mean([wrong in u.compatible for u in got]) < 0.05
    assert np.mean([u.sample_variance for u in got]) == pytest.approx(
        np.mean([getattr(u, right) for u in got]), rel=0.04
    )


def test_well_mixed_cases_are_compatible_with_all_designs() -> None:
    values = np.random.default_rng(17).random((N * M, TRIALS)) < 0.7
    assert urn(values, GROUPS).compatible == ("st", "srs", "cl")


@given(variance=st.floats(1e-6, 10), df=st.integers(1, 500))
def test_variance_interval_has_chi_square_quantiles(variance: float, df: int) -> None:
    got = variance_interval(variance, df)
    assert chi2.sf(df * variance / got.low, df) == pytest.approx(0.025, rel=1e-6)
    assert chi2.cdf(df * variance / got.high, df) == pytest.approx(0.025, rel=1e-6)


def test_wrong_input_is_refused() -> None:
    with pytest.raises(ValueError, match="two trials"):
        urn([[1], [0]], [0, 1])
    with pytest.raises(ValueError, match="out of range"):
        variance_interval(math.nan, 3)

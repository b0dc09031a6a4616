"""Joint rates: diagonal and contrasts must be those of single estimates, by every method."""

import numpy as np
import pytest

from harness.stats.replication.estimate import replicate
from harness.stats.replication.joint import joint_rates
from harness.stats.replication.linearised import linearised_covariance, stratum_variances
from harness.stats.replication.plan import Plan
from harness.stats.replication.sample import make_sample
from harness.stats.replication.statistic import difference, rate


@pytest.mark.parametrize("units", [2, 3, 6])
@pytest.mark.parametrize("method", ["auto", "jackknife", "bootstrap", "linearised"])
def test_against_single_rates_and_a_difference(units: int, method: str) -> None:
    rng = np.random.default_rng(units)
    n = 6 * units * 2
    sample = make_sample(
        n, strata=np.repeat(np.arange(6), 2 * units), units=np.repeat(np.arange(6 * units), 2), weights=rng.random(n)
    )
    successes = rng.binomial(1, [0.8, 0.6, 0.5], size=(n, 3)).astype(float)
    plan = Plan(method=method, replicates=60)
    joint = joint_rates(sample, successes, plan)
    for algorithm in range(3):
        single = replicate(sample, rate(successes[:, algorithm]), plan)
        assert joint.estimates[algorithm] == pytest.approx(single.estimate, rel=1e-12)
        assert joint.covariance[algorithm, algorithm] == pytest.approx(single.se**2, rel=1e-10)
        assert (joint.df, joint.method, joint.replicates, joint.groupings) == (
            single.df,
            single.method,
            single.replicates,
            single.groupings,
        )
    contrast = np.array([1, -1, 0])
    pair = replicate(sample, difference(successes[:, 0], successes[:, 1]), plan)
    assert contrast @ joint.covariance @ contrast == pytest.approx(pair.se**2, rel=1e-9)


@pytest.mark.parametrize("lone", ["remove", "certainty", "adjust", "average"])
def test_covariance_has_the_variances_on_its_diagonal(lone: str) -> None:
    sample = make_sample(8, strata=[1, 1, 2, 3, 3, 3, 4, 4], lone=lone)
    values = np.random.default_rng(0).normal(size=(8, 2))
    variances = stratum_variances(sample, values)
    np.testing.assert_allclose(np.diag(linearised_covariance(sample, values)), variances.sum(axis=0), rtol=1e-12)
    np.testing.assert_allclose(stratum_variances(sample, values[:, 1]), variances[:, 1], rtol=1e-12)


def test_shapes_and_values_that_are_refused() -> None:
    sample = make_sample(4, strata=[1, 1, 2, 2])
    with pytest.raises(ValueError, match=r"shape \(4,\)"):
        joint_rates(sample, [1, 0, 1, 1])
    with pytest.raises(ValueError, match="case 2 has 3"):
        joint_rates(sample, [[1, 0], [1, 1], [0, 3], [1, 1]])

"""Posterior probabilities: against draws from the posterior, and a published example of the correlated t test."""

import numpy as np
import pytest
from scipy.stats import t

from harness.lab.opinions.posterior import discordant_posterior, fold_posterior


@pytest.mark.parametrize(("n_sf", "n_fs", "n", "rope"), [(30, 12, 400, 0.01), (0, 0, 50, 0.02), (5, 7, 12, 0.0)])
def test_discordant_cases_agree_with_draws(n_sf: int, n_fs: int, n: int, rope: float) -> None:
    rng = np.random.default_rng(1)
    drawn = rng.dirichlet([0.5 + n_sf, 0.5 + n_fs, 0.5 + n - n_sf - n_fs], 400_000)
    difference = drawn[:, 0] - drawn[:, 1]
    found = discordant_posterior(n_sf, n_fs, n, rope=rope)
    assert found.a_better == pytest.approx(np.mean(difference > rope), abs=0.004)
    assert found.equivalent == pytest.approx(np.mean(np.abs(difference) <= rope), abs=0.004)
    assert found.a_better + found.equivalent + found.b_better == pytest.approx(1)


def test_swapping_the_two_swaps_the_answer() -> None:
    one, other = discordant_posterior(30, 12, 400, rope=0.01), discordant_posterior(12, 30, 400, rope=0.01)
    assert one.a_better == pytest.approx(other.b_better)
    assert one.equivalent == pytest.approx(other.equivalent)


def test_a_design_effect_takes_information_away() -> None:
    plain, clustered = (discordant_posterior(60, 30, 400, rope=0, design_effect=effect) for effect in (1.0, 3.0))
    assert plain.a_better > clustered.a_better > 0.5


def test_folds_are_the_correlated_t_distribution() -> None:
    """Benavoli and others (2017): location the mean, scale sqrt(1/n + share/(1 - share)) times the deviation."""
    d = np.array([0.02, 0.01, 0.03, 0.00, 0.025, 0.015, -0.005, 0.02, 0.01, 0.03])
    found = fold_posterior(d, test_share=0.1, rope=0.01)
    posterior = t(9, loc=d.mean(), scale=np.sqrt(1 / 10 + 0.1 / 0.9) * d.std(ddof=1))
    assert found.a_better == pytest.approx(posterior.sf(0.01), abs=1e-12)
    assert found.b_better == pytest.approx(posterior.cdf(-0.01), abs=1e-12)


def test_folds_without_variance_are_certain() -> None:
    assert fold_posterior([0.1, 0.1], test_share=0.5, rope=0.01).a_better == 1


@pytest.mark.parametrize("wrong", [(5, 5, 9, 0.1), (1, 1, 9, -0.1)])
def test_impossible_counts_are_refused(wrong: tuple[float, float, float, float]) -> None:
    with pytest.raises(ValueError, match="expected counts"):
        discordant_posterior(*wrong[:3], rope=wrong[3])
    with pytest.raises(ValueError, match="expected two or more"):
        fold_posterior([0.1], test_share=0.1, rope=0.01)

"""Equivalence and non-inferiority: against statsmodels, a search for the best fit, and exact error rates."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.special import gammaln
from scipy.stats import norm, t
from statsmodels.stats.weightstats import ttost_paired

from harness.stats.equivalence import equivalent, paired_equivalent, score_z
from harness.stats.paired import PairTable
from harness.stats.rates import Interval

tables = st.builds(PairTable, *[st.integers(0, 25)] * 4)


def fitted_z(table: PairTable, difference: float) -> float:
    """Twin of `score_z`: the best-fitting discordance with this difference, by search on a fine grid."""
    q = np.linspace(max(0, -difference), (1 - difference) / 2, 400_001)[1:-1]
    cells = np.stack([1 - 2 * q - difference, q + difference, q])
    seen = np.array([table.n - table.discordant, table.n_sf, table.n_fs])
    best = cells[:, np.argmax(seen @ np.log(cells))]
    return float((table.difference - difference) / math.sqrt((best[1] + best[2] - difference**2) / table.n))


@pytest.mark.parametrize("difference", [-0.3, -0.05, 0.02, 0.2])
@pytest.mark.parametrize("table", [PairTable(10, 6, 3, 20), PairTable(5, 1, 9, 5), PairTable(4, 8, 1, 2)])
def test_score_z_fits_the_discordance_best(table: PairTable, difference: float) -> None:
    assert score_z(table, difference) == pytest.approx(fitted_z(table, difference), abs=1e-4)


@given(table=tables)
def test_score_z_at_0_is_mcnemar_uncorrected(table: PairTable) -> None:
    expected = (table.n_sf - table.n_fs) / math.sqrt(table.discordant) if table.discordant else 0.0
    assert score_z(table, 0.0) == pytest.approx(expected)


@given(table=tables, difference=st.floats(-0.99, 0.99))
def test_score_z_is_antisymmetric_and_0_at_the_estimate(table: PairTable, difference: float) -> None:
    assume(table.n > 0)
    assert score_z(table, difference) == pytest.approx(-score_z(table.swapped(), -difference), abs=1e-9)
    assert score_z(table, table.difference) == pytest.approx(0, abs=1e-6)


def test_tango_published_interval() -> None:
    # Fagerland, Lydersen and Laake (2014), airway hyper-responsiveness: Tango's 95 % interval is -0.517 to -0.026.
    got = paired_equivalent(PairTable(n_ff=12, n_sf=1, n_fs=7, n_ss=1), margin=0.1, alpha=0.025).interval
    assert (got.low, got.high) == pytest.approx((-0.517, -0.026), abs=0.0005)


@given(table=tables, margin=st.sampled_from([0.05, 0.1, 0.3]))
def test_interval_within_the_margins_means_equivalent(table: PairTable, margin: float) -> None:
    assume(table.n > 0)
    got = paired_equivalent(table, margin=margin)
    inside = -margin < got.interval.low and got.interval.high < margin
    near = min(abs(got.interval.low + margin), abs(got.interval.high - margin)) < 1e-9
    assert near or inside == got.equivalent
    assert near or (got.interval.low > -margin) == got.not_inferior


def test_matches_statsmodels_on_measurements() -> None:
    rng = np.random.default_rng(7)
    a = rng.normal(0.8, 0.1, 25)
    b = a + rng.normal(0.01, 0.05, 25)
    d = a - b
    got = equivalent(d.mean(), d.std(ddof=1) / 5, margin=0.04, df=24)
    p, lower, upper = ttost_paired(a, b, -0.04, 0.04)
    assert got.p_equivalent == pytest.approx(p)
    assert (got.p_not_inferior, got.p_not_superior) == pytest.approx((lower[1], upper[1]))
    half = t.ppf(0.95, 24) * d.std(ddof=1) / 5
    assert (got.interval.low, got.interval.high) == pytest.approx((d.mean() - half, d.mean() + half))


def test_infinite_degrees_of_freedom_are_normal() -> None:
    got = equivalent(0.01, 0.02, margin=0.05)
    assert got.p_not_inferior == pytest.approx(norm.sf(3.0))
    assert got.p_not_superior == pytest.approx(norm.sf(2.0))
    assert got.not_inferior
    assert got.equivalent


def test_no_error_at_all() -> None:
    assert equivalent(0.01, 0.0, margin=0.05).equivalent
    assert not equivalent(0.05, 0.0, margin=0.05).equivalent


def test_design_effect_makes_it_harder() -> None:
    table = PairTable(n_ff=50, n_sf=20, n_fs=20, n_ss=400)
    plain, clustered = (paired_equivalent(table, margin=0.04, design_effect=d) for d in (1.0, 4.0))
    assert norm.isf(plain.p_equivalent) == pytest.approx(2 * norm.isf(clustered.p_equivalent))


@pytest.mark.parametrize(("p_sf", "p_fs"), [(0.0, 0.1), (0.05, 0.15), (0.2, 0.3)])
def test_error_at_the_margin_summed_over_all_tables(p_sf: float, p_fs: float) -> None:
    # A is worse by exactly the margin, so "not inferior" is an error: it must happen in about 5 % of samples of 80.
    n, margin = 80, 0.1
    wrong = 0.0
    for b, c in product(range(45), repeat=2):
        if b + c > n or (p_sf == 0 and b > 0):
            continue
        chance = gammaln(n + 1) - gammaln(b + 1) - gammaln(c + 1) - gammaln(n - b - c + 1)
        chance += (b * math.log(p_sf) if b else 0) + c * math.log(p_fs) + (n - b - c) * math.log(1 - p_sf - p_fs)
        if score_z(PairTable(0, b, c, n - b - c), -margin) >= norm.ppf(0.95):
            wrong += math.exp(chance)
    assert 0.02 <= wrong <= 0.07


def test_no_cases() -> None:
    got = paired_equivalent(PairTable(0, 0, 0, 0), margin=0.1)
    assert got.interval == Interval(-1.0, 1.0)
    assert not got.not_inferior


def test_no_discordant_pair_can_be_equivalent() -> None:
    assert paired_equivalent(PairTable(100, 0, 0, 900), margin=0.01).equivalent
    assert not paired_equivalent(PairTable(10, 0, 0, 90), margin=0.01).equivalent


@pytest.mark.parametrize(
    ("options", "message"),
    [({"margin": 0.0}, "margin"), ({"margin": 5.0}, "one in 100"), ({"margin": 0.1, "alpha": 0.5}, "alpha")],
)
def test_wrong_options_are_refused(options: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        equivalent(0.0, 0.1, **options)
    with pytest.raises(ValueError, match=message):
        paired_equivalent(PairTable(1, 1, 1, 1), **options)


def test_a_negative_error_is_refused() -> None:
    with pytest.raises(ValueError, match="standard error"):
        equivalent(0.0, -0.1, margin=0.1)

"""BRR, Fay, Taylor and cluster figures against R's survey package; data and scripts are in tests/data/replication."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import t as student

from harness.stats.replication.balanced import HalfSamples
from harness.stats.replication.estimates import make_estimate
from harness.stats.replication.hadamard import StoredHadamard
from harness.stats.replication.method import Replication
from harness.stats.replication.sample import Sample, make_sample, unit_sums
from harness.stats.replication.statistic import (
    MemberDifference,
    TotalsStatistic,
    difference,
    full_values,
    rate,
    ratio,
    replicate_estimates,
    total,
)

DATA = Path(__file__).parents[2] / "data" / "replication"
DESIGNS: list[dict[str, Any]] = json.loads((DATA / "brr_input.json").read_text())
REFERENCE: dict[str, Any] = json.loads((DATA / "brr_reference.json").read_text())
CLUSTERS: list[dict[str, Any]] = json.loads((DATA / "cluster_reference.json").read_text())


def sample_of(design: dict[str, Any]) -> Sample:
    return make_sample(
        len(design["a"]), strata=design["stratum"], units=design["psu"], weights=design["w"], nested=True, lone="fail"
    )


def statistics_of(design: dict[str, Any]) -> dict[str, TotalsStatistic | MemberDifference]:
    a, b = design["a"], design["b"]
    return {
        "mean_a": rate(a),
        "mean_b": rate(b),
        "total_a": total(a),
        "ratio_a_over_b": ratio(a, b),
        "diff_a_minus_b": difference(a, b),
    }


def t_limits(value: float, se: float, df: float) -> list[float]:
    """R's interval, with scipy's quantile."""
    half = float(student.ppf(0.975, df)) * se
    return [value - half, value + half]


def halves_of(reference: dict[str, Any], fay: float) -> HalfSamples:
    """R's half-samples: a ratio's variance depends on which are used."""
    chosen = np.array([[int(digit) for digit in row] for row in reference["psu1_selected"]]).T
    signs = np.concatenate([np.ones((len(chosen), 1)), 2 * chosen - 1], axis=1)
    return HalfSamples(StoredHadamard(signs.astype(np.int8)), chosen.shape[1], fay)


@pytest.mark.parametrize("mse", [True, False])
@pytest.mark.parametrize("fay", [0, 0.3])
@pytest.mark.parametrize("design", DESIGNS, ids=lambda design: design["name"])
def test_brr_and_fay(design: dict[str, Any], fay: float, mse: bool) -> None:
    reference = REFERENCE[design["name"]]
    expected = reference[f"rho{fay}_mse{'TRUE' if mse else 'FALSE'}"]
    sample, halves = sample_of(design), halves_of(reference, fay)
    assert halves.df == expected["df"]
    for name, statistic in statistics_of(design).items():
        # A contrast is the first member minus the second, in the whole sample and in every half-sample.
        of, weights = (statistic.of, [1.0, -1.0]) if isinstance(statistic, MemberDifference) else (statistic, [1.0])
        estimate = float(full_values(sample, of) @ weights)
        estimates = replicate_estimates(halves, sample, of) @ weights
        variance = float(halves.variance(estimates, estimate, centre="full" if mse else "mean"))
        interval = t_limits(estimate, float(np.sqrt(variance)), halves.df)
        assert estimate == pytest.approx(expected[name]["estimate"], rel=1e-10, abs=1e-10)
        assert variance == pytest.approx(expected[name]["variance"], rel=1e-10, abs=1e-15)
        assert interval == pytest.approx(expected[name]["ci95_t"], rel=1e-10, abs=1e-10)


@pytest.mark.parametrize("design", DESIGNS, ids=lambda design: design["name"])
def test_covariance_of_two_means(design: dict[str, Any]) -> None:
    reference = REFERENCE[design["name"]]
    sample, halves = sample_of(design), halves_of(reference, 0.0)
    both = rate(np.stack([design["a"], design["b"]], axis=1))
    totals = halves.totals(unit_sums(sample, np.stack([design["a"], design["b"], np.ones(sample.cases)], axis=1)))
    estimates, full = replicate_estimates(halves, sample, both), full_values(sample, both)
    np.testing.assert_allclose(estimates, totals[:, :2] / totals[:, 2:], rtol=1e-12)
    covariance = halves.covariance(estimates, full)
    np.testing.assert_allclose(covariance.ravel(), reference["rho0_mseTRUE"]["vcov_ab"], rtol=1e-10, atol=1e-15)


@pytest.mark.parametrize("design", DESIGNS, ids=lambda design: design["name"])
def test_our_half_samples_agree_if_the_choice_does_not_matter(design: dict[str, Any]) -> None:
    """A total is linear: any set of half-samples in full balance gives the same variance."""
    result = make_estimate(sample_of(design), total(design["a"]))
    expected = REFERENCE[design["name"]]["rho0_mseTRUE"]["total_a"]
    assert result.method == "brr"
    assert result.se**2 == pytest.approx(expected["variance"], rel=1e-10)


@pytest.mark.parametrize("design", DESIGNS, ids=lambda design: design["name"])
def test_taylor(design: dict[str, Any]) -> None:
    reference = REFERENCE[design["name"]]
    for name, statistic in statistics_of(design).items():
        result = make_estimate(sample_of(design), statistic, Replication(method="linearised"))
        assert result.value == pytest.approx(reference["taylor"][name]["estimate"], rel=1e-10, abs=1e-10)
        assert result.se == pytest.approx(reference["taylor"][name]["se"], rel=1e-10)
        assert result.df == reference["df_linearised"]
        assert (result.p_value is None) == isinstance(statistic, TotalsStatistic)
    mean = make_estimate(sample_of(design), rate(design["a"]), Replication(method="linearised"))
    assert mean.design_effect == pytest.approx(reference["deff_a_replace"], rel=1e-10)


@pytest.mark.parametrize("cluster", CLUSTERS, ids=lambda cluster: cluster["name"])
def test_cluster_standard_error_of_a_rate(cluster: dict[str, Any]) -> None:
    sample = make_sample(len(cluster["y"]), units=cluster["cluster"])
    result = make_estimate(sample, rate(cluster["y"]), Replication(method="linearised"))
    assert result.units == cluster["k"]
    assert result.value == pytest.approx(cluster["p"], rel=1e-10)
    assert result.se == pytest.approx(cluster["se_cluster"], rel=1e-10)
    assert result.df == cluster["df_cluster"]
    assert t_limits(result.value, result.se, result.df) == pytest.approx(cluster["ci95_t"], rel=1e-10)
    assert result.interval is not None
    assert result.interval.low < result.value < result.interval.high
    assert result.design_effect == pytest.approx(cluster["deff_replace"], rel=1e-10)


def test_equal_clusters_jackknife_as_r_linearises() -> None:
    """With clusters of one size the rate is a plain mean of cluster means: the jackknife is exact."""
    cluster = CLUSTERS[0]
    result = make_estimate(make_sample(len(cluster["y"]), units=cluster["cluster"]), rate(cluster["y"]))
    assert (result.method, result.df, result.replicates) == ("jackknife", 19, 20)
    assert result.se == pytest.approx(cluster["se_cluster"], rel=1e-10)

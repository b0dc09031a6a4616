"""Several estimates at once: members and contrasts must equal those of single estimates, by every method."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest
from scipy.stats import t as student
from statsmodels.stats.proportion import proportion_confint

from harness.stats.arrays import FloatArray
from harness.stats.cochran import equal_rates
from harness.stats.differences import paired_difference
from harness.stats.estimate import Estimate
from harness.stats.paired import PairTable
from harness.stats.replication.balanced import balanced
from harness.stats.replication.estimates import Estimates, make_estimate, make_estimates
from harness.stats.replication.linearised import linearised_covariance, stratum_variances
from harness.stats.replication.method import Replication, variance_method
from harness.stats.replication.sample import Sample, make_sample, unit_sums
from harness.stats.replication.statistic import (
    SmoothFormula,
    Statistic,
    WeightsStatistic,
    difference,
    full_values,
    rate,
    ratio,
    replicate_estimates,
    shares,
    total,
)
from tests.simulation import examples

METHODS = ["auto", "brr", "jackknife", "group-jackknife", "bootstrap", "linearised"]


def drawn(units: int, seed: int | None = None) -> tuple[Sample, FloatArray]:
    """Six strata of units of two to four cases, with weights, and the successes of three algorithms."""
    rng = np.random.default_rng(units if seed is None else seed)
    sizes = rng.integers(2, 5, 6 * units)
    unit = np.repeat(np.arange(6 * units), sizes)
    sample = make_sample(unit.size, strata=unit // units, units=unit, weights=rng.random(unit.size) + 0.1)
    return sample, rng.binomial(1, [0.8, 0.6, 0.5], size=(unit.size, 3)).astype(float)


def quadratic(totals: npt.NDArray[np.complex128]) -> npt.NDArray[np.complex128]:
    """A formula of two totals that is not a ratio."""
    return totals[..., 0] ** 2 / (totals[..., 0] + totals[..., 1])


def of_columns(kind: str, successes: FloatArray) -> Callable[[list[int]], Statistic]:
    """A statistic of each kind, for the chosen algorithms."""
    inside = successes[:, :1]

    def members(chosen: list[int]) -> Statistic:
        own = successes[:, chosen]
        if kind == "rate":
            return rate(own)
        if kind == "within":
            return rate(own, within=inside)
        if kind == "ratio":
            return ratio(own + 1, 2 - own)
        if kind == "total":
            return total(own)
        if kind == "smooth":
            pairs = np.stack([own + 0.5, np.ones_like(own)], axis=2).reshape(len(own), -1)
            return SmoothFormula(pairs, formula=quadratic, parts=2)
        return WeightsStatistic(lambda w: w @ own / w.sum(), size=len(chosen), bounds=(0.0, 1.0))

    return members


def same_choice(result: Estimate, single: Estimate) -> None:
    for name in ("method", "replicates", "groupings", "fay", "units", "strata", "cases", "confidence", "seed"):
        assert getattr(result, name) == getattr(single, name)


def same_estimate(result: Estimate, single: Estimate) -> None:
    same_choice(result, single)
    assert result.value == pytest.approx(single.value, rel=1e-12, abs=1e-15)
    assert (result.se, result.df) == pytest.approx((single.se, single.df), rel=1e-9)
    assert result.interval is not None
    assert single.interval is not None
    assert (result.interval.low, result.interval.high) == pytest.approx(
        (single.interval.low, single.interval.high), rel=1e-9, abs=1e-12
    )
    assert result.design_effect == (None if single.design_effect is None else pytest.approx(single.design_effect))
    assert result.icc == (None if single.icc is None else pytest.approx(single.icc))
    assert result.p_value == (None if single.p_value is None else pytest.approx(single.p_value, rel=1e-6))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("units", [2, 3, 6])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("kind", ["rate", "within", "ratio", "total", "smooth", "weights"])
def test_members_and_differences_are_those_of_single_estimates(units: int, method: str, kind: str) -> None:
    sample, successes = drawn(units)
    of, replication = of_columns(kind, successes), Replication(method=method, replicates=60)
    if kind == "weights" and method == "linearised":
        with pytest.raises(ValueError, match="no linear form"):
            make_estimates(sample, of([0, 1, 2]), replication)
        return
    joint = make_estimates(sample, of([0, 1, 2]), replication)
    assert len(joint) == 3
    np.testing.assert_array_equal(joint.covariance, joint.covariance.T)
    for member, result in enumerate(joint.all()):
        single = make_estimate(sample, of([member]), replication)
        assert joint.values[member] == pytest.approx(single.value, rel=1e-12)
        assert joint.covariance[member, member] == pytest.approx(single.se**2, rel=1e-10)
        assert joint.se[member] == pytest.approx(single.se, rel=1e-10)
        assert single.p_value is None
        same_estimate(result, single)
        same_estimate(joint.estimate(member), single)
    pair = make_estimates(sample, of([0, 2]), replication).difference(0, 1)
    same_estimate(joint.difference(0, 2), pair)
    contrast = np.array([1, 0, -1])
    assert contrast @ joint.covariance @ contrast == pytest.approx(pair.se**2, rel=1e-9)


@pytest.mark.parametrize("units", [2, 3, 6])
@pytest.mark.parametrize("method", METHODS)
def test_covariance_is_that_of_the_replicates(units: int, method: str) -> None:
    """Members of every replicate, one by one, with the method's factors."""
    sample, successes = drawn(units)
    replication = Replication(method=method, replicates=60)
    joint = make_estimates(sample, rate(successes), replication)
    choice = variance_method(sample, rate(successes), replication)
    if choice.replicates is None:
        w = sample.weights[:, None]
        scores = (successes - joint.values) * w / w.sum()
        by_unit = np.stack([np.bincount(sample.unit_of_case, weights=column) for column in scores.T], axis=1)
        want = np.zeros((3, 3))
        for stratum in range(6):
            inside = by_unit[sample.stratum_of_unit == stratum]
            want += len(inside) * np.cov(inside, rowvar=False)
        assert joint.design_df == sample.units - 6
    else:
        factors = np.concatenate(list(choice.replicates.weights()))[:, sample.unit_of_case] * sample.weights
        want = choice.replicates.covariance(factors @ successes / factors.sum(axis=1)[:, None], joint.values)
        assert joint.design_df == choice.replicates.df
    np.testing.assert_allclose(joint.covariance, want, rtol=1e-9, atol=1e-15)


def test_a_difference_equals_that_of_two_members() -> None:
    sample, successes = drawn(2)
    joint = make_estimates(sample, rate(successes))
    same_estimate(joint.difference(0, 1), make_estimate(sample, difference(successes[:, 0], successes[:, 1])))
    turned = joint.difference(1, 0)
    assert (turned.value, turned.se) == (-joint.difference(0, 1).value, joint.difference(0, 1).se)


def test_differences_pair_by_pair() -> None:
    sample, successes = drawn(3)
    joint = make_estimates(sample, rate(successes))
    first, second = [0, 0, 1, 2], [1, 2, 2, 0]
    for result, i, j in zip(joint.differences(first, second), first, second, strict=True):
        assert result == joint.difference(i, j)
        assert result.value == pytest.approx(joint.values[i] - joint.values[j], abs=1e-15)


def test_p_of_a_difference_is_students() -> None:
    sample, successes = drawn(2)
    result = make_estimate(sample, difference(successes[:, 0], successes[:, 1]))
    assert result.p_value == pytest.approx(2 * student.sf(abs(result.value) / result.se, result.df), rel=1e-9)


def test_limits_of_a_difference_contain_it_and_mirror() -> None:
    sample, successes = drawn(6)
    joint = make_estimates(sample, rate(successes))
    one, other = joint.difference(0, 1).interval, joint.difference(1, 0).interval
    assert one is not None
    assert other is not None
    assert one.low < joint.values[0] - joint.values[1] < one.high
    assert (one.low, one.high) == pytest.approx((-other.high, -other.low), abs=1e-12)


@pytest.mark.parametrize("units", [np.repeat(np.arange(20), 3), None], ids=["units", "independent"])
@pytest.mark.parametrize("graded", [[0.5, 0.25], [0.9, 0.1], [0.75, 0.7]])
def test_limits_of_a_difference_of_graded_marks_contain_it(
    graded: list[float], units: npt.NDArray[np.int64] | None
) -> None:
    """Successes may be shares, such as shares of repeated answers."""
    rng = np.random.default_rng(2)
    marks = np.clip(np.array(graded) + rng.normal(0, 0.05, size=(60, 2)), 0, 1)
    result = make_estimate(make_sample(60, units=units), difference(marks[:, 0], marks[:, 1]))
    assert result.interval is not None
    assert result.interval.low < result.value < result.interval.high
    # 60 marks that vary by a twentieth, with means at least a twentieth apart, clearly differ.
    assert result.p_value is not None
    assert result.p_value < 0.001


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("units", [2, 6])
def test_a_ratio_has_the_delta_methods_error(units: int, method: str) -> None:
    sample, successes = drawn(units)
    joint = make_estimates(sample, rate(successes), Replication(method=method, replicates=60))
    result = joint.ratio(0, 1)
    assert result is not None
    (x, y), c = joint.values[:2], joint.covariance
    log_variance = c[0, 0] / x**2 + c[1, 1] / y**2 - 2 * c[0, 1] / (x * y)
    assert result.value == pytest.approx(x / y, rel=1e-12)
    assert result.se == pytest.approx(x / y * np.sqrt(log_variance), rel=1e-9)
    t = student.ppf(0.975, result.df)
    assert result.interval is not None
    assert result.interval.low == pytest.approx(x / y * np.exp(-t * np.sqrt(log_variance)), rel=1e-9)
    assert result.interval.high == pytest.approx(x / y * np.exp(t * np.sqrt(log_variance)), rel=1e-9)
    assert result.p_value == pytest.approx(2 * student.sf(abs(np.log(x / y)) / np.sqrt(log_variance), result.df))
    same_choice(result, joint.estimate(0))
    turned = joint.ratio(1, 0)
    assert turned is not None
    assert turned.interval is not None
    assert turned.p_value == pytest.approx(result.p_value)
    assert (turned.interval.low, turned.interval.high) == pytest.approx(
        (1 / result.interval.high, 1 / result.interval.low), rel=1e-9
    )


def test_a_ratio_is_that_of_the_two_totals() -> None:
    """The twin without a delta method: the quotient of the two rates as a separate statistic, linearised.

    Their common denominator cancels, so that it is the ratio of two totals, which R's svyratio has.
    """
    sample, successes = drawn(6)
    replication = Replication(method="linearised")
    result = make_estimates(sample, rate(successes), replication).ratio(0, 1)
    twin = make_estimate(sample, ratio(successes[:, 0], successes[:, 1]), replication)
    assert result is not None
    assert (result.value, result.se) == pytest.approx((twin.value, twin.se), rel=1e-9)


def test_a_ratio_by_replication_is_near_the_quotient_of_each_replicate() -> None:
    """They differ to second order in 1 / units, of which there are 300."""
    rng = np.random.default_rng(4)
    successes = rng.binomial(1, [0.8, 0.6], size=(600, 2)).astype(float)
    sample = make_sample(600, strata=np.repeat(np.arange(150), 4), units=np.repeat(np.arange(300), 2))
    result = make_estimates(sample, rate(successes)).ratio(0, 1)
    assert result is not None
    halves = balanced(sample, complements=True)
    quotients = replicate_estimates(halves, sample, ratio(successes[:, 0], successes[:, 1]))
    assert result.se**2 == pytest.approx(float(halves.variance(quotients[:, 0], result.value)), rel=0.03)


def test_a_ratio_to_0_is_none_and_one_without_variance_has_no_interval() -> None:
    sample, successes = drawn(2)
    joint = make_estimates(sample, rate(np.stack([successes[:, 0], 0 * successes[:, 0], successes[:, 0]], axis=1)))
    assert joint.ratio(0, 1) is None
    assert joint.ratio(1, 0) is None
    same = joint.ratio(0, 2)
    assert same is not None
    assert (same.value, same.se, same.interval, same.p_value) == (1, 0, None, None)


def test_equality_is_the_wald_test_of_values_and_covariance() -> None:
    sample, successes = drawn(6)
    joint = make_estimates(sample, rate(successes), Replication("jackknife"))
    result = joint.equality()
    want = equal_rates(joint.values, joint.covariance, df=joint.design_df)
    assert (result.statistic, result.df, result.p_chi2) == pytest.approx((want.statistic, want.df, want.p_chi2))
    pair = joint.difference(1, 2)
    two = joint.equality(np.eye(3)[[1, 2]])
    assert (two.statistic, two.df, two.p_value) == pytest.approx(((pair.value / pair.se) ** 2, 1, pair.p_value))
    # Contrasts in place of members: whether two gaps are equal.
    gaps = np.array([[1.0, -1, 0], [0, 1, -1]])
    both = joint.equality(gaps)
    curve = np.array([1.0, -2, 1])
    assert both.statistic == pytest.approx((curve @ joint.values) ** 2 / (curve @ joint.covariance @ curve))


@pytest.mark.parametrize("lone", ["remove", "certainty", "adjust", "average"])
def test_covariance_has_the_variances_on_its_diagonal(lone: str) -> None:
    sample = make_sample(8, strata=[1, 1, 2, 3, 3, 3, 4, 4], lone=lone)
    values = np.random.default_rng(0).normal(size=(8, 2))
    variances = stratum_variances(sample, values)
    np.testing.assert_allclose(np.diag(linearised_covariance(sample, values)), variances.sum(axis=0), rtol=1e-12)
    np.testing.assert_allclose(stratum_variances(sample, values[:, 1]), variances[:, 1], rtol=1e-12)


def swapped(sample: Sample, flips: npt.NDArray[np.int64]) -> Sample:
    """The same sample, with the order of the two units swapped in some strata."""
    unit = sample.unit_of_case
    names = unit ^ flips[sample.stratum_of_unit[unit]]
    return make_sample(sample.cases, strata=sample.stratum_of_unit[unit], units=names, weights=sample.weights)


def of_two_units(strata: int, seed: int) -> tuple[Sample, FloatArray]:
    rng = np.random.default_rng(seed)
    unit = np.repeat(np.arange(2 * strata), rng.integers(2, 9, 2 * strata))
    successes = rng.binomial(1, [0.7, 0.6], size=(unit.size, 2)).astype(float)
    return make_sample(unit.size, strata=unit // 2, units=unit), successes


@given(strata=st.integers(1, 40), seed=st.integers(0, 1000))
@examples(40)
def test_swapping_the_units_of_all_strata_changes_nothing(strata: int, seed: int) -> None:
    """With complements, the order of units does not matter to a rate of units of unequal size."""
    sample, successes = of_two_units(strata, seed)
    moved = swapped(sample, np.ones(strata, dtype=np.int64))
    for statistic in (rate(successes), rate(successes, within=(1 + successes[:, 1]) / 2)):
        one, other = make_estimates(sample, statistic), make_estimates(moved, statistic)
        np.testing.assert_allclose(other.covariance, one.covariance, rtol=1e-9, atol=1e-15)
        assert other.difference(0, 1).p_value == pytest.approx(one.difference(0, 1).p_value, rel=1e-9)


@given(strata=st.integers(1, 3), seed=st.integers(0, 1000), flips=st.integers(0, 7))
@examples(40)
def test_up_to_three_strata_any_swap_changes_nothing(strata: int, seed: int, flips: int) -> None:
    """Half-samples with their complements are then all half-samples."""
    sample, successes = of_two_units(strata, seed)
    moved = swapped(sample, (flips >> np.arange(strata)) & 1)
    one, other = make_estimates(sample, rate(successes)), make_estimates(moved, rate(successes))
    np.testing.assert_allclose(other.covariance, one.covariance, rtol=1e-9, atol=1e-15)
    assert other.difference(0, 1).p_value == pytest.approx(one.difference(0, 1).p_value, rel=1e-9)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("strata", [5, 7, 10, 20])
def test_names_of_units_matter_little(strata: int) -> None:
    """Without complements the error of a ratio changes by several percent with the names of its units."""
    rng, spread = np.random.default_rng(strata), []
    for complements in (True, False):
        result = []
        for seed in range(10):
            sample, successes = of_two_units(strata, seed)
            errors = [
                make_estimate(swapped(sample, rng.integers(0, 2, strata)), rate(successes[:, 0]), replication).se
                for replication in [Replication(complements=complements)] * 8
            ]
            result.append(np.std(errors) / np.mean(errors))
        spread.append(float(np.mean(result)))
    assert spread[0] < spread[1] / 3
    assert spread[0] < 0.015


def test_complements_do_not_change_linear_statistics() -> None:
    sample, successes = of_two_units(6, 1)
    plain, both = (make_estimate(sample, total(successes[:, 0]), Replication(complements=c)) for c in (False, True))
    assert (plain.se, plain.replicates) == (both.se, both.replicates)
    design, mirrored = balanced(sample), balanced(sample, complements=True)
    factors = np.concatenate(list(design.weights()))
    np.testing.assert_allclose(
        np.concatenate(list(mirrored.weights(block=3))), np.concatenate([factors, 2 - factors]), atol=1e-12
    )
    values = np.random.default_rng(0).normal(size=(12, 2))
    np.testing.assert_allclose(
        mirrored.totals(values), np.concatenate(list(mirrored.weights())) @ values, rtol=1e-10, atol=1e-12
    )
    assert (mirrored.count, mirrored.df) == (2 * design.count, design.df)


@pytest.mark.parametrize("units", [3, 4, 5, 7, 13])
def test_a_ratio_of_more_than_two_units_uses_the_textbook_variance(units: int) -> None:
    """Balanced replicates with Fay's 0.5 make such errors too small, and depend on the names of units."""
    sample, successes = drawn(units)
    inside = successes[:, 1]
    for statistic in (rate(successes[:, 0], within=inside), ratio(successes[:, 0], inside), rate(successes[:, 0])):
        result = make_estimate(sample, statistic)
        linear = make_estimate(sample, statistic, Replication("linearised"))
        assert (result.method, result.groupings, result.replicates, result.fay) == ("brr", "all", None, 0.0)
        assert (result.se, result.df) == pytest.approx((linear.se, linear.df), rel=1e-12)
    # With Fay's rho given, or for linear statistics, balanced replicates are used.
    assert make_estimate(sample, rate(successes[:, 0], within=inside), Replication(fay=0.5)).groupings is None
    assert make_estimate(sample, total(successes[:, 0])).groupings is None
    assert make_estimate(sample, total(successes[:, 0])).replicates is not None


@pytest.mark.parametrize("method", ["linearised", "jackknife", "bootstrap"])
def test_df_of_a_domain_are_its_units_minus_their_strata(method: str) -> None:
    """As in R's survey for a subset: strata and units without any of its cases do not count."""
    strata = np.repeat([0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3], 2)
    unit = np.repeat(np.arange(12), 2)
    sample = make_sample(24, strata=strata, units=unit)
    successes = np.random.default_rng(0).binomial(1, 0.5, 24).astype(float)
    # Three units of stratum 0, two of stratum 1, one of stratum 2, none of stratum 3; and everyone.
    domain = np.isin(unit, [0, 1, 2, 3, 4, 6]).astype(float)
    within = np.stack([domain, np.ones(24)], axis=1)
    replication = Replication(method, replicates=60)
    joint = make_estimates(sample, rate(np.stack([successes, successes], axis=1), within=within), replication)
    assert joint.design_df == 8
    np.testing.assert_array_equal(joint.domain_df, [6 - 3, 8])
    assert [one.df for one in joint.all()] == [3, 8]
    assert joint.difference(0, 1).df == 3
    assert make_estimate(sample, rate(successes, within=domain), replication).df == 3
    # A unit with one case of the domain is in it; one whose cases have weight 0 is not.
    half = domain * (np.arange(24) % 2)
    assert make_estimate(sample, rate(successes, within=half), replication).df == 3
    light = make_sample(24, strata=strata, units=unit, weights=np.where(unit == 1, 0.0, 1.0))
    assert make_estimate(light, rate(successes, within=domain), replication).df == 2


def test_a_domain_of_a_single_unit_has_no_interval() -> None:
    sample = make_sample(24, units=np.repeat(np.arange(8), 3))
    successes = np.random.default_rng(1).binomial(1, 0.5, size=(24, 2)).astype(float)
    alone, rest = np.repeat([1.0, 0.0], [3, 21]), np.repeat([0.0, 1.0], [3, 21])
    joint = make_estimates(sample, shares([successes[:, 0] * alone, successes[:, 1] * rest], [alone, rest]))
    lone, others = joint.all()
    assert lone.value == successes[:3, 0].mean()
    assert (lone.df, lone.interval, lone.p_value) == (0, None, None)
    assert (others.df, others.interval is None) == (6, False)
    gap = joint.difference(0, 1)
    assert (gap.df, gap.interval, gap.p_value) == (0, None, None)
    quotient = joint.ratio(1, 0)
    assert quotient is None or quotient.interval is None
    assert lone.at(0.9) is None


def test_shares_of_the_same_cases_are_a_rate() -> None:
    sample, successes = drawn(3)
    inside = successes[:, 2]
    for counted in (np.ones(len(inside)), inside):
        result = shares([successes[:, 0], successes[:, 1]], [counted, counted.copy()])
        want = rate(successes[:, :2]) if counted.all() else rate(successes[:, :2], within=counted)
        np.testing.assert_array_equal(result.columns, want.columns)
        np.testing.assert_array_equal(full_values(sample, result), full_values(sample, want))


@pytest.mark.parametrize("units", [2, 3, 6])
def test_shares_of_different_cases_are_single_rates(units: int) -> None:
    """Such as groups of cases: each has its own denominator, and they have a covariance."""
    sample, successes = drawn(units)
    group = np.arange(sample.cases) % 2 == 0
    result = make_estimates(
        sample, shares([successes[:, 0] * group, successes[:, 0] * ~group], [group, ~group]), Replication("linearised")
    )
    for member, inside in enumerate((group, ~group)):
        single = make_estimate(sample, rate(successes[:, 0], within=inside), Replication("linearised"))
        assert (result.values[member], result.se[member]) == pytest.approx((single.value, single.se), rel=1e-10)
        assert result.estimate(member).df == single.df
    w, y = sample.weights, successes[:, 0]
    scores = [
        np.where(inside, w * (y - v), 0) / w[inside].sum()
        for inside, v in ((group, result.values[0]), (~group, result.values[1]))
    ]
    by_unit = np.stack([np.bincount(sample.unit_of_case, weights=score) for score in scores], axis=1)
    want = sum(units * np.cov(by_unit[sample.stratum_of_unit == h], rowvar=False) for h in range(6))
    np.testing.assert_allclose(result.covariance, want, rtol=1e-9, atol=1e-15)


def test_formulas_are_the_same_by_members_and_one_by_one() -> None:
    """The complex step against the analytic derivative of x^2 / (x + y): (x^2 + 2 x y, -x^2) / (x + y)^2."""
    sample, successes = drawn(6)
    columns = np.stack(
        [successes[:, 0] + 0.5, np.ones(sample.cases), successes[:, 1] + 0.5, np.ones(sample.cases)], axis=1
    )
    joint = make_estimates(sample, SmoothFormula(columns, formula=quadratic, parts=2), Replication("linearised"))
    for member in range(2):
        x, y = sample.weights @ columns[:, 2 * member], sample.weights.sum()
        slope = np.array([x**2 + 2 * x * y, -(x**2)]) / (x + y) ** 2
        by_unit = unit_sums(sample, columns[:, 2 * member : 2 * member + 2] @ slope)
        assert joint.values[member] == pytest.approx(x**2 / (x + y), rel=1e-12)
        assert joint.se[member] ** 2 == pytest.approx(stratum_variances(sample, by_unit).sum(), rel=1e-10)


def test_independent_cases_have_the_textbook_covariance() -> None:
    """Without strata, units or weights: the sample covariance over n, and design effects of 1."""
    successes = np.random.default_rng(5).binomial(1, [0.8, 0.6, 0.3], size=(50, 3)).astype(float)
    joint = make_estimates(make_sample(50), rate(successes))
    np.testing.assert_allclose(joint.covariance, np.cov(successes, rowvar=False) / 50, rtol=1e-10)
    assert [result.design_effect for result in [*joint.all(), joint.difference(0, 2)]] == pytest.approx([1] * 4)
    assert [result.icc for result in joint.all()] == [None] * 3


def test_sign_flips_complement_the_t_test() -> None:
    """Five units that all agree have p = 1/16, whatever Student's t gives."""
    a = np.concatenate([np.ones(20), [1, 0, 0, 0]])
    b = np.concatenate([np.tile([1, 1, 0, 0], 4), [1, 0, 0, 0], [0, 0, 0, 0]])
    joint = make_estimates(make_sample(24, units=np.repeat(np.arange(6), 4)), rate(np.stack([a, b], axis=1)))
    result = joint.difference(0, 1)
    # Units differ by 2, 2, 2, 2, 3 and 1 cases: all on one side.
    assert result.p_sign_flip == pytest.approx(2 / 2**6)
    assert result.p_value == pytest.approx(2 * student.sf(result.value / result.se, 5))
    assert joint.estimate(0).p_sign_flip is None


@pytest.mark.parametrize("method", METHODS)
def test_confidence_only_changes_limits(method: str) -> None:
    sample, successes = drawn(2)
    wide, narrow = (
        make_estimates(sample, rate(successes), Replication(method, replicates=60, confidence=c)) for c in (0.99, 0.9)
    )
    np.testing.assert_array_equal(wide.covariance, narrow.covariance)
    for one, other in ((wide.estimate(0), narrow.estimate(0)), (wide.difference(0, 1), narrow.difference(0, 1))):
        assert one.interval is not None
        assert other.interval is not None
        assert one.interval.low < other.interval.low < other.value < other.interval.high < one.interval.high
        assert (one.p_value, one.p_sign_flip) == (other.p_value, other.p_sign_flip)


def joint_of(kind: str, confidence: float) -> Estimates:
    sample, successes = drawn(3)
    return make_estimates(sample, of_columns(kind, successes)([0, 1, 2]), Replication("brr", confidence=confidence))


@pytest.mark.parametrize("confidence", [0.8, 0.9, 0.99])
@pytest.mark.parametrize("kind", ["rate", "within", "ratio", "total", "smooth", "weights"])
def test_limits_at_another_confidence_equal_those_computed_at_it(kind: str, confidence: float) -> None:
    for result, want in zip(joint_of(kind, 0.95).all(), joint_of(kind, confidence).all(), strict=True):
        assert result.at(0.95) == result.interval
        assert result.at(confidence) == want.interval
    assert joint_of(kind, 0.95).at(confidence).difference(0, 2) == joint_of(kind, confidence).difference(0, 2)
    assert joint_of(kind, 0.95).at(confidence).ratio(0, 1) == joint_of(kind, confidence).ratio(0, 1)


@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.99])
@pytest.mark.parametrize("kind", ["rate", "within", "ratio", "total", "smooth", "weights"])
def test_limits_of_a_difference_at_another_confidence_equal_those_computed_at_it(kind: str, confidence: float) -> None:
    result, want = joint_of(kind, 0.95).difference(0, 1), joint_of(kind, confidence).difference(0, 1)
    other = result.at(confidence)
    assert other is not None
    assert want.interval is not None
    assert (other.low, other.high) == pytest.approx((want.interval.low, want.interval.high), rel=1e-9)


@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.99])
def test_limits_of_a_ratio_at_another_confidence_equal_those_computed_at_it(confidence: float) -> None:
    result, want = joint_of("rate", 0.95).ratio(0, 1), joint_of("rate", confidence).ratio(0, 1)
    assert result is not None
    assert want is not None
    other = result.at(confidence)
    assert other is not None
    assert want.interval is not None
    assert (other.low, other.high) == pytest.approx((want.interval.low, want.interval.high), rel=1e-9)


def test_satterthwaite_of_a_difference_counts_the_strata_where_it_varies() -> None:
    sample = make_sample(6, strata=np.repeat([1, 2], 3))
    columns = np.array([[0, 1, 5, 2, 2, 2], [0, 1, 5, 1, 2, 6], [0, 0, 0, 4, 0, 0]], dtype=float).T
    joint = make_estimates(sample, total(columns), Replication(df="satterthwaite"))
    assert [result.df for result in joint.all()] == pytest.approx([2, 4, 2])
    # The first two differ in the second stratum only.
    assert joint.difference(0, 1).df == pytest.approx(2)


def test_shapes_and_values_that_are_refused() -> None:
    sample = make_sample(4, strata=[1, 1, 2, 2])
    with pytest.raises(ValueError, match="3 dimensions; expected one value per case"):
        rate(np.ones((4, 2, 2)))
    with pytest.raises(ValueError, match="case 2 has 3"):
        rate([[1, 0], [1, 1], [0, 3], [1, 1]])
    with pytest.raises(ValueError, match="has 5 cases, but the sample has 4"):
        make_estimates(sample, rate(np.ones((5, 2))))
    # A single column of successes is one member.
    assert len(make_estimates(sample, rate([1, 0, 1, 1]))) == 1
    with pytest.raises(ValueError, match="whole sample's estimate is nan"):
        make_estimates(sample, rate(np.ones((4, 2)), within=[[1, 0], [1, 0], [1, 0], [1, 0]]))


def test_independent_cases_of_one_weight_have_wilsons_newcombes_and_mcnemars() -> None:
    """The well-known methods for the same cases: statsmodels has the first, scipy the sign test behind the last."""
    rng = np.random.default_rng(6)
    a, b = (rng.random(200) < 0.82).astype(float), (rng.random(200) < 0.74).astype(float)
    joint = make_estimates(make_sample(200), rate(np.stack([a, b], axis=1)))
    own, gap = joint.estimate(0), joint.difference(0, 1)
    assert own.interval is not None
    assert gap.interval is not None
    assert (own.interval.low, own.interval.high) == pytest.approx(proportion_confint(a.sum(), 200, method="wilson"))
    only_a, only_b = int((a > b).sum()), int((b > a).sum())
    assert gap.p_value == pytest.approx(binomtest(only_a, only_a + only_b).pvalue)
    newcombe = paired_difference(PairTable.of(a, b)).interval
    assert (gap.interval.low, gap.interval.high) == pytest.approx((newcombe.low, newcombe.high))
    # Equal weights are the same as none.
    heavy = make_estimates(make_sample(200, weights=np.full(200, 0.1)), rate(np.stack([a, b], axis=1)))
    assert heavy.difference(0, 1).p_value == pytest.approx(gap.p_value)
    assert heavy.limits.low[0] == pytest.approx(own.interval.low, rel=1e-12)


def test_groups_that_share_units_of_unequal_size_are_not_said_to_differ() -> None:
    # Eight equal groups in twelve units of very unequal size, each unit good or bad at each group: with the degrees of
    # freedom of equal units, 30 % of such tests find a difference at 5 %.
    rng, runs, groups, units = np.random.default_rng(41), 120, 8, 12
    usual = found = 0
    for _ in range(runs):
        sizes = rng.geometric(0.1, size=units)
        unit = np.repeat(np.arange(units), groups * sizes)
        group = np.concatenate([np.repeat(np.arange(groups), size) for size in sizes])
        right = rng.random(unit.size) < rng.beta(3.2, 0.8, size=(units, groups))[unit, group]
        members = [group == number for number in range(groups)]
        of = make_estimates(make_sample(unit.size, units=unit), shares([right & one for one in members], members))
        found += of.equality().p_value <= 0.05
        usual += equal_rates(of.values, of.covariance, df=units - 1).p_value <= 0.05
    assert usual / runs > 0.15
    assert found / runs < 0.08

"""Lone units: joins in a given order, and R's other choices against R (tests/data/replication/lone_reference.R)."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness.stats.replication.estimates import make_estimate
from harness.stats.replication.method import Replication
from harness.stats.replication.replicates import Centre
from harness.stats.replication.resampling import delete_one
from harness.stats.replication.sample import LoneStrata, Sample, joins_of_strata, make_sample, unit_sums
from harness.stats.replication.statistic import WeightsStatistic, rate, ratio

REFERENCE: dict[str, Any] = json.loads(
    (Path(__file__).parents[2] / "data" / "replication" / "lone_reference.json").read_text()
)
CASES = REFERENCE["input"]


def sample_of(lone: str) -> Sample:
    return make_sample(
        len(CASES["a"]), strata=CASES["stratum"], units=CASES["psu"], weights=CASES["w"], order=None, lone=lone
    )


@pytest.mark.parametrize("lone", ["remove", "certainty", "adjust", "average"])
def test_linearised_variance_is_that_of_r(lone: str) -> None:
    expected, replication = REFERENCE["taylor"][lone], Replication(method="linearised")
    mean = make_estimate(sample_of(lone), rate(CASES["a"]), replication)
    quotient = make_estimate(sample_of(lone), ratio(CASES["a"], CASES["b"]), replication)
    assert (mean.value, mean.se**2) == pytest.approx((expected["mean"], expected["mean_variance"]), rel=1e-10)
    assert (quotient.value, quotient.se**2) == pytest.approx((expected["ratio"], expected["ratio_variance"]), rel=1e-10)
    assert mean.df == expected["df"]
    assert mean.lone == lone


@pytest.mark.parametrize("centre", ["full", "mean"])
@pytest.mark.parametrize("lone", ["remove", "certainty", "adjust"])
def test_jackknife_is_that_of_r(lone: str, centre: Centre) -> None:
    expected, replication = REFERENCE["jackknife"][f"{lone}_{centre}"], Replication(method="jackknife", centre=centre)
    mean = make_estimate(sample_of(lone), rate(CASES["a"]), replication)
    quotient = make_estimate(sample_of(lone), ratio(CASES["a"], CASES["b"]), replication)
    assert mean.se**2 == pytest.approx(expected["mean_variance"], rel=1e-10)
    assert quotient.se**2 == pytest.approx(expected["ratio_variance"], rel=1e-10)


def test_average_scales_up_the_other_strata() -> None:
    removed, averaged = (
        make_estimate(sample_of(lone), rate(CASES["a"]), Replication("jackknife")) for lone in ("remove", "average")
    )
    assert averaged.se**2 == pytest.approx(removed.se**2 * 10 / 7, rel=1e-12)


@pytest.mark.parametrize("lone", ["remove", "adjust"])
def test_totals_are_the_factors_times_the_values(lone: str) -> None:
    sample = sample_of(lone)
    replicates = delete_one(sample)
    values = np.random.default_rng(5).normal(size=(sample.units, 2))
    factors = np.concatenate(list(replicates.weights(block=4)))
    assert len(factors) == replicates.count
    np.testing.assert_allclose(replicates.totals(values), factors @ values, atol=1e-12)


def test_balanced_replicates_include_lone_units() -> None:
    strata = [1, 1, 2, 2, 3, 4, 4]
    sample = make_sample(7, strata=strata, lone="certainty")
    successes = np.array([1, 0, 1, 1, 1, 0, 1.0])
    result = make_estimate(sample, rate(successes))
    # Each of the three pairs adds (difference / 7)^2; the lone unit adds nothing.
    assert (result.method, result.replicates, result.df) == ("brr", 4, 3)
    assert result.se**2 == pytest.approx(2 / 49, rel=1e-12)
    by_weights = make_estimate(sample, WeightsStatistic(lambda w: float(w @ successes / w.sum())), Replication(fay=0.0))
    assert by_weights.se == pytest.approx(result.se, rel=1e-12)


def test_pairs_a_triple_and_a_neighbour() -> None:
    def joins(*sizes: int) -> list[tuple[int, ...]]:
        return joins_of_strata(np.array(sizes), [str(i) for i in range(len(sizes))], LoneStrata.COLLAPSE)

    assert joins(2, 3) == []
    assert joins(1, 2, 1) == [(0, 2)]
    assert joins(1, 1, 2, 1) == [(0, 1, 3)]
    assert joins(1, 1, 1, 1) == [(0, 1), (2, 3)]
    assert joins(2, 1, 2) == [(1, 2)]
    assert joins(2, 2, 1) == [(1, 2)]


def test_strata_of_one_case_are_joined_by_name_and_named() -> None:
    names = ["d", "a", "c", "b", "e"]
    sample = make_sample(5, strata=names)
    assert sample.collapsed == (("a", "b"), ("c", "d", "e"))
    assert sample.stratum_names == ("a+b", "c+d+e")
    successes = np.array([1, 1, 0, 0, 1.0])
    result = make_estimate(sample, rate(successes))
    textbook = 2 * np.var([1, 0], ddof=1) + 3 * np.var([0, 1, 1], ddof=1)
    assert result.se**2 == pytest.approx(textbook / 25, rel=1e-12)
    assert (result.df, result.groupings, result.collapsed) == (3, "all", sample.collapsed)


def test_a_given_order_determines_the_pairs() -> None:
    sample = make_sample(4, strata=["a", "b", "c", "d"], order=[1, 3, 2, 4])
    assert sample.collapsed == (("a", "c"), ("b", "d"))


def test_an_order_that_varies_within_a_stratum_is_refused() -> None:
    with pytest.raises(ValueError, match="stratum a has the values 1 and 2"):
        make_sample(3, strata=["a", "a", "b"], order=[1, 2, 3])


def test_fail_names_the_stratum() -> None:
    with pytest.raises(ValueError, match="stratum 2 has a single unit"):
        sample_of("fail")


def test_a_single_unit_has_no_variance() -> None:
    with pytest.raises(ValueError, match="no stratum has two units"):
        make_sample(1)
    with pytest.raises(ValueError, match="no stratum has two units"):
        make_sample(3, strata=[1, 2, 3], lone="remove")


def test_unknown_treatment() -> None:
    with pytest.raises(ValueError, match="expected one of collapse, fail"):
        make_sample(2, lone="ignore")


def test_joins_of_strata_that_are_not_adjacent() -> None:
    sample = make_sample(6, strata=["a", "b", "b", "c", "d", "d"])
    assert sample.collapsed == (("a", "c"),)
    assert sample.stratum_names == ("a+c", "b", "d")
    np.testing.assert_array_equal(sample.stratum_of_unit, [0, 0, 1, 1, 2, 2])
    np.testing.assert_array_equal(sample.unit_of_case, [0, 2, 3, 1, 4, 5])


def test_joined_strata_keep_their_weights() -> None:
    sample = make_sample(4, strata=[1, 2, 3, 3], weights=[1, 2, 3, 4])
    np.testing.assert_allclose(sorted(unit_sums(sample, np.ones(4))), [1, 2, 3, 4])

"""The sample: numbering by stratum, weighted sums, wrong input, and lone units as R has them (lone_reference.R)."""

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


def test_units_are_numbered_stratum_by_stratum() -> None:
    sample = make_sample(6, strata=["b", "a", "b", "a", "a", "b"], units=[1, 2, 3, 4, 2, 1])
    assert (sample.cases, sample.units, sample.strata) == (6, 4, 2)
    assert sample.stratum_names == ("a", "b")
    np.testing.assert_array_equal(sample.stratum_of_unit, [0, 0, 1, 1])
    np.testing.assert_array_equal(sample.unit_of_case, [2, 0, 3, 1, 0, 2])
    np.testing.assert_array_equal(sample.stratum_sizes, [2, 2])


def test_labels_that_are_reused_in_every_stratum() -> None:
    sample = make_sample(4, strata=[1, 1, 2, 2], units=[1, 2, 1, 2], nested=True)
    assert sample.units == 4


@pytest.mark.parametrize("nested", [False, True])
def test_numbers_and_texts_as_labels_give_the_same_sample(nested: bool) -> None:
    """Numbers are counted, texts are sorted; those of four digits sort alike. Lone strata are joined by name."""
    rng = np.random.default_rng(1)
    home = rng.integers(0, 9, 40) * 3
    units = rng.integers(0, 40, 300) * 7
    strata = rng.integers(0, 9, 300) if nested else home[units // 7]
    samples = [
        make_sample(300, strata=make(strata), units=make(units), nested=nested)
        for make in (np.asarray, lambda numbers: [f"{number:04}" for number in numbers])
    ]
    for name in ("unit_of_case", "stratum_of_unit"):
        np.testing.assert_array_equal(*(getattr(sample, name) for sample in samples))
    assert [[f"{int(part):04}" for part in name.split("+")] for name in samples[0].stratum_names] == [
        name.split("+") for name in samples[1].stratum_names
    ]


def test_a_unit_in_two_strata() -> None:
    with pytest.raises(ValueError, match=r"unit 7 lies in strata 1 and 2.*say that units are nested"):
        make_sample(4, strata=[1, 1, 2, 2], units=[6, 7, 7, 8])


def test_weighted_sums_against_a_loop() -> None:
    rng = np.random.default_rng(0)
    weights, units, values = rng.random(50), rng.integers(0, 7, 50), rng.normal(size=(50, 3))
    sample = make_sample(50, units=units, weights=weights)
    expected = [sum(weights[i] * values[i] for i in range(50) if units[i] == unit) for unit in range(7)]
    np.testing.assert_allclose(unit_sums(sample, values), expected, rtol=1e-12)
    np.testing.assert_allclose(unit_sums(sample, values[:, 1]), np.array(expected)[:, 1], rtol=1e-12)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1, -1], "case 1 has weight -1"),
        ([np.nan, 1], "case 0 has weight nan"),
        ([0, 0], "all are zero"),
        ([1], "one weight"),
    ],
)
def test_weights_that_are_refused(weights: list[float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make_sample(2, weights=weights)


def test_shapes_that_are_refused() -> None:
    with pytest.raises(ValueError, match="strata: shape"):
        make_sample(2, strata=[1, 1, 2])
    with pytest.raises(ValueError, match="at least one case"):
        make_sample(0)
    with pytest.raises(ValueError, match="3 values for 2 cases"):
        unit_sums(make_sample(2), [1, 2, 3])
    with pytest.raises(ValueError, match="3 dimensions"):
        unit_sums(make_sample(2), np.zeros((2, 1, 1)))


def test_mixed_labels_are_treated_as_text() -> None:
    sample = make_sample(4, strata=np.array(["a", 1, "a", 1], dtype=object))
    assert sample.stratum_names == ("1", "a")


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

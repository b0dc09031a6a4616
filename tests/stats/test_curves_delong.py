"""DeLong's variance: against pROC's stored values, the kernel written out, and where the variance vanishes."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.stats.curves.cases import BoolArray, FloatArray, make_cases
from harness.stats.curves.delong import auc_interval, delong, delong_test, placements

SETS = json.loads((Path(__file__).parents[1] / "data" / "curves" / "proc.json").read_text())["sets"]


def draw(seed: int, n: int = 40) -> tuple[FloatArray, FloatArray, BoolArray]:
    rng = np.random.default_rng(seed)
    positive = np.arange(n) < n // 3
    common = rng.normal(size=n) + positive
    return np.round(common + rng.normal(size=n)), np.round(common + rng.normal(size=n)), positive


def brute_structure(scores: FloatArray, positive: BoolArray) -> tuple[float, FloatArray, FloatArray]:
    kernel = (scores[positive, None] > scores[~positive]) + 0.5 * (scores[positive, None] == scores[~positive])
    return float(kernel.mean()), kernel.mean(axis=1), kernel.mean(axis=0)


@pytest.mark.parametrize("stored", SETS, ids=lambda s: s["input"]["name"])
def test_variances_and_test_equal_proc(stored: dict[str, Any]) -> None:
    scores, want = stored["input"], stored["reference"]
    areas = delong([make_cases(scores[c], scores["label"]) for c in ("s1", "s2")])
    assert areas.covariance[0, 0] == pytest.approx(want["var1"], rel=1e-11)
    assert areas.covariance[1, 1] == pytest.approx(want["var2"], rel=1e-11)
    assert areas.covariance[0, 1] == pytest.approx(want["cov12"], rel=1e-11)
    test = delong_test(make_cases(scores["s1"], scores["label"]), make_cases(scores["s2"], scores["label"]))
    assert test.z == pytest.approx(want["delong_z"], rel=1e-10)
    assert test.p_value == pytest.approx(want["delong_p"], rel=1e-10)
    for column, key in (("s1", "ci1"), ("s2", "ci2")):
        got = auc_interval(make_cases(scores[column], scores["label"]))
        np.testing.assert_allclose([got.interval.low, got.auc, got.interval.high], want[key], rtol=0, atol=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_covariance_equals_the_kernel_written_out(seed: int) -> None:
    a, b, positive = draw(seed)
    (auc_a, p_a, n_a), (auc_b, p_b, n_b) = brute_structure(a, positive), brute_structure(b, positive)
    areas = delong([make_cases(a, positive), make_cases(b, positive)])
    np.testing.assert_allclose(areas.auc, [auc_a, auc_b], rtol=0, atol=1e-13)
    want = np.cov(p_a, p_b) / p_a.size + np.cov(n_a, n_b) / n_a.size
    np.testing.assert_allclose(areas.covariance, want, rtol=1e-10, atol=1e-15)


def test_placements_average_to_the_area_in_both_classes() -> None:
    a, _, positive = draw(1)
    weights = np.random.default_rng(1).random(a.size)
    placed = placements(make_cases(a, positive, weights=weights))
    for of in (positive, ~positive):
        assert np.average(placed.values[of], weights=weights[of]) == pytest.approx(placed.auc, abs=1e-13)


@given(st.integers(0, 1000))
def test_invariances(seed: int) -> None:
    a, b, positive = draw(seed, 20)
    one, other = make_cases(a, positive), make_cases(b, positive)
    test, back = delong_test(one, other), delong_test(other, one)
    assert (test.z, test.p_value) == pytest.approx((-back.z, back.p_value), abs=1e-9)
    se = auc_interval(one).se
    assert auc_interval(make_cases(np.exp(a), positive)).se == pytest.approx(se, abs=1e-12)
    swapped = auc_interval(make_cases(a, ~positive, larger_is_better=False))
    assert (swapped.auc, swapped.se) == pytest.approx((test.auc_a, se), abs=1e-12)
    equal = auc_interval(make_cases(a, positive, weights=np.full(a.size, 3.5)))
    assert equal.se == pytest.approx(se, abs=1e-12)


def test_a_column_against_itself_or_its_transform_does_not_differ() -> None:
    a, _, positive = draw(2)
    for other in (a, np.exp(a)):
        test = delong_test(make_cases(a, positive), make_cases(other, positive))
        assert (test.z, test.p_value, test.difference) == (0.0, 1.0, 0.0)


def test_perfect_separation_is_no_certainty() -> None:
    found = auc_interval(make_cases([5.0, 6.0, 7.0, 1.0, 2.0, 3.0, 4.0], [1, 1, 1, 0, 0, 0, 0]))
    assert found.auc == 1.0
    assert found.bounded
    # Wilson for 3 of 3: 3 / (3 + 1.96^2).
    assert found.interval.low == pytest.approx(3 / (3 + 1.959963984540054**2))
    assert found.interval.high == 1.0


def test_perfect_against_useless_has_a_finite_z() -> None:
    test = delong_test(make_cases([5.0, 6.0, 1.0, 2.0], [1, 1, 0, 0]), make_cases([0.0] * 4, [1, 1, 0, 0]))
    assert test.difference == 0.5
    assert 0 < test.z < 10
    assert 0 < test.p_value < 1


def test_coverage_for_independent_cases() -> None:
    # Normal scores with d' = 1: the true area is Phi(1 / sqrt(2)). 1,000 draws: a coverage of 95 % is estimated
    # with a standard error of 0.7 %, so that 92.5 to 97.5 % is more than three of them.
    from scipy.special import ndtr

    rng = np.random.default_rng(5)
    positive = np.arange(120) < 50
    truth = float(ndtr(1 / np.sqrt(2)))
    inside = 0
    for _ in range(1000):
        found = auc_interval(make_cases(rng.normal(size=120) + positive, positive))
        inside += found.interval.low <= truth <= found.interval.high
    assert 925 <= inside <= 975


def test_cases_of_weight_0_have_no_say() -> None:
    a, _, positive = draw(3)
    keep = np.arange(a.size) % 4 > 0
    weighted = auc_interval(make_cases(a, positive, weights=2.0 * keep))
    part = auc_interval(make_cases(a[keep], positive[keep]))
    assert (weighted.auc, weighted.se) == pytest.approx((part.auc, part.se), abs=1e-12)
    with pytest.raises(ValueError, match="no positive case"):
        placements(make_cases(a, positive, weights=1.0 * ~positive))


def test_too_few_cases_are_refused() -> None:
    with pytest.raises(ValueError, match="1 positive cases"):
        auc_interval(make_cases([1.0, 2.0, 3.0], [1, 0, 0]))

"""Intervals for a rate, against R, against a search for the defining limits, and in limiting cases."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import bdtr, bdtrc, ndtri
from statsmodels.stats.proportion import proportion_confint

from harness.stats.rates import (
    Interval,
    Intervals,
    clopper_pearson,
    jeffreys,
    normal_quantile,
    wilson,
)

REFERENCE = json.loads((Path(__file__).parents[1] / "data/paired/reference.json").read_text())
METHODS: list[Callable[..., Any]] = [wilson, clopper_pearson, jeffreys]


@pytest.mark.parametrize("row", REFERENCE["prop"], ids=lambda r: f"{r['x']}/{r['n']}")
def test_matches_r(row: dict[str, Any]) -> None:
    x, n = row["x"], row["n"]
    for got, expected in [
        (wilson(x, n), row["wilson95"]),
        (clopper_pearson(x, n), row["clopper_pearson95"]),
        (clopper_pearson(x, n, confidence=0.99), row["clopper_pearson99"]),
    ]:
        assert [got.low, got.high] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(("x", "n"), [(1, 10), (5, 10), (153, 366), (999, 1000)])
def test_jeffreys_matches_statsmodels(x: int, n: int) -> None:
    got = jeffreys(x, n, confidence=0.9)
    expected = proportion_confint(x, n, alpha=0.1, method="jeffreys")
    assert (got.low, got.high) == pytest.approx(expected, abs=1e-12)


@given(n=st.integers(1, 400), data=st.data())
def test_wilson_inverts_the_score_test(n: int, data: st.DataObject) -> None:
    x = data.draw(st.integers(0, n))
    interval = wilson(x, n)
    for limit in (interval.low, interval.high):
        if 0 < limit < 1:
            score = (x / n - limit) / (limit * (1 - limit) / n) ** 0.5
            assert abs(score) == pytest.approx(1.959963984540054, rel=1e-9)


@given(n=st.integers(1, 400), data=st.data())
def test_clopper_pearson_inverts_the_binomial_test(n: int, data: st.DataObject) -> None:
    x = data.draw(st.integers(0, n))
    interval = clopper_pearson(x, n)
    if x > 0:
        assert bdtrc(x - 1, n, interval.low) == pytest.approx(0.025, abs=1e-9)
    if x < n:
        assert bdtr(x, n, interval.high) == pytest.approx(0.025, abs=1e-9)


@pytest.mark.parametrize("interval", METHODS)
@given(n=st.floats(0, 1e6), share=st.floats(0, 1), confidence=st.sampled_from([0.8, 0.95, 0.99]))
def test_brackets_the_rate_and_mirrors(
    interval: Callable[..., Interval], n: float, share: float, confidence: float
) -> None:
    x = min(share * n, n)
    here, mirrored = interval(x, n, confidence=confidence), interval(n - x, n, confidence=confidence)
    assert 0 <= here.low <= here.high <= 1
    if n > 0:
        assert here.low - 1e-9 <= x / n <= here.high + 1e-9
    assert here.low == pytest.approx(1 - mirrored.high, abs=1e-9)


@pytest.mark.parametrize("interval", METHODS)
def test_vectors_equal_scalars(interval: Callable[..., Any]) -> None:
    x, n = np.array([0, 0, 1, 2.5, 7, 40]), np.array([0, 9, 9, 9.25, 7, 1e6])
    got = interval(x, n, confidence=0.9, design_effect=1.3)
    assert isinstance(got, Intervals)
    singles = [interval(a, b, confidence=0.9, design_effect=1.3) for a, b in zip(x, n, strict=True)]
    np.testing.assert_allclose(got.low, [s.low for s in singles], rtol=0, atol=1e-15)
    np.testing.assert_allclose(got.high, [s.high for s in singles], rtol=0, atol=1e-15)
    assert all(isinstance(single, Interval) for single in singles)
    assert interval(np.ones((3, 1)), np.full(4, 5)).low.shape == (3, 4)


@pytest.mark.parametrize("interval", METHODS)
def test_limits_at_the_ends_and_without_cases(interval: Callable[..., Interval]) -> None:
    assert interval(0, 0) == Interval(0.0, 1.0)
    assert interval(0, 50).low == 0.0
    assert 0 < interval(0, 50).high < 0.1
    assert interval(50, 50).high == 1.0
    assert 0.9 < interval(50, 50).low < 1


@pytest.mark.parametrize("interval", METHODS)
def test_design_effect_divides_the_counts(interval: Callable[..., Interval]) -> None:
    assert interval(30, 100, design_effect=2.5) == interval(12, 40)


@pytest.mark.parametrize("as_array", [False, True])
@pytest.mark.parametrize("interval", METHODS)
@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((3, 2), {}, "3.* successes of 2"),
        ((-1, 2), {}, "between 0 and the number"),
        ((float("nan"), 2), {}, "nan successes"),
        ((1, float("inf")), {}, "not a finite number"),
        ((1, 2), {"confidence": 95}, "0.95 for 95 %"),
        ((1, 2), {"design_effect": 0}, "design effect"),
    ],
)
def test_wrong_input_is_refused(
    interval: Callable[..., object],
    as_array: bool,
    arguments: tuple[float, float],
    options: dict[str, float],
    message: str,
) -> None:
    given = [np.array([value]) for value in arguments] if as_array else arguments
    with pytest.raises(ValueError, match=message):
        interval(*given, **options)


def test_rounding_past_n_is_accepted() -> None:
    assert wilson(7.000000000000001, 7.0) == wilson(7.0, 7.0)


@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.95, 0.99, 0.999999])
def test_normal_quantile(confidence: float) -> None:
    assert normal_quantile(confidence) == pytest.approx(-ndtri((1 - confidence) / 2), rel=1e-13)


def test_wilson_imports_neither_numpy_nor_scipy() -> None:
    code = (
        "import sys; from harness.stats.rates import wilson; wilson(3, 4); print({'numpy', 'scipy'} & set(sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "set()\n"

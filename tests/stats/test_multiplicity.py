"""Adjusted p-values against R's p.adjust and as closed tests; max-t against Dunnett, Tukey; letters by every subset."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from contextlib import AbstractContextManager
from itertools import combinations
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import dunnett, norm, studentized_range
from scipy.stats import t as student

from harness.stats.multiplicity import (
    LetterDisplay,
    MaxT,
    Multiplicity,
    adjusted,
    benjamini_hochberg,
    distinct_matrix,
    hochberg,
    holm,
    letter_display,
    max_t,
)
from tests.simulation import experiments, slack

REFERENCE = json.loads((Path(__file__).parents[1] / "data/paired/reference.json").read_text())
p_lists = st.lists(st.floats(0, 1), min_size=1, max_size=7)


@pytest.mark.parametrize("row", REFERENCE["p_adjust"], ids=lambda r: f"{len(r['p'])} tests")
def test_matches_r(row: dict[str, list[float]]) -> None:
    for method, expected in [(holm, "holm"), (hochberg, "hochberg"), (benjamini_hochberg, "BH")]:
        np.testing.assert_allclose(method(row["p"]), row[expected], rtol=1e-12)


@given(p=p_lists)
def test_holm_is_the_closed_bonferroni_test(p: list[float]) -> None:
    # Rejected if Bonferroni rejects every set of hypotheses that contains it: the definition by closure.
    everyone = range(len(p))
    subsets = [s for size in range(1, len(p) + 1) for s in combinations(everyone, size)]
    closed = [max(min(1.0, len(s) * min(p[k] for k in s)) for s in subsets if i in s) for i in everyone]
    np.testing.assert_allclose(holm(p), closed, rtol=1e-12)


@given(p=p_lists)
def test_order_of_the_methods(p: list[float]) -> None:
    fdr, sharper, safe = benjamini_hochberg(p), hochberg(p), holm(p)
    assert (np.asarray(p) <= fdr + 1e-15).all()
    assert (fdr <= sharper + 1e-12).all()
    assert (sharper <= safe + 1e-12).all()
    assert (safe <= np.minimum(1, len(p) * np.asarray(p)) + 1e-12).all()


@given(p=p_lists, seed=st.integers(0, 99))
def test_permuting_the_tests_permutes_the_answers(p: list[float], seed: int) -> None:
    order = np.random.default_rng(seed).permutation(len(p))
    for method in (holm, hochberg, benjamini_hochberg):
        np.testing.assert_allclose(method(np.asarray(p)[order]), method(p)[order], rtol=1e-12)


def test_unknown_p_is_left_out() -> None:
    np.testing.assert_allclose(holm([0.01, np.nan, 0.04]), [0.02, np.nan, 0.04])
    assert holm([]).size == 0


def test_wrong_input_is_refused() -> None:
    with pytest.raises(ValueError, match=r"1.5 is not a p-value"):
        holm([0.1, 1.5])
    with pytest.raises(ValueError, match="shape"):
        benjamini_hochberg([[0.1]])


def all_pairs(m: int) -> list[tuple[int, int]]:
    return list(combinations(range(m), 2))


def with_baseline(m: int) -> list[tuple[int, int]]:
    return [(0, other) for other in range(1, m)]


def of_seed(
    covariance: npt.ArrayLike, pairs: list[tuple[int, int]], t: npt.ArrayLike, df: float = math.inf, seed: int = 1
) -> MaxT:
    return max_t(covariance, pairs, t, df, rng=np.random.default_rng(seed))


def random_covariance(seed: int, m: int) -> npt.NDArray[np.float64]:
    root = np.random.default_rng(seed).normal(size=(m, m + 2))
    return np.asarray(root @ root.T / 1e4)


@pytest.mark.parametrize("method", [Multiplicity.HOLM, Multiplicity.HOCHBERG, Multiplicity.BH])
def test_adjusted_by_name(method: Multiplicity) -> None:
    function = {"holm": holm, "hochberg": hochberg, "bh": benjamini_hochberg}[method]
    np.testing.assert_array_equal(adjusted([0.01, 0.04, 0.03, np.nan], method), function([0.01, 0.04, 0.03, np.nan]))


def test_max_t_needs_more_than_p_values() -> None:
    with pytest.raises(ValueError, match="covariance"):
        adjusted([0.1], Multiplicity("max-t"))


# Dunnett (1964), table II: two-sided 5 %, for 2 to 5 comparisons with a control of the same size.
@pytest.mark.parametrize(
    ("df", "row"),
    [(10, [2.57, 2.76, 2.89, 2.99]), (20, [2.38, 2.54, 2.65, 2.73]), (math.inf, [2.21, 2.35, 2.44, 2.51])],
)
def test_pairs_of_a_baseline_are_dunnetts_test(df: float, row: list[float]) -> None:
    got = [of_seed(np.eye(m), with_baseline(m), np.zeros(m - 1), df).critical for m in range(3, 7)]
    # Half of the last digit, plus the error of the draws.
    assert got == pytest.approx(row, abs=0.012)


def test_p_values_of_scipys_dunnett() -> None:
    rng = np.random.default_rng(31)
    control, *others = (rng.normal(mean, 1, 12) for mean in (0.0, 0.4, 0.9, 1.2))
    expected = dunnett(*others, control=control, rng=np.random.default_rng(0))
    got = of_seed(np.eye(4), with_baseline(4), expected.statistic, 44)
    # Both are simulated.
    np.testing.assert_allclose(got.p_values, expected.pvalue, atol=0.002)


@pytest.mark.sampled(4)
@pytest.mark.parametrize(("m", "df"), [(3, 5), (5, 10), (10, 30), (20, math.inf)])
def test_all_pairs_are_tukeys_test(m: int, df: float) -> None:
    limits = [studentized_range.ppf(1 - p, m, min(df, 1e5)) / math.sqrt(2) for p in (0.2, 0.05, 0.01)]
    pairs = all_pairs(m)
    t = np.resize(limits, len(pairs))
    got = of_seed(np.eye(m), pairs, t, df)
    np.testing.assert_allclose(got.p_values, np.resize([0.2, 0.05, 0.01], len(pairs)), atol=0.0025)
    np.testing.assert_allclose(got.p_values[1], 0.05, atol=0.001)
    assert got.critical == pytest.approx(limits[1], abs=0.008)


@pytest.mark.parametrize("df", [1, 7, math.inf])
def test_one_pair_is_the_plain_t_test(df: float) -> None:
    got = of_seed(random_covariance(2, 4), [(3, 1)], [2.3], df)
    assert got.p_values[0] == pytest.approx(2 * student.sf(2.3, df), rel=1e-9)
    assert got.critical == pytest.approx(student.ppf(0.975, df), rel=1e-5)


def test_perfectly_correlated_pairs_are_one() -> None:
    # Run 1 varies, and the others do not vary or vary with it: all differences that vary are the same.
    covariance = np.zeros((4, 4))
    covariance[1, 1] = 0.01
    got = of_seed(covariance, all_pairs(4), [1.0, np.nan, np.nan, 2.5, -2.5, np.nan], 9)
    np.testing.assert_allclose(got.p_values[[0, 3, 4]], 2 * student.sf([1.0, 2.5, 2.5], 9), rtol=1e-9)
    assert np.isnan(got.p_values[[1, 2, 5]]).all()
    assert got.pairs == 3


def test_independent_pairs_are_sidaks() -> None:
    t = norm.isf(np.array([0.2, 0.05, 0.01, 0.001]) / 2)
    got = of_seed(np.diag([1.0, 2, 3, 4, 5, 6, 7, 8]), [(0, 1), (2, 3), (4, 5), (6, 7)], t)
    plain = np.array([0.2, 0.05, 0.01, 0.001])
    np.testing.assert_allclose(got.p_values, 1 - (1 - plain) ** 4, atol=0.0015)


@given(seed=st.integers(0, 10_000), m=st.integers(2, 6), df=st.sampled_from([2.0, 15.0, math.inf]))
def test_bounds_and_order(seed: int, m: int, df: float) -> None:
    pairs, rng = all_pairs(m), np.random.default_rng(seed)
    t = rng.normal(size=len(pairs)) * 2
    got = max_t(random_covariance(seed, m), pairs, t, df, rng=rng, draws=500)
    plain = 2 * student.sf(np.abs(t), df)
    assert (got.p_values >= plain - 1e-12).all()
    assert (got.p_values <= np.minimum(len(pairs) * plain, 1) + 1e-12).all()
    assert (np.diff(got.p_values[np.argsort(np.abs(t))]) <= 1e-12).all()


def test_bounds_hold_without_clipping() -> None:
    # Far from the ends the simulated values lie between the plain p and Bonferroni's, and below Sidak's.
    covariance, pairs = random_covariance(3, 6), all_pairs(6)
    got = of_seed(covariance, pairs, np.full(15, 2.9), 20)
    plain = 2 * student.sf(2.9, 20)
    assert 3 * plain < got.p_values[0] < 1 - (1 - plain) ** 15


@pytest.mark.parametrize("df", [6, math.inf])
def test_brute_force_twin(df: float) -> None:
    # Whole draws of the multivariate t, each pair by itself: standard error of a share of 5 % in 200,000: 0.05 %.
    covariance, pairs, rng = random_covariance(4, 5), [(0, 1), (4, 2), (1, 3)], np.random.default_rng(32)
    y = rng.multivariate_normal(np.zeros(5), covariance, size=200_000)
    error = [math.sqrt(covariance[i, i] + covariance[j, j] - 2 * covariance[i, j]) for i, j in pairs]
    largest = np.max([np.abs(y[:, i] - y[:, j]) / e for (i, j), e in zip(pairs, error, strict=True)], axis=0)
    if df < math.inf:
        largest = largest / np.sqrt(rng.chisquare(df, size=200_000) / df)
    t = np.array([1.5, 2.4, -3.5])
    got = of_seed(covariance, pairs, t, df)
    np.testing.assert_allclose(got.p_values, [(largest > abs(x)).mean() for x in t], atol=0.003)
    assert (largest > got.critical).mean() == pytest.approx(0.05, abs=0.002)


def test_scale_and_common_variance_do_not_matter() -> None:
    covariance, pairs = random_covariance(5, 4), all_pairs(4)
    t = np.linspace(0.5, 3, 6)
    here = of_seed(covariance, pairs, t, 12)
    for other in (1e6 * covariance, covariance + 0.3):
        there = of_seed(other, pairs, -t, 12)
        np.testing.assert_allclose(there.p_values, here.p_values, atol=0.002)
        assert there.critical == pytest.approx(here.critical, abs=0.01)


def test_many_pairs_are_interpolated_and_agree() -> None:
    # 435 p-values, and 9 of the same 435 pairs, few enough to be computed one by one.
    pairs, t = all_pairs(30), np.linspace(0, 9, 435)
    few = np.where(np.arange(435) % 50 == 0, t, np.nan)
    many, exact = (of_seed(np.eye(30), pairs, values, 25).p_values for values in (t, few))
    np.testing.assert_allclose(many[::50], exact[::50], rtol=0.002)
    far = of_seed(np.eye(30), pairs, np.where(t > 5, np.inf, t), 25).p_values
    assert (far[t > 5] == 0).all()
    np.testing.assert_allclose(far[t <= 5], many[t <= 5], rtol=0.002)


@pytest.mark.slow
@experiments(250, quick=60)
def test_simultaneous_intervals_cover_together(experiments: int) -> None:
    # 8 runs on 30 units, an estimated covariance: all 28 intervals hold in 95 %; 250 experiments, error 1.4 %.
    rng, pairs = np.random.default_rng(33), np.array(all_pairs(8))
    root, held = rng.normal(size=(8, 8)), 0
    for _ in range(experiments):
        values = rng.normal(size=(30, 8)) @ root.T
        means, covariance = values.mean(axis=0), np.cov(values.T) / 30
        d = means[pairs[:, 0]] - means[pairs[:, 1]]
        own = np.diagonal(covariance)
        se = np.sqrt(own[pairs[:, 0]] + own[pairs[:, 1]] - 2 * covariance[pairs[:, 0], pairs[:, 1]])
        held += bool((np.abs(d) <= max_t(covariance, pairs, d / se, 29, rng=rng, draws=1_000).critical * se).all())
    allowed = slack(0.045, full=250, experiments=experiments)
    assert held / experiments == pytest.approx(0.95, abs=allowed)


def test_nothing_varies() -> None:
    got = of_seed(np.zeros((3, 3)), all_pairs(3), [np.inf, np.nan, 0.0], 5)
    assert np.isnan(got.p_values).all()
    assert math.isnan(got.critical)
    assert of_seed(np.eye(2), [], [], 5).p_values.size == 0


def test_wrong_input_of_max_t_is_refused() -> None:
    for covariance, pairs, t, df, message in [
        (np.ones((2, 3)), [(0, 1)], [1.0], 5, "as many rows as columns"),
        (np.eye(2), [(0, 1)], [1.0, 2.0], 5, "one for each pair"),
        (np.eye(2), [(0, 2)], [1.0], 5, "expected 0 to 1"),
        (np.eye(2), [(0, 1)], [1.0], 0, "degrees of freedom"),
    ]:
        with pytest.raises(ValueError, match=message):
            of_seed(covariance, pairs, t, df)
    with pytest.raises(ValueError, match="confidence"):
        max_t(np.eye(2), [(0, 1)], [1.0], 5, rng=np.random.default_rng(0), confidence=95)


@st.composite
def differences(draw: st.DrawFn) -> np.ndarray[tuple[int, int], np.dtype[np.bool_]]:
    m = draw(st.integers(1, 8))
    pairs = list(combinations(range(m), 2))
    result = draw(st.lists(st.booleans(), min_size=len(pairs), max_size=len(pairs)))
    return distinct_matrix(m, [i for i, _ in pairs], [j for _, j in pairs], result)


def maximal_sets(distinct: np.ndarray[tuple[int, int], np.dtype[np.bool_]]) -> set[tuple[int, ...]]:
    m = len(distinct)
    free = [
        set(s)
        for size in range(1, m + 1)
        for s in combinations(range(m), size)
        if not any(distinct[i, j] for i, j in combinations(s, 2))
    ]
    return {tuple(sorted(s)) for s in free if not any(s < other for other in free)}


def agrees_with(display: LetterDisplay, distinct: np.ndarray[tuple[int, int], np.dtype[np.bool_]]) -> bool:
    """Two algorithms share a group exactly when they were not found to differ; all are in a group."""
    m = len(distinct)
    together = np.zeros((m, m), dtype=bool)
    for group in display.groups:
        together[np.ix_(group, group)] = True
    return bool((together == ~distinct).all())


def test_textbook_chain() -> None:
    # a and b do not differ, nor do b and c, but a and c do: b has both letters.
    display = letter_display(distinct_matrix(3, [0], [2], [True]))
    assert display == LetterDisplay(groups=((0, 1), (1, 2)), letters=("a", "ab", "b"), complete=True)


def test_order_gives_the_best_the_first_letter() -> None:
    distinct = distinct_matrix(3, [0, 0], [1, 2], [True, True])
    assert letter_display(distinct).letters == ("a", "b", "b")
    display = letter_display(distinct, order=[2, 1, 0])
    assert display.letters == ("b", "a", "a")
    assert display.groups == ((2, 1), (0,))


@given(distinct=differences())
def test_groups_are_the_maximal_sets(distinct: np.ndarray[tuple[int, int], np.dtype[np.bool_]]) -> None:
    display = letter_display(distinct)
    assert {tuple(sorted(group)) for group in display.groups} == maximal_sets(distinct)
    assert len(display.groups) == len(set(display.groups))
    assert agrees_with(display, distinct)


@given(distinct=differences())
def test_letters_say_the_same_as_groups(distinct: np.ndarray[tuple[int, int], np.dtype[np.bool_]]) -> None:
    letters = letter_display(distinct).letters
    for i, j in combinations(range(len(distinct)), 2):
        assert bool(set(letters[i]) & set(letters[j])) == (not distinct[i, j])


@pytest.mark.parametrize("m", [60, 99])
def test_the_worst_case_stays_small_and_correct(m: int) -> None:
    # Triples that differ inside and nowhere else have 3^(m/3) maximal sets (Moon and Moser 1965).
    index = np.arange(m)
    distinct = (index[:, None] // 3 == index // 3) & (index[:, None] != index)
    display = letter_display(distinct)
    assert not display.complete
    assert len(display.groups) <= m * (m - 1) / 2
    assert agrees_with(display, distinct)


@given(distinct=differences())
def test_covering_groups_are_correct_too(distinct: np.ndarray[tuple[int, int], np.dtype[np.bool_]]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("harness.stats.multiplicity._READABLE", 0)
        display = letter_display(distinct)
    assert agrees_with(display, distinct)


def test_more_groups_than_letters() -> None:
    display = letter_display(~np.eye(60, dtype=bool))
    assert display.letters[:2] == ("a", "b")
    assert display.letters[25:28] == ("z", "a1", "b1")
    assert len(set(display.letters)) == 60


def test_none_differ_all_differ_and_no_algorithms() -> None:
    assert letter_display(np.zeros((3, 3))).letters == ("a", "a", "a")
    assert letter_display(np.zeros((1, 1))).groups == ((0,),)
    assert letter_display(np.zeros((0, 0))).groups == ()


def test_wrong_differences_are_refused() -> None:
    with pytest.raises(ValueError, match="symmetric"):
        letter_display([[0, 1], [0, 0]])
    with pytest.raises(ValueError, match="order"):
        letter_display(np.zeros((2, 2)), order=[0, 0])


@pytest.mark.parametrize("pairs", [list(combinations(range(5), 2)), [(0, n) for n in range(1, 5)], [(0, 1), (2, 3)]])
def test_max_t_does_not_depend_on_the_processor(
    pairs: list[tuple[int, int]], another_processor: Callable[[], AbstractContextManager[None]]
) -> None:
    made = np.random.default_rng(3).standard_normal((5, 9))
    for covariance in (np.eye(5), made @ made.T, made[:, :2] @ made[:, :2].T):
        t = np.linspace(1.0, 3.0, len(pairs))
        here = max_t(covariance, pairs, t, 12, rng=np.random.default_rng(1))
        with another_processor():
            there = max_t(covariance, pairs, t, 12, rng=np.random.default_rng(1))
        # Directions are drawn in single precision.
        np.testing.assert_allclose(there.p_values, here.p_values, rtol=1e-5)
        assert there.critical == pytest.approx(here.critical, rel=1e-5)

"""Repeated answers and trainings: unbiased over all outcomes, identities, anova tables, the jackknife, simulations."""

from __future__ import annotations

import math
from dataclasses import asdict
from itertools import product

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t as student
from statsmodels.formula.api import ols
from statsmodels.stats.anova import anova_lm

from harness.stats.designs import design_variances, linearised_cluster_variance
from harness.stats.repeats import CrossedVariance, crossed_variance, repeats, satterthwaite, training_variance
from tests.simulation import experiments, slack


@pytest.mark.slow
def test_components_are_unbiased_over_all_outcomes() -> None:
    # Three cases of rates 0.9, 0.5, 0.2, drawn independently, two answers each: 3^3 x 2^6 outcomes.
    rates = np.array([0.9, 0.5, 0.2])
    sums = np.zeros(4)
    for drawn in product(rates, repeat=3):
        for answers in product((0, 1), repeat=6):
            table = np.array(answers).reshape(3, 2)
            p = np.array(drawn)[:, None]
            chance = np.where(table == 1, p, 1 - p).prod() / 27
            got = repeats(table)
            sums += chance * np.array([got.between_cases, got.between_runs, got.run_effect, got.se**2])
    between, within = rates.var(), (rates * (1 - rates)).mean()
    assert sums == pytest.approx([between, within, 0.0, (between + within / 2) / 3], abs=1e-12)


@given(seed=st.integers(0, 10_000), n=st.integers(2, 9), k=st.integers(2, 6))
def test_identities(seed: int, n: int, k: int) -> None:
    table = np.random.default_rng(seed).random((n, k)) < 0.6
    got = repeats(table)
    residual = got.between_runs - got.run_effect
    assert got.rate == pytest.approx(table.mean())
    assert got.se**2 == pytest.approx((got.between_cases + residual / k) / n, abs=1e-12)
    # The cases are clusters of answers.
    as_clusters = design_variances(table.reshape(-1).astype(float), np.repeat(np.arange(n), k))
    assert got.se**2 == pytest.approx(as_clusters.cl, abs=1e-12)
    assert got.between_runs == pytest.approx(table.var(axis=1, ddof=1).mean())
    if not math.isnan(got.share_cases):
        assert 0 <= got.share_cases <= 1
        assert got.share_cases + got.share_runs == pytest.approx(1)


@given(seed=st.integers(0, 10_000))
def test_order_of_cases_and_runs_does_not_matter(seed: int) -> None:
    rng = np.random.default_rng(seed)
    table = rng.random((6, 4)) < 0.5
    here, there = repeats(table), repeats(table[rng.permutation(6)][:, rng.permutation(4)])
    for name in ("rate", "se", "se_new_runs", "between_cases", "between_runs", "run_effect", "unanimous"):
        assert getattr(here, name) == pytest.approx(getattr(there, name), abs=1e-12)


def test_a_seed_that_a_whole_run_shares_is_found() -> None:
    # Run effects of standard deviation 0.1 on 300 cases, 8 runs; 400 experiments. The estimates' means must lie within
    # 4 standard errors of the truth, and the rates must vary as `se_new_runs` says, not as `se`.
    rng, n, k = np.random.default_rng(15), 300, 8
    got = []
    for _ in range(400):
        p = 0.5 + rng.uniform(-0.2, 0.2, size=(n, 1)) + rng.choice([-0.1, 0.1], size=(1, k))
        got.append(repeats(rng.random((n, k)) < p))
    for name, truth in [("between_cases", 0.4**2 / 12), ("run_effect", 0.01)]:
        values = np.array([getattr(g, name) for g in got])
        assert abs(values.mean() - truth) < 4 * values.std(ddof=1) / 20
    spread = np.var([g.rate for g in got], ddof=1)
    # A variance of 400 values is known to 7 %.
    assert spread == pytest.approx(np.mean([g.se_new_runs**2 for g in got]), rel=0.28)
    assert spread > 5 * np.mean([g.se**2 for g in got])


def test_certain_answers_have_no_variance_between_runs() -> None:
    got = repeats(np.repeat([[1], [0], [1], [1]], 3, axis=1))
    assert (got.between_runs, got.share_cases, got.unanimous) == (0.0, 1.0, 1.0)
    assert got.between_cases == pytest.approx(0.25)


def test_unanimous() -> None:
    assert repeats([[1, 1, 1], [0, 1, 0], [0, 0, 0], [1, 1, 0]]).unanimous == 0.5


def test_one_run_or_one_case_is_not_enough() -> None:
    single = repeats([[1], [0], [1]])
    assert single.se == pytest.approx(math.sqrt(1 / 3 / 3))
    assert all(
        math.isnan(v) for v in (single.between_runs, single.between_cases, single.se_new_runs, single.share_runs)
    )
    alone = repeats([[1, 0, 1]])
    assert alone.between_runs == pytest.approx(1 / 3)
    assert all(math.isnan(v) for v in (alone.se, alone.between_cases, alone.run_effect, alone.share_cases))


def test_no_variance_at_all() -> None:
    got = repeats(np.ones((4, 3)))
    assert (got.se, got.between_cases, got.between_runs) == (0.0, 0.0, 0.0)
    assert math.isnan(got.share_cases)


def test_wrong_input_is_refused() -> None:
    with pytest.raises(ValueError, match=r"\(cases, runs\)"):
        repeats([1, 0])
    with pytest.raises(ValueError, match="no answers"):
        repeats(np.zeros((0, 3)))
    with pytest.raises(ValueError, match="other than 0 and 1"):
        repeats([[0.5, 1]])
    with pytest.raises(ValueError, match="one label per case"):
        repeats([[0, 1], [1, 1]], units=["a"])


@given(seed=st.integers(0, 10_000), n=st.integers(2, 9), k=st.integers(1, 5))
def test_a_case_as_its_own_unit_changes_nothing(seed: int, n: int, k: int) -> None:
    table = np.random.default_rng(seed).random((n, k)) < 0.6
    plain, labelled = repeats(table), repeats(table, units=[f"u{i}" for i in range(n)], strata=["all"] * n)
    assert asdict(labelled) == pytest.approx(asdict(plain), abs=1e-12, nan_ok=True)
    assert (plain.units, plain.strata, plain.df) == (n, 1, n - 1)
    if k > 1:
        assert plain.between_units == pytest.approx(plain.between_cases, abs=1e-12)


def twin(y: npt.NDArray[np.float64], units: npt.NDArray[np.int64], strata: npt.NDArray[np.int64]) -> dict[str, float]:
    """The same by loops over strata, units and cases."""
    n, k = y.shape
    shape = [[y[units == u] for u in np.unique(units[strata == h])] for h in np.unique(strata)]
    count, rest = sum(map(len, shape)), y - y.mean(axis=1)[:, None] - y.mean(axis=0) + y.mean()

    def variance(column: npt.NDArray[np.float64]) -> float:
        total = 0.0
        for h in np.unique(strata):
            sums = np.array([(column[units == u] - column.mean()).sum() / n for u in np.unique(units[strata == h])])
            total += len(sums) / (len(sums) - 1) * ((sums - sums.mean()) ** 2).sum()
        return total

    def components(column: npt.NDArray[np.float64]) -> tuple[float, float]:
        between = within = 0.0
        size = float(n)
        for h in np.unique(strata):
            inside = strata == h
            for u in np.unique(units[inside]):
                values = column[units == u]
                between += len(values) * (values.mean() - column[inside].mean()) ** 2
                within += ((values - values.mean()) ** 2).sum()
                size -= len(values) ** 2 / inside.sum()
        ms_within = within / (n - count)
        return (between / (count - len(shape)) - ms_within) / (size / (count - len(shape))), ms_within

    residual = sum(variance(column) for column in rest.T) / (k - 1)
    unit_by_run = sum(components(column)[0] for column in rest.T) / (k - 1)
    effect = y.mean(axis=0).var(ddof=1) - residual
    case_by_run = y.var(axis=1, ddof=1).mean() - effect
    unit, within = components(y.mean(axis=1))
    return {
        "of_mean": variance(y.mean(axis=1)),
        "run_effect": effect,
        "unit": unit - unit_by_run / k,
        "case": unit + within - case_by_run / k,
        "case_by_run": case_by_run,
    }


@pytest.mark.parametrize("seed", range(3))
def test_units_and_strata_by_loops(seed: int) -> None:
    rng = np.random.default_rng(seed)
    units = rng.permutation(np.repeat(np.arange(9), [1, 2, 3, 4, 5, 6, 2, 1, 3]))
    strata, y = np.array([0, 0, 0, 0, 1, 1, 2, 2, 2])[units], rng.normal(size=(27, 4)) + units[:, None]
    got = crossed_variance(y, units=units, strata=strata)
    for name, expected in twin(y, units, strata).items():
        assert getattr(got, name) == pytest.approx(expected, rel=1e-9), name
    assert (got.units, got.strata, got.df) == (9, 3, 6)


def test_one_run_of_units_is_the_cluster_variance() -> None:
    rng = np.random.default_rng(4)
    units, table = np.repeat(np.arange(8), [1, 2, 3, 4, 5, 6, 7, 8]), rng.random((36, 1)) < 0.7
    got = repeats(table, units=units)
    assert got.se**2 == pytest.approx(linearised_cluster_variance(table[:, 0], units))
    assert math.isnan(got.se_new_runs)
    assert math.isnan(got.df_new_runs)


def test_balanced_units_and_runs_are_the_anova_table() -> None:
    # Six units of five cases, four runs; statsmodels splits the sum of squares.
    rng, b, k = np.random.default_rng(5), 5, 4
    units = np.repeat(np.arange(6), b)
    y = rng.normal(size=(6, 1, 1)) + 0.3 * rng.normal(size=(1, 1, k)) + rng.normal(size=(6, b, k))
    y = y.reshape(30, k)
    frame = pd.DataFrame({"y": y.ravel(), "unit": np.repeat(units, k), "run": np.tile(np.arange(k), 30)})
    table = anova_lm(ols("y ~ C(unit) * C(run)", frame).fit())["mean_sq"]
    got = crossed_variance(y, units=units)
    assert got.of_mean == pytest.approx(table["C(unit)"] / (30 * k))
    assert got.of_run == pytest.approx(table["C(run)"] / 30)
    assert got.residual == pytest.approx(table["C(unit):C(run)"] / 30)
    # Cases within units: the rest of the sum of squares, split by hand.
    means = y.reshape(6, b, k).mean(axis=1, keepdims=True)
    inside = (y.reshape(6, b, k) - means).reshape(30, k)
    ms_case = k * (inside.mean(axis=1) ** 2).sum() / (30 - 6)
    ms_rest = ((inside - inside.mean(axis=1)[:, None]) ** 2).sum() / ((30 - 6) * (k - 1))
    assert got.unit == pytest.approx((table["C(unit)"] - ms_case - table["C(unit):C(run)"] + ms_rest) / (b * k))


SD = {"unit": 0.5, "case": 0.7, "run": 0.2, "unit_by_run": 0.4, "rest": 0.6}


def drawn(
    rng: np.random.Generator, sizes: list[int], k: int, stratum: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    unit = np.repeat(np.arange(len(sizes)), sizes)
    n = len(unit)
    y = (stratum + SD["unit"] * rng.normal(size=len(sizes)))[unit][:, None] + SD["case"] * rng.normal(size=(n, 1))
    y = y + SD["run"] * rng.normal(size=(1, k)) + SD["unit_by_run"] * rng.normal(size=(len(sizes), k))[unit]
    return np.asarray(y + SD["rest"] * rng.normal(size=(n, k)))


def test_components_of_units_are_unbiased() -> None:
    # 24 units of 2 to 6 cases in two strata that differ by 1; means of 400 within four standard errors.
    rng, sizes = np.random.default_rng(6), [2, 3, 6] * 8
    stratum = np.repeat([0.0, 1.0], 12)
    labels = np.repeat(np.arange(24), sizes)
    result = [crossed_variance(drawn(rng, sizes, 3, stratum), units=labels, strata=stratum[labels]) for _ in range(400)]
    both = SD["unit_by_run"] ** 2 + SD["rest"] ** 2
    truths = {"unit": SD["unit"] ** 2, "case": SD["unit"] ** 2 + SD["case"] ** 2, "case_by_run": both}
    for name, truth in (truths | {"run_effect": SD["run"] ** 2}).items():
        values = np.array([getattr(one, name) for one in result])
        assert abs(values.mean() - truth) < 4 * values.std(ddof=1) / 20, name


@pytest.mark.slow
def test_cases_treated_as_units_give_too_small_an_error() -> None:
    # Units of 8 identical cases, no random answers: the rates vary as `se` of units says, not that of cases.
    rng, units = np.random.default_rng(7), np.repeat(np.arange(30), 8)
    tables = [rng.random((240, 2)) < np.repeat(rng.beta(1, 1, 30), 8)[:, None] for _ in range(400)]
    spread = np.var([table.mean() for table in tables], ddof=1)
    # A variance of 400 values is known to 7 %.
    assert np.mean([repeats(table, units=units).se ** 2 for table in tables]) == pytest.approx(spread, rel=0.28)
    assert np.mean([repeats(table).se ** 2 for table in tables]) < 0.5 * spread


@experiments(1_500, quick=300)
def test_few_runs_that_differ_need_students_t(experiments: int) -> None:
    # Three runs whose rates differ by 0.1: 95 % intervals for new cases and new runs, of 1,500 experiments.
    rng, units = np.random.default_rng(8), np.repeat(np.arange(40), 5)
    held = normal = 0
    for _ in range(experiments):
        p = 0.5 + np.repeat(rng.uniform(-0.2, 0.2, 40), 5)[:, None] + rng.normal(0, 0.08, size=(1, 3))
        got = repeats(rng.random((200, 3)) < p, units=units)
        off = abs(got.rate - 0.5) / got.se_new_runs
        held += off <= student.ppf(0.975, got.df_new_runs)
        normal += off <= 1.96
    assert abs(held / experiments - 0.955) < slack(0.025, full=1_500, experiments=experiments)
    assert normal / experiments < 0.9


def test_degrees_of_freedom_lie_between_units_and_runs() -> None:
    rng, units = np.random.default_rng(9), np.repeat(np.arange(50), 4)
    alike = repeats(np.repeat(rng.random((200, 1)) < 0.6, 4, axis=1), units=units)
    assert (alike.df, alike.df_new_runs) == (49, 49)
    # One run that always fails, and three that never do.
    seeds = repeats(np.tile([0, 1, 1, 1], (200, 1)), units=units)
    assert (seeds.se, seeds.df_new_runs) == (0.0, 3.0)


def test_satterthwaite() -> None:
    # Welch's degrees of freedom of two means (NIST handbook's formula), and a subtracted part.
    assert satterthwaite((4.0, 9), (1.0, 4)) == pytest.approx(25 / (16 / 9 + 1 / 4))
    assert satterthwaite((4.0, 9), (2.0, 4), (-1.0, 36)) == pytest.approx(25 / (16 / 9 + 1 + 1 / 36))
    assert satterthwaite((1.0, 20), (1.0, 2), (-1.9, 40)) == 2
    assert satterthwaite((0.0, 9), (3.0, 4)) == 4


def test_one_unit_is_not_enough() -> None:
    got = repeats([[1, 0], [0, 1], [1, 1]], units=["a", "a", "a"])
    assert isinstance(crossed_variance(np.zeros((3, 2)), units=[1, 1, 1]), CrossedVariance)
    assert (got.units, got.df) == (1, 0)
    assert all(math.isnan(v) for v in (got.se, got.se_new_runs, got.df_new_runs, got.between_units))
    assert got.between_runs == pytest.approx(1 / 3)


def made(rng: np.random.Generator, shape: tuple[int, int, int], **sd: float) -> np.ndarray:
    n, k, r = shape
    y: np.ndarray = (
        sd["case"] * rng.normal(size=(n, 1, 1))
        + sd["fold"] * rng.normal(size=(1, k, 1))
        + sd["both"] * rng.normal(size=(n, k, 1))
        + sd["run"] * rng.normal(size=(n, k, r))
    )
    return y


def test_components_are_unbiased() -> None:
    sd = {"case": 0.5, "fold": 0.2, "both": 0.3, "run": 0.4}
    result = [training_variance(made(np.random.default_rng(seed), (60, 6, 3), **sd)) for seed in range(200)]
    for name, of in (("case", "case"), ("between_folds", "fold"), ("interaction", "both"), ("run", "run")):
        values = np.array([getattr(one, name) for one in result])
        # Four standard errors of the mean of 200.
        assert abs(values.mean() - sd[of] ** 2) < 4 * values.std(ddof=1) / np.sqrt(200)
    assert result[0].training == pytest.approx(result[0].between_folds * 25 / 6)


def test_one_answer_is_the_delete_a_group_jackknife_of_the_rate() -> None:
    rng = np.random.default_rng(1)
    y = rng.random((50, 5, 1)) < 0.7
    result = training_variance(y)
    rates = y.mean(axis=(0, 2))
    assert result.se_training == pytest.approx(np.sqrt(4 / 5 * ((rates - rates.mean()) ** 2).sum()))
    assert result.rates == pytest.approx(tuple(rates))
    assert np.isnan(result.run)


def test_the_jackknife_estimates_the_effect_of_another_training_sample() -> None:
    """The "algorithm" answers each case with the mean of its training sample, which is smooth; 40 items in 10 folds."""
    truth, guessed = [], []
    offsets = np.linspace(-0.5, 0.5, 101)
    for seed in range(300):
        items = np.random.default_rng(seed).normal(size=40)
        truth.append(np.mean(items.mean() + offsets > 0))
        folds = items.reshape(10, 4)
        means = [np.delete(folds, fold, axis=0).mean() for fold in range(10)]
        guessed.append(training_variance((np.array(means) + offsets[:, None] > 0)[:, :, None]).se_training ** 2)
    assert np.mean(guessed) == pytest.approx(np.var(truth), rel=0.25)


def test_too_few_cases_trainings_runs_or_units_are_refused() -> None:
    for shape in ((1, 5, 1), (5, 1, 1), (5, 5, 0), (5, 5)):
        with pytest.raises(ValueError, match="expected at least two cases"):
            training_variance(np.zeros(shape))
    with pytest.raises(ValueError, match="one unit"):
        training_variance(np.zeros((5, 5, 1)), units=["a"] * 5)


@pytest.mark.parametrize("shape", [(7, 3, 1), (12, 5, 3)])
def test_a_trained_case_as_its_own_unit_changes_nothing(shape: tuple[int, int, int]) -> None:
    y = np.random.default_rng(2).random(shape) < 0.7
    plain = training_variance(y)
    labelled = training_variance(y, units=np.arange(shape[0])[::-1], strata=np.zeros(shape[0]))
    for name, value in asdict(plain).items():
        assert getattr(labelled, name) == pytest.approx(value, abs=1e-12, nan_ok=True), name
    assert plain.unit == pytest.approx(plain.case, abs=1e-12)
    assert (plain.units, plain.strata, plain.df_cases, plain.df_training) == (shape[0], 1, shape[0] - 1, shape[1] - 1)


def test_a_unit_of_copies_is_one_case() -> None:
    # Every case three times: as units they give the result of single cases; as cases they seem three times as many.
    y = np.random.default_rng(3).random((20, 4, 2)) < 0.6
    alone, copies = training_variance(y), training_variance(np.repeat(y, 3, axis=0), units=np.repeat(np.arange(20), 3))
    names = ("rate", "se_cases", "between_folds", "training", "unit", "df_cases", "df_training")
    assert [getattr(copies, name) for name in names] == pytest.approx([getattr(alone, name) for name in names])
    assert training_variance(np.repeat(y, 3, axis=0)).se_cases < 0.6 * alone.se_cases


def test_components_of_units_in_strata_are_unbiased() -> None:
    # 30 units of 4 cases in two strata; random answers, trainings, cases, and what cases of a unit share.
    sd, units = {"case": 0.5, "fold": 0.2, "both": 0.3, "run": 0.4}, np.repeat(np.arange(30), 4)
    rng, result = np.random.default_rng(4), []
    for _ in range(200):
        shared = 0.6 * rng.normal(size=30) + np.repeat([0.0, 2.0], 15)
        y = made(rng, (120, 5, 2), **sd) + shared[units][:, None, None]
        result.append(training_variance(y, units=units, strata=units // 15))
    truths = {"unit": 0.36, "case": 0.36 + 0.25, "between_folds": 0.04, "interaction": 0.09, "run": 0.16}
    for name, truth in truths.items():
        values = np.array([getattr(one, name) for one in result])
        # Four standard errors of the mean of 200.
        assert abs(values.mean() - truth) < 4 * values.std(ddof=1) / np.sqrt(200), name
    spread = np.var([one.rate for one in result], ddof=1)
    expected = np.mean([one.se_cases**2 + one.between_folds / 5 for one in result])
    assert spread == pytest.approx(expected, rel=0.4)


@pytest.mark.slow
def test_few_trainings_have_few_degrees_of_freedom() -> None:
    # Trainings that differ much: near K - 1; that do not: near units - strata. Intervals hold with t, not with z.
    rng, units = np.random.default_rng(5), np.repeat(np.arange(40), 3)
    sd = {"case": 0.3, "fold": 0.2, "both": 0.1, "run": 0.1}
    held = normal = 0
    for _ in range(1_000):
        y = made(rng, (120, 4, 1), **sd)
        got = training_variance(y, units=units)
        # The jackknife assumes that trainings share all but two folds, and multiplies their variance by (K - 1)^2;
        # these trainings are independent.
        off = abs(got.rate) * 3 / got.se
        held += off <= student.ppf(0.975, got.df)
        normal += off <= 1.96
        assert 3 <= got.df <= 43
    assert 0.93 < held / 1_000 < 0.985
    assert normal / 1_000 < 0.9
    alike = training_variance(made(rng, (120, 4, 1), case=0.3, fold=0.0, both=0.001, run=0.001), units=units)
    assert alike.df == pytest.approx(39, rel=0.05)

"""Variance of trainings: against its definition, known components, and the delete-a-group jackknife."""

from dataclasses import asdict

import numpy as np
import pytest
from scipy.stats import t as student

from harness.stats.repeats import training_variance


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
def test_a_case_as_its_own_unit_changes_nothing(shape: tuple[int, int, int]) -> None:
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

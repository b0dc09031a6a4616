"""Variance of trainings: against its definition, known components, and the delete-a-group jackknife."""

import numpy as np
import pytest

from harness.stats.training_variance import training_variance


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
    found = [training_variance(made(np.random.default_rng(seed), (60, 6, 3), **sd)) for seed in range(200)]
    for name, of in (("case", "case"), ("between_folds", "fold"), ("interaction", "both"), ("run", "run")):
        values = np.array([getattr(one, name) for one in found])
        # Four standard errors of the mean of 200.
        assert abs(values.mean() - sd[of] ** 2) < 4 * values.std(ddof=1) / np.sqrt(200)
    assert found[0].training == pytest.approx(found[0].between_folds * 25 / 6)


def test_one_answer_is_the_delete_a_group_jackknife_of_the_rate() -> None:
    rng = np.random.default_rng(1)
    y = rng.random((50, 5, 1)) < 0.7
    found = training_variance(y)
    rates = y.mean(axis=(0, 2))
    assert found.se_training == pytest.approx(np.sqrt(4 / 5 * ((rates - rates.mean()) ** 2).sum()))
    assert found.rates == pytest.approx(tuple(rates))
    assert np.isnan(found.run)


def test_the_jackknife_finds_what_another_training_sample_does() -> None:
    """The "algorithm" answers each case by the mean of its training sample, which is smooth; 40 items in 10 folds."""
    truth, guessed = [], []
    offsets = np.linspace(-0.5, 0.5, 101)
    for seed in range(300):
        items = np.random.default_rng(seed).normal(size=40)
        truth.append(np.mean(items.mean() + offsets > 0))
        folds = items.reshape(10, 4)
        means = [np.delete(folds, fold, axis=0).mean() for fold in range(10)]
        guessed.append(training_variance((np.array(means) + offsets[:, None] > 0)[:, :, None]).se_training ** 2)
    assert np.mean(guessed) == pytest.approx(np.var(truth), rel=0.25)


def test_what_is_too_little_is_refused() -> None:
    for shape in ((1, 5, 1), (5, 1, 1), (5, 5, 0), (5, 5)):
        with pytest.raises(ValueError, match="expected two cases"):
            training_variance(np.zeros(shape))

"""Coverage with 100 subjects of four cases and an intraclass correlation of 0.2, for new subjects and for the same.

Each subject has its own rate, beta-distributed about the mean; each case is a toss with the subject's rate. In 4,000
experiments a coverage of 95 % has a standard error of 0.35 %.
"""

import numpy as np
import pytest
from scipy.stats import t as student

from harness.stats.arrays import BoolArray, FloatArray
from harness.stats.rates import wilson
from harness.stats.replication.balanced import balanced
from harness.stats.replication.estimates import make_estimate, make_estimates
from harness.stats.replication.replicates import Replicates
from harness.stats.replication.resampling import delete_one
from harness.stats.replication.sample import Sample, make_sample
from harness.stats.replication.statistic import rate

SUBJECTS, CASES, EXPERIMENTS = 100, 4, 4000
ICC, MEAN = 0.2, 0.8
SUBJECT = np.repeat(np.arange(SUBJECTS), CASES)
NEW_SUBJECTS = make_sample(SUBJECTS * CASES, units=SUBJECT)
THESE_SUBJECTS = make_sample(SUBJECTS * CASES, strata=SUBJECT)


def subject_rates(rng: np.random.Generator, experiments: int) -> FloatArray:
    spread = 1 / ICC - 1
    return rng.beta(MEAN * spread, (1 - MEAN) * spread, size=(SUBJECTS, experiments))


def tosses(rates: FloatArray, rng: np.random.Generator) -> FloatArray:
    """(cases, experiments) of successes."""
    return (rng.random((SUBJECTS * CASES, EXPERIMENTS)) < rates[SUBJECT]).astype(np.float64)


def covered(replicates: Replicates, unit_values: FloatArray, truth: float) -> BoolArray:
    """Whether the t interval of each experiment contains the truth; with equally many cases a rate is linear."""
    n = SUBJECTS * CASES
    full = unit_values.sum(axis=0) / n
    se = np.sqrt(replicates.variance(replicates.totals(unit_values) / n, full))
    return np.asarray(np.abs(full - truth) <= student.ppf(0.975, replicates.df) * se)


def reported_coverage(sample: Sample, successes: FloatArray, truth: float) -> float:
    """How often the reported limits contain the truth: 2,000 experiments, as members of one statistic."""
    limits = make_estimates(sample, rate(successes[:, :2000])).limits
    return float(((limits.low <= truth) & (truth <= limits.high)).mean())


def by_subject(successes: FloatArray) -> FloatArray:
    return np.asarray(successes.reshape(SUBJECTS, CASES, -1).sum(axis=1))


@pytest.mark.slow
def test_for_new_subjects_only_the_cluster_interval_holds() -> None:
    rng = np.random.default_rng(1)
    successes = tosses(subject_rates(rng, EXPERIMENTS), rng)
    cluster = covered(delete_one(NEW_SUBJECTS), by_subject(successes), MEAN).mean()
    stratified = covered(balanced(THESE_SUBJECTS), successes, MEAN).mean()
    limits = wilson(successes.sum(axis=0), np.full(EXPERIMENTS, SUBJECTS * CASES))
    binomial = ((limits.low <= MEAN) & (limits.high >= MEAN)).mean()
    assert 0.93 < cluster < 0.97
    assert 0.93 < reported_coverage(NEW_SUBJECTS, successes, MEAN) < 0.97
    assert 0.80 < stratified < 0.85
    assert 0.84 < binomial < 0.90


@pytest.mark.slow
def test_for_the_same_subjects_again_the_stratified_interval_holds() -> None:
    rng = np.random.default_rng(2)
    rates = subject_rates(rng, 1)
    successes = tosses(rates, rng)
    stratified = covered(balanced(THESE_SUBJECTS), successes, float(rates.mean())).mean()
    cluster = covered(delete_one(NEW_SUBJECTS), by_subject(successes), float(rates.mean())).mean()
    assert 0.93 < stratified < 0.97
    assert 0.93 < reported_coverage(THESE_SUBJECTS, successes, float(rates.mean())) < 0.97
    assert cluster > 0.98


@pytest.mark.parametrize("sample", [NEW_SUBJECTS, THESE_SUBJECTS], ids=["new", "same"])
def test_the_reported_estimate_is_the_simulated_one(sample: Sample) -> None:
    rng = np.random.default_rng(3)
    successes = tosses(subject_rates(rng, EXPERIMENTS), rng)[:, :1]
    result = make_estimate(sample, rate(successes[:, 0]))
    values = by_subject(successes) if sample is NEW_SUBJECTS else successes
    design = delete_one(sample) if sample is NEW_SUBJECTS else balanced(sample)
    expected = np.sqrt(design.variance(design.totals(values) / 400, values.sum(axis=0) / 400))
    assert result.se == pytest.approx(expected[0], rel=1e-10)
    assert result.df == design.df

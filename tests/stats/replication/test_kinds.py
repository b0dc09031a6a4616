"""Statistics of cases of a few kinds, against the same statistics with a row for every case."""

import re
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.measures import MEASURES
from harness.measures.outcomes import outcome_kinds
from harness.stats.replication.estimates import Estimates, make_estimates
from harness.stats.replication.method import Replication
from harness.stats.replication.sample import Sample, make_sample
from harness.stats.replication.statistic import TotalsStatistic
from tests.simulation import examples

CASES = 90


def draw(seed: int, *, clustered: bool = True) -> tuple[Any, Sample, list[Any]]:
    """Two runs with every outcome in each of three groups, a sample of them, and the masks of the groups."""
    rng = np.random.default_rng(seed)
    positive = np.arange(CASES) % 2 == 0
    success = rng.random((2, CASES)) < 0.7
    # Outcomes are TP, TN, FP, FN.
    outcome = np.where(positive, np.where(success, 0, 3), np.where(success, 1, 2)).astype(np.int8)
    unit = np.arange(CASES) // 5
    strata, units = (unit % 4, unit) if clustered else (None, None)
    weights = None if seed % 2 else rng.random(CASES) + 0.1
    group = rng.integers(0, 3, CASES)
    sample = make_sample(CASES, strata=strata, units=units, weights=weights)
    return SimpleNamespace(outcome=outcome), sample, [group == number for number in range(3)]


def case_by_case(statistic: TotalsStatistic) -> TotalsStatistic:
    kinds, counted = statistic.kinds, statistic.counted
    assert kinds is not None
    assert len(statistic.columns) < CASES
    counted = None if counted is None else counted[kinds]
    return replace(statistic, columns=statistic.columns[kinds], counted=counted, kinds=None)


def numbers(estimates: Estimates) -> list[float]:
    every = [*estimates.all(), *estimates.differences([0, 0], [1, len(estimates) - 1])]
    fields = ("value", "se", "df", "design_effect", "icc", "p_value", "p_sign_flip")
    found = [getattr(one, name) for one in every for name in fields]
    limits = [limit for one in every if one.interval is not None for limit in (one.interval.low, one.interval.high)]
    return [np.nan if number is None else number for number in (*found, *limits)]


@given(st.integers(0, 200), st.sampled_from(["rate", "tpr", "precision", "f1", "mcc"]), st.booleans(), st.booleans())
@examples(60)
def test_kinds_give_what_cases_give(seed: int, name: str, grouped: bool, clustered: bool) -> None:
    runs, sample, masks = draw(seed, clustered=clustered)
    cells = [(run, inside) for run in (0, 1) for inside in (masks if grouped else [None])]
    statistic = MEASURES[name].statistic(runs, cells)
    assert isinstance(statistic, TotalsStatistic)
    dense = case_by_case(statistic)
    for replication in (Replication(), Replication("linearised"), Replication("bootstrap", replicates=20)):
        try:
            want = make_estimates(sample, dense, replication)
        except ValueError as error:  # a replicate in which nothing was accepted
            with pytest.raises(ValueError, match=re.escape(str(error))):
                make_estimates(sample, statistic, replication)
            continue
        found = make_estimates(sample, statistic, replication)
        np.testing.assert_allclose(found.covariance, want.covariance, rtol=1e-12, atol=1e-16)
        np.testing.assert_allclose(numbers(found), numbers(want), rtol=1e-9, atol=1e-12)


@given(st.integers(0, 100))
@examples(20)
def test_a_kind_has_the_outcomes_and_the_group_of_its_cases(seed: int) -> None:
    runs, _, masks = draw(seed)
    cells = [(1, masks[0]), (0, masks[2]), (0, None), (1, masks[2])]
    of = outcome_kinds(runs, cells)
    assert of.kinds is not None
    for (run, inside), outcome, member in zip(cells, of.outcome, of.inside, strict=True):
        np.testing.assert_array_equal(outcome[of.kinds], runs.outcome[run])
        np.testing.assert_array_equal(member[of.kinds], np.ones(CASES) if inside is None else inside)
    assert np.bincount(of.kinds, minlength=len(of.inside[0])).all()


@pytest.mark.parametrize("runs", [2, 9])
def test_overlapping_cells_and_many_runs_take_case_by_case(runs: int) -> None:
    some, _, masks = draw(1)
    many = SimpleNamespace(outcome=np.tile(some.outcome[:1], (runs, 1)))
    other = masks[0] | masks[1] if runs == 2 else masks[1]
    cells = [(run, inside) for run in range(runs) for inside in (masks[0], other)]
    of = outcome_kinds(many, cells)
    assert of.kinds is None
    for (run, inside), outcome, member in zip(cells, of.outcome, of.inside, strict=True):
        np.testing.assert_array_equal(outcome, many.outcome[run])
        np.testing.assert_array_equal(member, inside)

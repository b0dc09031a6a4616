"""Repeated answers: unbiased over all outcomes of a small experiment, identities, a simulation with shared seeds."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.stats.designs import design_variances
from harness.stats.repeats import repeats


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
    # 4 of their standard errors of the truth, and the rates must vary as `se_new_runs` says, not as `se`.
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


def test_refuses() -> None:
    with pytest.raises(ValueError, match=r"\(cases, runs\)"):
        repeats([1, 0])
    with pytest.raises(ValueError, match="no answer"):
        repeats(np.zeros((0, 3)))
    with pytest.raises(ValueError, match="other than 0 and 1"):
        repeats([[0.5, 1]])

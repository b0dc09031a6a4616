"""Confidence sequences: they cover at all moments at once, also if one stops when the interval looks good."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.stats.arrays import FloatArray
from harness.stats.rates import wilson
from harness.stats.sequential import BettingSequence, SequenceLimits
from tests.simulation import examples, experiments


def sequence_of(values: FloatArray, *, population: int | None = None) -> SequenceLimits:
    return SequenceLimits.of(BettingSequence(population=population), values)


@pytest.mark.slow
@experiments(1000, quick=60)
@pytest.mark.parametrize(("rate", "units"), [(0.5, 300), (0.9, 300), (0.98, 200)])
def test_the_whole_sequence_covers(experiments: int, rate: float, units: int) -> None:
    """A list of units in random order: the interval must hold the mean of the list at every moment."""
    rng = np.random.default_rng(int(rate * 100))
    failed = 0
    for _ in range(experiments):
        values = (rng.random(units) < rate).astype(float)
        limits = sequence_of(rng.permutation(values), population=units)
        failed += bool(((limits.low > values.mean() + 1e-12) | (limits.high < values.mean() - 1e-12)).any())
    # At most 5 %, and three standard errors of that many experiments.
    assert failed / experiments <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / experiments)


@pytest.mark.slow
@experiments(1000, quick=80)
def test_stopping_when_it_looks_good_does_not_spoil_it(experiments: int) -> None:
    """An ordinary interval looked at after every case misses the truth far more often than it says."""
    rng = np.random.default_rng(5)
    ordinary = betting = 0
    for _ in range(experiments):
        values = (rng.random(400) < 0.7).astype(float)
        limits = sequence_of(values)
        sums, n = np.cumsum(values), np.arange(1, 401)
        plain = wilson(sums, n)
        # Stop at the first moment from the tenth value on at which 0.7 is excluded.
        ordinary += bool(((plain.low > 0.7) | (plain.high < 0.7))[10:].any())
        betting += bool(((limits.low > 0.7) | (limits.high < 0.7))[10:].any())
    assert ordinary / experiments > 0.15
    assert betting / experiments <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / experiments)


@pytest.mark.slow
def test_new_units_cover_too() -> None:
    rng = np.random.default_rng(6)
    failed = 0
    for _ in range(100):
        values = rng.beta(2, 1, 200)
        limits = sequence_of(values)
        failed += bool(((limits.low > 2 / 3) | (limits.high < 2 / 3)).any())
    assert failed <= 11


def test_it_shrinks_to_the_mean_of_the_list() -> None:
    values = np.random.default_rng(7).random(50)
    limits = sequence_of(values, population=50)
    assert limits.low[-1] == pytest.approx(values.mean())
    assert limits.high[-1] == pytest.approx(values.mean())


def test_a_list_is_known_better_than_an_endless_supply() -> None:
    values = (np.random.default_rng(8).random(200) < 0.8).astype(float)
    of_list, endless = sequence_of(values, population=250), sequence_of(values)
    assert (of_list.high - of_list.low)[-1] < (endless.high - endless.low)[-1]


@given(st.lists(st.floats(0, 1), min_size=1, max_size=40), st.integers(0, 60))
@examples(100, deadline=None)
def test_it_never_widens_and_holds_what_is_possible(values: list[float], more: int) -> None:
    population = len(values) + more
    limits = sequence_of(np.array(values), population=population)
    assert (np.diff(limits.low) >= 0).all()
    assert (np.diff(limits.high) <= 0).all()
    assert (limits.low <= limits.high).all()
    assert limits.low[-1] >= sum(values) / population - 1e-12
    assert limits.high[-1] <= (sum(values) + more) / population + 1e-12


def test_swapping_right_and_wrong_mirrors_it() -> None:
    values = (np.random.default_rng(9).random(120) < 0.8).astype(float)
    limits, mirrored = sequence_of(values, population=200), sequence_of(1 - values, population=200)
    assert limits.low == pytest.approx(1 - mirrored.high, abs=1e-9)


@pytest.mark.parametrize(
    ("confidence", "population", "value"), [(1.0, None, 0.5), (0.95, 0, 0.5), (0.95, None, 1.5), (0.95, None, np.nan)]
)
def test_impossible_input_is_refused(confidence: float, population: int | None, value: float) -> None:
    with pytest.raises(ValueError, match="expected"):
        BettingSequence(confidence=confidence, population=population).add(value)


def test_more_than_the_list_is_refused() -> None:
    sequence = BettingSequence(population=1)
    sequence.add(1.0)
    with pytest.raises(ValueError, match="all 1 units have been seen"):
        sequence.add(1.0)

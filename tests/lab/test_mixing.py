"""The permutation tests of the three designs: exact on small cases, and at their stated error rates over many seeds."""

from collections.abc import Callable
from itertools import permutations, product
from math import sqrt

import numpy as np
import numpy.typing as npt
import pytest

from harness.lab.urn.statistics import DESIGNS, Mixing, mixing, permutations_needed
from harness.lab.urn.trials import (
    Trials,
    added_between_trials,
    fresh_trials,
    make_trials,
    share_within_groups,
    shuffle_within,
)
from harness.stats.arrays import IntArray
from harness.stats.designs import design_variances
from tests.lab.weather import Weather
from tests.simulation import experiments

# The fewest permutations with which a two-sided test at 5 % has exactly that level.
PERMUTATIONS = 39


def table(groups: int, trials: int, elements: int) -> Trials:
    """The same groups in every trial, with `elements` elements each."""
    group, trial, _ = (part.ravel() for part in np.indices((groups, trials, elements)))
    return Trials(np.arange(group.size), group, trial, trials)


def test_the_estimates_are_those_of_each_trial_averaged() -> None:
    rng = np.random.default_rng(0)
    trials = table(5, 3, 4)
    success = rng.random((60, 2)) < 0.6
    found = mixing(success, trials, rng=rng, permutations=19)
    for k, one in enumerate(found):
        parts = [design_variances(success[trials.trial == t, k], trials.group[trials.trial == t]) for t in range(3)]
        for design in DESIGNS:
            assert one.predicted[design] == pytest.approx(np.mean([getattr(part, design) for part in parts]))
        assert one.sample_variance == pytest.approx(np.var([part.mean for part in parts], ddof=1))
        assert one.ratios[design] == pytest.approx(one.sample_variance / one.predicted[design])


def variance(values: npt.NDArray[np.bool_], trials: Trials) -> float:
    rates = np.bincount(trials.trial, weights=values) / np.bincount(trials.trial)
    return float(rates.var(ddof=1))


def two_sided(drawn: list[float], found: float) -> float:
    values = np.array(drawn)
    above, below = float(np.mean(values >= found - 1e-12)), float(np.mean(values <= found + 1e-12))
    return min(1.0, 2 * min(above, below))


@pytest.mark.slow
def test_p_values_are_those_of_all_exchanges() -> None:
    trials = table(2, 2, 2)
    success = np.array([1, 1, 0, 0, 1, 0, 0, 0], dtype=np.bool_)
    found = mixing(success[:, None], trials, rng=np.random.default_rng(0), permutations=4000)[0]
    halves = [success[:4], success[4:]]
    within = [
        variance(np.concatenate([half[list(order)] for half, order in zip(halves, orders, strict=True)]), trials)
        for orders in product(permutations(range(4)), repeat=2)
    ]
    everything = [variance(success[list(order)], trials) for order in permutations(range(8))]
    cells = success.reshape(4, 2)
    whole = [variance(cells[list(order)].ravel(), trials) for order in permutations(range(4))]
    for design, drawn in zip(DESIGNS, (within, everything, whole), strict=True):
        # Four standard errors of twice a share of 4,000 draws.
        assert found.p_values[design] == pytest.approx(two_sided(drawn, variance(success, trials)), abs=0.06)


def test_groups_and_cells_may_be_of_any_size() -> None:
    rng = np.random.default_rng(3)
    group, trial = rng.integers(0, 12, 900), rng.integers(0, 8, 900)
    made = make_trials(group, trial, rng=rng)
    found = mixing(rng.random((900, 3)) < 0.7, made, rng=rng, permutations=99)
    assert all(np.isfinite(list(one.predicted.values())).all() for one in found)
    assert all(0 < p <= 1 for one in found for p in one.p_values.values())


def test_many_kinds_of_groups_are_moved_one_by_one() -> None:
    rng = np.random.default_rng(4)
    trials = table(400, 4, 6)
    thresholds = np.linspace(0.05, 0.95, 30)
    success = rng.random((trials.at.size, 1)) < thresholds
    found = mixing(success, trials, rng=rng, permutations=39)
    assert np.mean([one.p_values["cl"] > 0.05 for one in found]) > 0.5


def test_no_variance_at_all_rejects_nothing() -> None:
    trials = table(5, 4, 3)
    found = mixing(np.ones((60, 1), np.bool_), trials, rng=np.random.default_rng(0), permutations=PERMUTATIONS)[0]
    assert found.compatible() == list(DESIGNS)
    assert np.isnan(found.ratios["st"])


def largest_share(experiments: int) -> float:
    """The most that chance makes of a nominal 5 %: three standard errors of a share in `experiments` experiments."""
    return 0.05 + 3 * sqrt(0.05 * 0.95 / experiments)


def rejection_rates(draw: Callable[[np.random.Generator], Mixing], experiments: int) -> dict[str, float]:
    """How often each design is rejected at 5 %."""
    counts = dict.fromkeys(DESIGNS, 0)
    for seed in range(experiments):
        found = draw(np.random.default_rng(seed))
        for design in DESIGNS:
            counts[design] += design not in found.compatible(0.05)
    return {design: count / experiments for design, count in counts.items()}


@pytest.mark.slow
@experiments(200, quick=50)
def test_error_rates_where_groups_are_strata(experiments: int) -> None:
    """Groups differ (0.1 or 0.9) and are the same in every trial: only stratified sampling is not rejected."""
    trials = table(20, 30, 4)
    rates = np.where(trials.group % 2, 0.1, 0.9)

    def draw(rng: np.random.Generator) -> Mixing:
        return mixing((rng.random(rates.size) < rates)[:, None], trials, rng=rng, permutations=PERMUTATIONS)[0]

    found = rejection_rates(draw, experiments)
    assert found["st"] <= largest_share(experiments)
    assert found["cl"] >= 0.99
    assert found["srs"] >= 0.8


@pytest.mark.slow
@experiments(200, quick=50)
def test_error_rates_where_there_are_no_groups(experiments: int) -> None:
    trials = table(30, 15, 4)

    def draw(rng: np.random.Generator) -> Mixing:
        return mixing(rng.random((trials.at.size, 1)) < 0.7, trials, rng=rng, permutations=PERMUTATIONS)[0]

    assert max(rejection_rates(draw, experiments).values()) <= largest_share(experiments)


@pytest.mark.slow
@experiments(200, quick=50)
def test_error_rates_where_groups_are_clusters(experiments: int) -> None:
    """New groups in every trial: cluster sampling is not rejected, stratified is."""
    group = np.repeat(np.arange(400), 6)

    def draw(rng: np.random.Generator) -> Mixing:
        rates = rng.beta(0.5, 0.5, 400)[group]
        trials = fresh_trials(group, rng=rng, elements=4, groups=20)
        return mixing((rng.random(rates.size) < rates)[:, None], trials, rng=rng, permutations=PERMUTATIONS)[0]

    found = rejection_rates(draw, experiments)
    assert found["cl"] <= largest_share(experiments)
    assert found["st"] >= 0.95
    assert found["srs"] >= 0.7


@pytest.mark.slow
@experiments(200, quick=50)
def test_error_rates_where_trials_share_something(experiments: int) -> None:
    trials = table(30, 15, 4)

    def draw(rng: np.random.Generator) -> Mixing:
        rates = np.clip(0.6 + 0.2 * rng.normal(size=15), 0, 1)[trials.trial]
        return mixing((rng.random(rates.size) < rates)[:, None], trials, rng=rng, permutations=PERMUTATIONS)[0]

    assert min(rejection_rates(draw, experiments).values()) >= 0.99


def step(drawn: tuple[npt.NDArray[np.bool_], IntArray, IntArray], rng: np.random.Generator, **options: int) -> Mixing:
    success, group, repetition = drawn
    return mixing(success, make_trials(group, repetition, rng=rng, **options), rng=rng, permutations=PERMUTATIONS)[0]


@pytest.mark.slow
@experiments(40, quick=16)
def test_the_papers_three_steps_and_its_figure_4(experiments: int) -> None:
    """All designs fail; shuffling over time leaves too little variance; groups by image fit; new groups: clusters."""
    mixings: dict[str, list[Mixing]] = {name: [] for name in ("1", "2", "3", "4")}
    for seed in range(experiments):
        drawn, rng = Weather().draw(seed), np.random.default_rng(seed)
        s, i, t = drawn.subject, drawn.image, drawn.time
        mixings["1"].append(step((drawn.success, s, t), rng))
        shuffled = shuffle_within(s, t, s * 1000 + t, rng=rng)
        mixings["2"].append(step((drawn.success, s, shuffled), rng))
        shuffled = shuffle_within(i, t, i * 1000 + t, rng=rng)
        mixings["3"].append(step((drawn.success, i, shuffled), rng, elements=4))
        mixings["4"].append(step((drawn.success, i, shuffled), rng, elements=4, resample=10))
    share = {
        name: {design: np.mean([design in one.compatible() for one in found]) for design in DESIGNS}
        for name, found in mixings.items()
    }
    assert max(share["1"].values()) <= 0.05
    assert all(one.ratios["st"] > 2 for one in mixings["1"])
    assert all(one.ratios["st"] < 1 for one in mixings["2"])
    assert share["2"]["st"] <= 0.2
    nearer = [
        abs(np.log(b.ratios["st"])) < abs(np.log(a.ratios["st"]))
        for a, b in zip(mixings["1"], mixings["2"], strict=True)
    ]
    assert np.mean(nearer) >= 0.85
    assert share["3"]["st"] >= 0.85
    assert share["3"]["cl"] <= 0.1
    assert share["4"]["cl"] >= 0.85
    assert share["4"]["st"] <= 0.2


def test_shuffling_keeps_cells_together_and_the_number_of_each() -> None:
    drawn = Weather(subjects=5, images=3, times=7).draw(0)
    unit = drawn.subject * 7 + drawn.time
    shuffled = shuffle_within(drawn.subject, drawn.time, unit, rng=np.random.default_rng(0))
    assert (shuffled != drawn.time).any()
    for one in np.unique(unit):
        assert np.unique(shuffled[unit == one]).size == 1
    counts = np.bincount(drawn.subject * 7 + shuffled)
    assert (counts == 3).all()


def test_trials_take_each_repetition_once() -> None:
    drawn = Weather(subjects=3, images=2, times=11).draw(0)
    made = make_trials(drawn.image, drawn.time, rng=np.random.default_rng(0), elements=4)
    assert made.count == 2
    used = [set(drawn.time[made.at[made.trial == t]].tolist()) for t in range(2)]
    assert [len(one) for one in used] == [4, 4]
    assert not used[0] & used[1]


def test_other_groups_for_every_trial_are_never_the_same() -> None:
    drawn = Weather(subjects=20, images=1, times=12).draw(0)
    made = make_trials(drawn.subject, drawn.time, rng=np.random.default_rng(0), elements=4, resample=5)
    groups = [set(drawn.subject[made.at[made.trial == t]].tolist()) for t in range(made.count)]
    assert [len(one) for one in groups] == [5, 5, 5]
    assert len(set().union(*groups)) == 15


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"elements": 7}, "12 .* two trials of 7"),
        ({"elements": 1}, "two elements"),
        ({"elements": 2, "resample": 9}, "groups"),
    ],
)
def test_too_few_elements_for_trials_are_refused(options: dict[str, int], message: str) -> None:
    drawn = Weather(subjects=10, images=1, times=12).draw(0)
    with pytest.raises(ValueError, match=message):
        make_trials(drawn.subject, drawn.time, rng=np.random.default_rng(0), **options)


def test_cofactors_explain_what_they_added() -> None:
    """Trials share a time, which explains all of the excess; images are within groups and explain none of it."""
    shares, within = [], []
    for seed in range(10):
        drawn, rng = Weather().draw(seed), np.random.default_rng(seed)
        trials = make_trials(drawn.subject, drawn.time, rng=rng)
        found = mixing(drawn.success, trials, rng=rng, permutations=19)[0]
        success = drawn.success[trials.at, 0]
        excess = found.sample_variance - found.predicted["srs"]
        shares.append(added_between_trials(success, trials, drawn.time[trials.at]) / excess)
        assert added_between_trials(success, trials, drawn.image[trials.at]) < 0.05 * excess
        within.append(share_within_groups(success, trials, drawn.image[trials.at]))
        assert share_within_groups(success, trials, np.arange(success.size) % 3) < 0.05
    assert np.mean(shares) == pytest.approx(1, abs=0.1)
    assert 0.4 < np.mean(within) < 0.8


@pytest.mark.sampled(3)
@pytest.mark.parametrize("alpha", [0.5, 0.1, 0.05, 0.02, 0.01, 0.001, 1 / 3, 0.07])
def test_a_rejection_needs_enough_permutations(alpha: float) -> None:
    """The trials of each half agree and the halves do not: no exchange has a larger variance, so p is the smallest."""
    number = permutations_needed(alpha)
    assert 2 / (number + 1) <= alpha * (1 + 1e-12) < 2 / number
    trials = table(40, 8, 4)
    success = (trials.trial < 4)[:, None]
    few, enough = (
        mixing(success, trials, rng=np.random.default_rng(0), permutations=n)[0] for n in (max(number - 1, 1), number)
    )
    assert enough.p_values["srs"] == pytest.approx(min(2 / (number + 1), 1))
    assert enough.compatible(alpha * (1 + 1e-12)) == []
    assert few.compatible(alpha) == list(DESIGNS)


def test_groups_that_are_in_one_trial_only_are_detected() -> None:
    crossed = table(5, 3, 2)
    assert (crossed.groups, crossed.cells, crossed.nested) == (5, 15, False)
    fresh = fresh_trials(np.repeat(np.arange(12), 4), rng=np.random.default_rng(0), elements=4, groups=3)
    assert (fresh.groups, fresh.cells, fresh.nested) == (12, 12, True)

"""The binormal curve: against a general optimiser, the jackknife and simulated scores."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import ndtr, ndtri

from harness.lab.binormal.statistics import binormal_area, binormal_of_counts, binormal_of_scores, score_categories
from harness.stats.arrays import FloatArray
from harness.stats.curves.roc import auc
from harness.stats.curves.scores import ScoredCases, counts_of, make_scored_cases
from harness.stats.replication.estimates import make_estimates
from harness.stats.replication.method import Method, Replication
from harness.stats.replication.sample import make_sample
from tests.simulation import experiments, slack

# Ratings of 109 tomograms: Hanley and McNeil (1982), table I.
NORMAL = np.array([33.0, 6, 6, 11, 2])
ABNORMAL = np.array([3.0, 2, 2, 11, 33])


def drawn(rng: np.random.Generator, n: int, a: float, b: float = 1.0) -> ScoredCases:
    positive = np.arange(n) % 2 == 0
    noise = rng.normal(size=n)
    return make_scored_cases(np.where(positive, (a + noise) / b, noise), positive)


def of_counts(negatives: FloatArray, positives: FloatArray) -> ScoredCases:
    times = np.concatenate([negatives, positives]).astype(int)
    levels = np.tile(np.arange(negatives.size), 2)
    return make_scored_cases(np.repeat(levels, times), np.repeat(np.repeat([False, True], negatives.size), times))


def general_fit(negatives: FloatArray, positives: FloatArray) -> tuple[float, float, FloatArray]:
    """a, b and the cuts by a general optimiser, started from the empirical cuts."""

    def cuts_of(x: FloatArray) -> FloatArray:
        return np.asarray(x[2] + np.concatenate(([0.0], np.cumsum(np.exp(x[3:])))))

    def loss(x: FloatArray) -> float:
        cuts = np.concatenate(([-np.inf], cuts_of(x), [np.inf]))
        p, q = np.diff(ndtr(cuts)), np.diff(ndtr(np.exp(x[1]) * cuts - x[0]))
        return float(-(negatives @ np.log(p + 1e-300) + positives @ np.log(q + 1e-300)))

    start = np.concatenate(([1.0, 0.0, -1.0], np.full(negatives.size - 2, -0.7)))
    best = minimize(loss, start, method="BFGS", options={"gtol": 1e-7})
    polished = minimize(loss, best.x, method="Nelder-Mead", options={"xatol": 1e-10, "fatol": 1e-13, "maxiter": 20_000})
    return float(polished.x[0]), float(np.exp(polished.x[1])), cuts_of(polished.x)


def test_hanley_and_mcneils_ratings_by_a_general_optimiser() -> None:
    found = binormal_of_counts(NORMAL, ABNORMAL)
    a, b, cuts = general_fit(NORMAL, ABNORMAL)
    assert (found.a, found.b) == pytest.approx((a, b), abs=1e-4)
    assert found.cuts == pytest.approx(cuts, abs=1e-4)
    assert found.area == pytest.approx(float(ndtr(a / np.sqrt(1 + b * b))), abs=1e-5)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_general_optimiser_finds_the_same(seed: int) -> None:
    rng = np.random.default_rng(seed)
    negatives, positives = rng.integers(1, 9, 6).astype(float), np.sort(rng.integers(1, 12, 6)).astype(float)

    a, b, _ = general_fit(negatives, positives)
    found = binormal_of_counts(negatives, positives)
    assert (found.a, found.b) == pytest.approx((a, b), abs=1e-4)


def test_large_samples_recover_the_parameters() -> None:
    found = binormal_of_scores(drawn(np.random.default_rng(1), 100_000, 1.5, 0.8))
    assert found.a == pytest.approx(1.5, abs=0.03)
    assert found.b == pytest.approx(0.8, abs=0.02)
    assert found.area == pytest.approx(ndtr(1.5 / np.sqrt(1.64)), abs=0.003)


def test_monotone_transformations_and_distances_change_nothing() -> None:
    cases = drawn(np.random.default_rng(2), 300, 1.2)
    area = binormal_of_scores(cases).area
    for scores, larger in ((np.exp(cases.better), True), (np.arctan(cases.better), True), (-cases.better, False)):
        other = make_scored_cases(scores, cases.positive, larger_is_better=larger)
        assert binormal_of_scores(other).area == pytest.approx(area, abs=1e-12)
    swapped = binormal_of_scores(make_scored_cases(-cases.better, cases.positive)).area
    assert swapped == pytest.approx(1 - area, abs=0.002)


def test_categories_keep_the_order_of_the_scores() -> None:
    cases = drawn(np.random.default_rng(3), 1000, 1.5)
    few, all_runs = score_categories(cases), score_categories(cases, 10_000)
    order = np.argsort(cases.better)
    assert (np.diff(few[order]) >= 0).all()
    assert np.unique(few).tolist() == list(range(20))
    assert all_runs.max() == np.count_nonzero(np.diff(cases.positive[order]))


def test_twenty_categories_lose_little_and_have_no_bias() -> None:
    """Beside sixty and beside the trapezium, whose standard error is 0.012."""
    rng, areas = np.random.default_rng(3), []
    for _ in range(12):
        cases = drawn(rng, 1000, 1.5)
        category = score_categories(cases, 60)
        negatives, positives = (
            np.bincount(category[of], minlength=60).astype(np.float64) for of in (~cases.positive, cases.positive)
        )
        finer = binormal_of_counts(negatives, positives)
        areas.append([binormal_of_scores(cases).area, finer.area, auc(counts_of(cases))])
    few, many, trapezium = np.array(areas).T
    assert np.mean(few - many) == pytest.approx(0.0, abs=0.0005)
    assert np.mean(few - trapezium) == pytest.approx(0.0, abs=0.001)
    assert np.abs(few - many).max() < 0.004


def test_weights_are_multiplicities() -> None:
    cases = of_counts(np.ones(5), np.ones(5))
    weighted = binormal_area([(cases, None)]).members(np.concatenate([NORMAL, ABNORMAL]))
    assert weighted[0] == pytest.approx(binormal_of_counts(NORMAL, ABNORMAL).area, abs=1e-9)


@pytest.mark.parametrize("n", [40, 120])
def test_the_linear_form_is_the_derivative(n: int) -> None:
    rng = np.random.default_rng(4)
    cases, weights = drawn(rng, n, 1.0, 0.7), rng.uniform(0.5, 2, n)
    statistic = binormal_area([(cases, None)])
    assert statistic.linear is not None
    found = statistic.linear(weights)[:, 0]
    for case in range(0, n, 7):
        step = 1e-5 * (np.arange(n) == case)
        slope = (statistic.members(weights + step) - statistic.members(weights - step))[0] / 2e-5
        assert found[case] == pytest.approx(slope, abs=1e-8)


def test_the_linear_form_agrees_with_the_jackknife_of_units() -> None:
    cases, units = drawn(np.random.default_rng(5), 400, 1.2), np.repeat(np.arange(40), 10)
    sample, statistic = make_sample(400, units=units), binormal_area([(cases, None)])
    found = [
        make_estimates(sample, statistic, Replication(method=of)).estimate(0) for of in ("linearised", "jackknife")
    ]
    assert found[0].method == Method.LINEARISED
    assert found[0].se == pytest.approx(found[1].se, rel=0.05)


@pytest.mark.parametrize(
    ("negatives", "positives", "reason"),
    [
        ([5, 0], [0, 5], "separate the two classes perfectly"),
        ([0, 0, 5], [2, 3, 0], "separate the two classes perfectly"),
        ([5], [5], "all scores are equal"),
        ([5, 3], [2, 4], "two different scores are too few"),
        ([5, 5, 0], [0, 5, 5], "no binormal curve fits best"),
        ([5, 0, 5], [0, 5, 0], "no binormal curve fits best"),
        ([5, 5, 5], [0, 0, 0], "a class has no cases"),
    ],
)
def test_data_without_a_maximum_have_a_reason(negatives: list[float], positives: list[float], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        binormal_of_counts(np.array(negatives, dtype=float), np.array(positives, dtype=float))


def test_a_group_without_a_curve_has_no_value() -> None:
    cases = drawn(np.random.default_rng(6), 200, 1.0)
    top = cases.better >= np.sort(cases.better[~cases.positive])[-1]
    values = binormal_area([(cases, ~top), (cases, top)]).members(np.ones(200))
    assert np.isfinite(values).tolist() == [True, False]


@pytest.mark.sampled(3)
@experiments(1000, quick=60)
@pytest.mark.parametrize(("area", "units"), [(0.8, 0), (0.95, 0), (0.9, 20)])
def test_intervals_cover(area: float, units: int, experiments: int) -> None:
    rng, covered = np.random.default_rng(7), 0
    labels = np.repeat(np.arange(20), 10) if units else None
    n = 200 if units else 100
    for _ in range(experiments):
        cases = drawn(rng, n, float(np.sqrt(2) * ndtri(area)))
        if labels is not None:
            shared = (cases.better * np.sqrt(0.8)) + np.sqrt(0.2) * rng.normal(size=20)[labels]
            shift = np.sqrt(2) * ndtri(area) * (1 - np.sqrt(0.8)) * cases.positive
            cases = make_scored_cases(shared + shift, cases.positive)
        one = make_estimates(make_sample(n, units=labels), binormal_area([(cases, None)])).estimate(0)
        assert one.interval is not None
        covered += one.interval.low <= area <= one.interval.high
    assert covered / experiments == pytest.approx(0.955, abs=slack(0.025, full=1000, experiments=experiments))

"""Thresholds that are set on the cases compared: against loops over thresholds and the bootstrap; experiments."""

from dataclasses import dataclass
from pathlib import Path
from typing import cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.analysis.align import AlignedRuns
from harness.analysis.compare import compare_aligned
from harness.analysis.operating_point import RunThresholds, operating_measure, parse_criterion
from harness.errors import TranscriptError, UsageError
from harness.measures import MEASURES, Runs
from harness.options.comparing import CompareOptions
from harness.stats.arrays import BoolArray, FloatArray
from harness.stats.curves.scores import ScoredCases, make_scored_cases
from harness.stats.replication.balanced import balanced
from harness.stats.replication.estimates import make_estimates
from harness.stats.replication.method import Replication
from harness.stats.replication.sample import make_sample
from tests.analysis.score_runs import World, compare_files
from tests.analysis.transcripts import aligned
from tests.simulation import experiments, slack


def rates(scores: FloatArray, positive: BoolArray, weights: FloatArray, threshold: float) -> tuple[float, float]:
    """fpr and fnr by counting."""
    taken = scores >= threshold
    fpr = weights[taken & ~positive].sum() / weights[~positive].sum()
    return float(fpr), float(1 - weights[taken & positive].sum() / weights[positive].sum())


def threshold_by_loop(point: str, scores: FloatArray, positive: BoolArray, weights: FloatArray) -> float:
    """Tries every score as a threshold, from the strictest on, after one above all scores."""
    tried = [np.inf, *sorted(set(scores.tolist()), reverse=True)]
    errors = [rates(scores, positive, weights, threshold) for threshold in tried]
    if point == "eer":
        return float(tried[int(np.argmin([round(abs(fpr - fnr), 12) for fpr, fnr in errors]))])
    kind, limit = point.split("=")
    if kind == "fpr":
        return float([t for t, (fpr, _) in zip(tried, errors, strict=True) if fpr <= float(limit) + 1e-12][-1])
    return float(next(t for t, (_, fnr) in zip(tried, errors, strict=True) if fnr <= float(limit) + 1e-12))


@pytest.mark.parametrize("point", ["eer", "fpr=0.1", "fpr=0", "fnr=0.25", "fnr=0", "fpr=1"])
def test_thresholds_and_outcomes_are_those_of_a_loop(tmp_path: Path, point: str) -> None:
    world = World(seed=1)
    found = compare_files(*world.runs(tmp_path), at=point)
    assert found.operating is not None
    for k, scores in enumerate(found.aligned.score):
        threshold = threshold_by_loop(point, scores, world.positive, np.ones(world.n))
        assert found.operating.thresholds[k] == threshold
        np.testing.assert_array_equal(found.aligned.success[k], (scores >= threshold) == world.positive)
        expected = rates(scores, world.positive, np.ones(world.n), threshold)
        assert (found.operating.fpr[k], found.operating.fnr[k]) == pytest.approx(expected)
        wrong, right = found.aligned.counts[k].FP, found.aligned.counts[k].TN
        assert wrong / (wrong + right) == pytest.approx(expected[0])
        assert found.runs[k].value == pytest.approx(found.runs[k].rate)


@pytest.mark.parametrize(
    ("statistic", "point"), [("rate", "eer"), ("fnr", "fpr=0.1"), ("mcc", "eer"), ("fpr", "fnr=0.2")]
)
def test_every_replicate_sets_its_own_threshold(tmp_path: Path, statistic: str, point: str) -> None:
    """BRR by hand, with the threshold found by a loop in every half-sample."""
    world = World(seed=2)
    plan, formula = Replication(method="brr", complements=False), MEASURES[statistic].of_totals
    found = compare_files(*world.runs(tmp_path, (1.5, 1.0)), statistic=statistic, at=point, plan=plan)
    sample, positive = found.sampling.sample, world.positive

    def value(scores: FloatArray, weights: FloatArray) -> float:
        taken = scores >= threshold_by_loop(point, scores, positive, weights)
        totals = [
            weights[mask].sum() for mask in (taken & positive, ~taken & positive, taken & ~positive, ~taken & ~positive)
        ]
        assert formula is not None
        return float(formula(np.array(totals)))

    full = np.array([value(scores, np.ones(world.n)) for scores in found.aligned.score])
    squares = []
    for block in balanced(sample, fay=0.5).weights():
        for factors in block:
            weights = factors[sample.unit_of_case]
            squares.append((np.array([value(scores, weights) for scores in found.aligned.score]) - full) ** 2 / 0.25)
    for run, expected in zip(found.runs, np.sqrt(np.mean(squares, axis=0)), strict=True):
        assert run.estimate is not None
        assert run.estimate.se == pytest.approx(expected, rel=1e-8)


@pytest.mark.slow
@experiments(150, quick=40)
def test_the_interval_knows_that_the_threshold_was_set_on_the_same_cases(tmp_path: Path, experiments: int) -> None:
    """In 150 repetitions the false negative rate at fpr 0.1 varies more than its binomial error at a fixed threshold,
    and as much as replication says: both errors are estimated."""
    values, honest, naive = [], [], []
    for seed in range(experiments):
        world = World(strata=30, size=8, seed=seed)
        scores = np.random.default_rng(seed).normal(size=world.n) + 1.0 * world.positive
        paths = [world.write(tmp_path / f"{k}.jsonl", scores if k == "a" else -scores) for k in "ab"]
        found = compare_files(*paths, statistic="fnr", at="fpr=0.1")
        one = found.runs[0]
        assert one.estimate is not None
        assert one.value is not None
        values.append(one.value)
        honest.append(one.estimate.se)
        naive.append(np.sqrt(one.value * (1 - one.value) / world.positive.sum()))
    spread = float(np.std(values, ddof=1))
    # The standard deviation of 150 values is known to 6 %: 1 / sqrt(2 x 149).
    assert np.mean(honest) == pytest.approx(spread, rel=slack(0.2, full=150, experiments=experiments))
    assert np.mean(naive) < 0.75 * spread


def test_errors_are_failures_at_every_threshold(tmp_path: Path) -> None:
    world = World(seed=3)
    errors = ["crash" if i in (0, 1, 2, 3) else None for i in range(world.n)]
    scores = [None if e else s for e, s in zip(errors, world.scores(0).tolist(), strict=True)]
    paths = [world.write(tmp_path / f"{k}.jsonl", world.scores(0), score=scores, error=errors) for k in "ab"]
    for point in ("fpr=0", "fnr=0", "eer"):
        found = compare_files(*paths, at=point)
        assert not found.aligned.success[0, :4].any()
        assert found.aligned.counts[0].ER == 4


def test_distances_are_accepted_from_the_threshold_down(tmp_path: Path) -> None:
    world = World(seed=4)
    similar = [world.write(tmp_path / f"{k}.jsonl", world.scores(i)) for i, k in enumerate("ab")]
    plain = compare_files(*similar, at="eer")
    far = []
    for path in similar:
        text = path.read_text().replace('"score": -', '"score": +').replace('"score": ', '"score": -')
        text = text.replace('"score": -+', '"score": ').replace(
            '"task": "score"', '"task": "score", "larger_is_better": false'
        )
        other = path.with_stem(f"far-{path.stem}")
        other.write_text("\n".join(text.splitlines()[:-1]) + "\n")
        far.append(other)
    runs = aligned(*far, partial=True)
    turned = compare_aligned(runs, CompareOptions(at="eer"))
    assert plain.operating is not None
    assert turned.operating is not None
    assert turned.operating.thresholds == [-threshold for threshold in plain.operating.thresholds]
    np.testing.assert_array_equal(turned.aligned.success, plain.aligned.success)
    assert turned.runs[0].estimate == plain.runs[0].estimate


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("method", "taken"), [("auto", "linearised"), ("bootstrap", "bootstrap")])
@pytest.mark.parametrize("stratum", [None, ("none",)])
def test_an_operating_point_uses_the_linear_form_by_default(
    tmp_path: Path, stratum: tuple[str, ...] | None, method: str, taken: str
) -> None:
    plan = Replication(method=method)
    found = compare_files(*World().runs(tmp_path), at="eer", stratum=stratum, plan=plan)
    assert {pair.estimate.method for pair in found.pairs if pair.estimate} == {taken}


def test_an_invalid_method_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="rate of success at eer"):
        compare_files(*World().runs(tmp_path), at="eer", plan=Replication(method="jackknife"))


@dataclass(frozen=True)
class Scores:
    """The part of two runs that an operating point uses."""

    world: World

    @property
    def positive(self) -> BoolArray:
        return self.world.positive

    @property
    def elements(self) -> None:
        return None

    def curve_cases(self) -> list[ScoredCases]:
        return [make_scored_cases(self.world.scores(k, lift), self.positive) for k, lift in enumerate((1.5, 1.0))]


@pytest.mark.sampled(6)
@pytest.mark.parametrize(("statistic", "point"), [("fnr", "fpr=0.1"), ("rate", "eer"), ("tnr", "fnr=0.2")])
def test_the_linear_form_knows_that_the_threshold_moves(statistic: str, point: str) -> None:
    """In 120 repetitions values and differences vary as predicted; their standard deviations are known to 6.5 %."""
    runs, pairs = [], []
    for seed in range(120):
        world = World(strata=30, size=8, seed=seed)
        measure = operating_measure(MEASURES[statistic], parse_criterion(point))
        of_both = measure.statistic(cast("Runs", Scores(world)), [(0, None), (1, None)])
        sample = make_sample(world.n, strata=world.stratum, units=world.unit)
        found = make_estimates(sample, of_both, Replication(method="linearised"))
        one, pair = found.estimate(0), found.difference(0, 1)
        assert (one.method, pair.replicates) == ("linearised", None)
        runs.append((one.value, one.se))
        pairs.append((pair.value, pair.se))
    for values, errors in (np.array(runs).T, np.array(pairs).T):
        assert np.sqrt(np.mean(errors**2)) == pytest.approx(float(np.std(values, ddof=1)), rel=0.2)


@pytest.mark.parametrize(
    "text", ["", "err", "fpr", "fpr=", "fpr=2", "fpr=-0.1", "fpr=nan", "fpr=1e", "auc=0.1", "fpr=0.1=2"]
)
def test_what_is_not_an_operating_point(text: str) -> None:
    with pytest.raises(UsageError, match="--at"):
        parse_criterion(text)


def test_points_can_be_named_by_their_complements() -> None:
    assert str(parse_criterion("tnr=0.75")) == "fpr=0.25"
    assert str(parse_criterion(" tpr = 0.75 ")) == "fnr=0.25"
    assert str(parse_criterion("eer")) == "eer"


def test_curves_have_no_operating_point(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="auc is not computed from the outcomes at a threshold"):
        compare_files(*World().runs(tmp_path), statistic="auc", at="eer")


def test_scores_are_needed(tmp_path: Path) -> None:
    world = World()
    paths = [world.write(tmp_path / f"{k}.jsonl", world.scores(0), score=[None] * world.n) for k in "ab"]
    with pytest.raises(TranscriptError, match="no score"):
        compare_files(*paths, at="eer")


def test_a_group_without_the_measure_has_no_value_at_an_operating_point(tmp_path: Path) -> None:
    """Nothing positive and nothing accepted: F1 is 0 over 0 there, in the sample and in its replicates."""
    world = World(strata=6, size=4, seed=5)
    low = ~world.positive & (np.arange(world.n) % 3 == 0)
    scores = np.where(low, -9.0, world.scores(0))
    columns = [{"kind": "empty" if empty else "rest"} for empty in low]
    paths = [world.write(tmp_path / f"{k}.jsonl", scores, columns=columns) for k in "ab"]
    found = compare_files(*paths, statistic="f1", at="eer", by="kind")
    assert found.by is not None
    assert [[one is None for one in group.runs] for group in found.by.groups] == [[True, True], [False, False]]


@given(seed=st.integers(0, 10_000), at=st.sampled_from(["eer", "fpr=0.3", "fnr=0.25", "fpr=0", "fnr=1"]))
def test_a_threshold_by_bins_is_that_of_all_thresholds(seed: int, at: str) -> None:
    """A loop over all thresholds; with ties, infinite scores, and weights of which many are 0, as replicates have."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 60))
    scores = rng.choice([*rng.integers(0, 8, 20).astype(float), np.inf, -np.inf], n)
    positive, weights = np.arange(n) % 2 == 0, rng.integers(0, 3, n).astype(float)
    criterion, cases = parse_criterion(at), make_scored_cases(scores, positive)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("harness.analysis.operating_point._BINS", int(rng.integers(1, 6)))
        found = RunThresholds(cases).choose(criterion, weights)
    if not weights[positive].sum() or not weights[~positive].sum():
        assert found is None
        return
    tried = [np.inf, *sorted({score for score in scores.tolist() if np.isfinite(score)}, reverse=True)]
    fpr, fnr = np.array([rates(scores, positive, weights, threshold) for threshold in tried]).T
    place = criterion.index(1 - fnr, fpr)
    assert found is not None
    assert found.threshold == tried[place]
    np.testing.assert_allclose((found.tpr, found.fpr), (1 - fnr[place], fpr[place]), atol=1e-12)


def runs_without_ties(world: World, folder: Path, lifts: tuple[float, ...]) -> AlignedRuns:
    """Scores without ties: a threshold jumps over cases with the same score, and no linear form is close."""
    rng = np.random.default_rng(world.seed)
    shared = 0.5 * rng.normal(size=world.n)[world.unit]
    paths = [
        world.write(folder / f"{k}.jsonl", rng.normal(size=world.n) + lift * world.positive + shared)
        for k, lift in enumerate(lifts)
    ]
    return aligned(*paths)


@pytest.mark.sampled(9)
@pytest.mark.parametrize("point", ["fpr=0.2", "fnr=0.2", "eer"])
@pytest.mark.parametrize("name", ["tpr", "fpr", "rate", "f1", "mcc"])
@experiments(1000, quick=300)
def test_the_linear_form_is_close_to_the_bootstrap(tmp_path: Path, point: str, name: str, experiments: int) -> None:
    """1,000 draws have a standard error of 2 %; the slope of the curve is estimated too."""
    world = World(strata=1, units=400, size=4, seed=21)
    runs = runs_without_ties(world, tmp_path, (1.5, 1.0))
    sample = make_sample(world.n, units=world.unit)
    statistic = operating_measure(MEASURES[name], parse_criterion(point)).statistic(runs, [(0, None), (1, None)])
    linear = make_estimates(sample, statistic, Replication(method="linearised"))
    drawn = make_estimates(sample, statistic, Replication(method="bootstrap", replicates=experiments))
    held = {"fpr=0.2": "fpr", "fnr=0.2": "tpr"}.get(point)
    if name == held:
        # The rate held fixed does not vary to first order; the steps of the curve leave a little.
        assert (linear.se < 1e-9).all()
        assert (drawn.se < 0.01).all()
    else:
        np.testing.assert_allclose(linear.se, drawn.se, rtol=0.15)
        gap = linear.difference(0, 1).se, drawn.difference(0, 1).se
        assert gap[0] == pytest.approx(gap[1], rel=0.15)


def test_rates_at_equal_errors_are_one_rate(tmp_path: Path) -> None:
    """At equal errors tpr, tnr and the balanced accuracy move together, except for the last step of the curve."""
    world = World(strata=1, units=200, size=4, seed=22)
    runs = runs_without_ties(world, tmp_path, (1.5,))
    sample = make_sample(world.n, units=world.unit)

    def se(name: str) -> float:
        statistic = operating_measure(MEASURES[name], parse_criterion("eer")).statistic(runs, [(0, None)])
        return float(make_estimates(sample, statistic, Replication(method="linearised")).se[0])

    assert se("tpr") == pytest.approx(se("tnr"), rel=1e-9)
    assert se("balanced") == pytest.approx(se("tpr"), rel=1e-9)


def test_the_command_uses_the_linear_form(tmp_path: Path) -> None:
    found = compare_files(
        *World(seed=23).runs(tmp_path),
        statistic="tpr",
        at="fpr=0.3",
        plan=Replication(method="linearised"),
    )
    assert {pair.estimate.method for pair in found.pairs if pair.estimate} == {"linearised"}

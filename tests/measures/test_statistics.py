"""Statistics beyond the rate: against scikit-learn, loops over replicates, and under changes that must not matter."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import numpy as np
import numpy.typing as npt
import pytest
from sklearn import metrics

from harness.analysis.align import AlignedRuns
from harness.analysis.sampling import take_sample
from harness.cli.compare import compare_command
from harness.errors import TranscriptError, UsageError
from harness.measures import MEASURES, Reads, find_measure
from harness.options import DesignOptions
from harness.stats.arrays import FloatArray
from harness.stats.cochran import equal_rates
from harness.stats.curves.scores import make_scored_cases
from harness.stats.curves.summaries import SUMMARIES, influence, summary_difference
from harness.stats.replication.balanced import balanced
from harness.stats.replication.estimates import make_estimate, make_estimates
from harness.stats.replication.method import Replication
from harness.stats.replication.sample import Sample, make_sample
from harness.stats.replication.statistic import Statistic, WeightsStatistic, difference, full_values
from tests.analysis.score_runs import World, compare_files
from tests.analysis.transcripts import aligned, transcript

OUTCOME_STATISTICS = [name for name, measure in MEASURES.items() if measure.reads is Reads.OUTCOME]
STATISTICS = [*OUTCOME_STATISTICS, "auc", "eer"]
# Measures of scores whose numbers are checked in test_curve_measures.py and
# tests/stats/curves/test_precision.py.
OF_SCORES = ["average_precision", "cllr", "min_cllr", "brier", "ece"]


def by_sklearn(name: str, truth: FloatArray, answer: FloatArray, scores: FloatArray, weights: FloatArray) -> float:
    """The same statistic from another program."""
    w = {"sample_weight": weights}
    negative = {"pos_label": 0}
    of = {
        "rate": lambda: metrics.accuracy_score(truth, answer, **w),
        "tpr": lambda: metrics.recall_score(truth, answer, **w),
        "tnr": lambda: metrics.recall_score(truth, answer, **w, **negative),
        "fpr": lambda: 1 - metrics.recall_score(truth, answer, **w, **negative),
        "fnr": lambda: 1 - metrics.recall_score(truth, answer, **w),
        "precision": lambda: metrics.precision_score(truth, answer, **w),
        "npv": lambda: metrics.precision_score(truth, answer, **w, **negative),
        "balanced": lambda: metrics.balanced_accuracy_score(truth, answer, **w),
        "informedness": lambda: metrics.balanced_accuracy_score(truth, answer, adjusted=True, **w),
        "hter": lambda: 1 - metrics.balanced_accuracy_score(truth, answer, **w),
        "f1": lambda: metrics.f1_score(truth, answer, **w),
        "mcc": lambda: metrics.matthews_corrcoef(truth, answer, **w),
        "kappa": lambda: metrics.cohen_kappa_score(truth, answer, **w),
        "auc": lambda: metrics.roc_auc_score(truth, scores, **w),
    }
    return float(of[name]())


def eer_by_loop(positive: npt.NDArray[np.bool_], scores: FloatArray, weights: FloatArray) -> float:
    """Threshold by threshold, until more negatives are accepted than positives are refused."""
    before = (1.0, 0.0)
    for threshold in sorted(set(scores.tolist()), reverse=True):
        taken = scores >= threshold
        fnr = 1 - weights[taken & positive].sum() / weights[positive].sum()
        fpr = weights[taken & ~positive].sum() / weights[~positive].sum()
        if fpr >= fnr:
            step = (before[0] - before[1]) / ((before[0] - before[1]) + (fpr - fnr))
            return float(before[1] + step * (fpr - before[1]))
        before = (fnr, fpr)
    raise AssertionError("the last threshold accepts all")


def of_runs(name: str, runs: AlignedRuns, *places: int) -> Statistic:
    """A measure of some of the runs, on all cases."""
    return find_measure(name).statistic(runs, [(place, None) for place in places])


OF_NUMBERS = ("seconds", "memory", "mae", "rmse", "bias")
OF_PIXELS = ("iou", "dice", "miou", "pixel_tpr", "pixel_fpr", "pixel_precision", "pixel_f1")
OF_BOXES = (
    "ap", "ap50", "ap75", "ap_small", "ap_medium", "ap_large", "froc", "fppi", "missed", "spurious",
    "object_recall", "object_precision", "object_f1",
)  # fmt: skip


def test_the_command_offers_all_measures() -> None:
    """Measures of curves and of outcomes, each once; help and completion read the registry."""
    assert {*STATISTICS, *OF_SCORES, *OF_NUMBERS, *OF_PIXELS, *OF_BOXES} == set(MEASURES)
    (option,) = [param for param in compare_command.params if param.name == "statistic"]
    assert isinstance(option, click.Option)
    assert all(name in (option.help or "") for name in MEASURES)
    offered = option.shell_complete(click.Context(compare_command), "")
    assert {item.value for item in offered} >= set(MEASURES)


@pytest.mark.parametrize("name", [name for name in STATISTICS if name != "eer"])
def test_values_are_those_of_scikit_learn(tmp_path: Path, name: str) -> None:
    world = World(seed=3)
    runs = aligned(*world.runs(tmp_path))
    weights = np.random.default_rng(1).uniform(0.1, 3, world.n)
    sample = replace(take_sample(runs, DesignOptions()).sample, weights=weights)
    for k, scores in enumerate(runs.score):
        truth, answer = world.positive.astype(float), (scores >= 0.5).astype(float)
        assert full_values(sample, of_runs(name, runs, k))[0] == pytest.approx(
            by_sklearn(name, truth, answer, scores, weights), abs=1e-12
        )


def test_equal_error_rates_are_those_of_a_loop_over_thresholds(tmp_path: Path) -> None:
    world = World(seed=4)
    found = compare_files(*world.runs(tmp_path), statistic="eer")
    for run, scores in zip(found.runs, found.aligned.score, strict=True):
        assert run.value == pytest.approx(eer_by_loop(world.positive, scores, np.ones(world.n)), abs=1e-12)


@pytest.mark.sampled(7)
@pytest.mark.parametrize("complements", [False, True])
@pytest.mark.parametrize("name", [*STATISTICS])
def test_errors_are_those_of_a_loop_over_half_samples(tmp_path: Path, name: str, complements: bool) -> None:
    """BRR by hand: every half-sample reweighted, the statistic computed by another program, deviations squared.

    With complements, the other half of each is used too, which does not change linear statistics.
    """
    world = World(seed=5)
    plan = Replication(fay=0.5, complements=complements)
    found = compare_files(*world.runs(tmp_path, (1.5, 1.0)), statistic=name, plan=plan)
    sample = found.sampling.sample
    truth, estimates = world.positive.astype(float), []

    def both(weights: FloatArray) -> FloatArray:
        values = []
        for scores in found.aligned.score:
            answer = (scores >= 0.5).astype(float)
            values.append(
                eer_by_loop(world.positive, scores, weights)
                if name == "eer"
                else by_sklearn(name, truth, answer, scores, weights)
            )
        return np.array(values)

    for block in balanced(sample, fay=0.5).weights():
        estimates += [both(factors[sample.unit_of_case]) for factors in block]
        estimates += [both(2 - factors[sample.unit_of_case]) for factors in block if complements]
    spread = (np.array(estimates) - both(np.ones(world.n))) / 0.5
    for run, expected in zip(found.runs, np.sqrt((spread**2).mean(axis=0)), strict=True):
        assert run.estimate is not None
        assert run.estimate.se == pytest.approx(expected, rel=1e-8)
    pair = found.pairs[0].estimate
    assert pair is not None
    assert pair.se == pytest.approx(float(np.sqrt(((spread[:, 0] - spread[:, 1]) ** 2).mean())), rel=1e-7)
    assert pair.fay == 0.5
    linear = name in ("rate", "tpr", "tnr", "fpr", "fnr")
    assert pair.replicates == len(estimates) // (2 if complements and linear else 1)


@pytest.mark.sampled(13)
@pytest.mark.parametrize("method", ["brr", "jackknife", "bootstrap", "linearised"])
@pytest.mark.parametrize("name", OUTCOME_STATISTICS)
def test_all_pairs_at_once_are_each_pair_by_itself(tmp_path: Path, name: str, method: str) -> None:
    plan = Replication(method=method, fay=0.5 if method == "brr" else None, seed=7)
    found = compare_files(*World(seed=6).runs(tmp_path), statistic=name, plan=plan)
    for pair in found.pairs:
        both = of_runs(name, found.aligned, pair.a, pair.b)
        alone = make_estimates(found.sampling.sample, both, plan).difference(0, 1)
        assert pair.estimate is not None
        assert pair.estimate.value == pytest.approx(alone.value, abs=1e-12)
        assert pair.estimate.se == pytest.approx(alone.se, rel=1e-9)
        assert pair.estimate.df == alone.df


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", ["precision", "balanced", "f1", "mcc", "kappa"])
def test_the_linear_form_is_close_to_replication(tmp_path: Path, name: str) -> None:
    world = World(strata=60, size=10, seed=8)
    paths = world.runs(tmp_path, (1.5, 1.0))
    linear = compare_files(*paths, statistic=name, plan=Replication(method="linearised"))
    brr = compare_files(*paths, statistic=name)
    one, other = linear.pairs[0].estimate, brr.pairs[0].estimate
    assert one is not None
    assert other is not None
    assert one.se == pytest.approx(other.se, rel=0.05)


def linear_by_hand(units: FloatArray, sample: Sample) -> float:
    """The textbook formula: in each stratum n / (n - 1) times the squares of what units add, around their mean."""
    parts = [units[sample.stratum_of_unit == stratum] for stratum in range(sample.strata)]
    return float(np.sqrt(sum(len(part) * part.var(ddof=1) for part in parts)))


def area_by_loop(positive: npt.NDArray[np.bool_], scores: FloatArray) -> FloatArray:
    """What each case adds to the area, from all pairs of a positive and a negative case (DeLong 1988)."""
    wins = np.sign(scores[positive][:, None] - scores[~positive]) / 2 + 0.5
    added = np.empty(scores.size)
    added[positive] = (wins.mean(axis=1) - wins.mean()) / positive.sum()
    added[~positive] = (wins.mean(axis=0) - wins.mean()) / (~positive).sum()
    return added


@pytest.mark.parametrize("name", ["auc", "eer"])
def test_curves_are_compared_as_in_the_statistics_of_curves(tmp_path: Path, name: str) -> None:
    world = World(seed=9)
    found = compare_files(*world.runs(tmp_path, (1.5, 1.0)), statistic=name)
    sample = found.sampling.sample
    a, b = (make_scored_cases(scores, world.positive) for scores in found.aligned.score)
    twin = summary_difference(SUMMARIES[name], a, b, sample)
    pair = found.pairs[0].estimate
    assert pair is not None
    assert (pair.method, pair.fay) == ("brr", 0.5)
    assert (pair.value, pair.se, pair.p_value) == pytest.approx((twin.value, twin.se, twin.p_value), rel=1e-9)
    linear = compare_files(*world.runs(tmp_path, (1.5, 1.0)), statistic=name, plan=Replication(method="linearised"))
    if name == "auc":
        added = [area_by_loop(world.positive, scores) for scores in found.aligned.score]
    else:
        sizes = np.where(world.positive, world.positive.sum(), (~world.positive).sum())
        added = [influence(name, cases).deviations / sizes for cases in (a, b)]
    units = np.bincount(sample.unit_of_case, weights=added[0] - added[1]).astype(np.float64)
    pair = linear.pairs[0].estimate
    assert pair is not None
    values = [run.value or 0.0 for run in found.runs]
    expected = (values[0] - values[1], linear_by_hand(units, sample), 8)
    assert (pair.value, pair.se, pair.df) == pytest.approx(expected, rel=1e-9)


def test_without_strata_curves_use_the_linear_form(tmp_path: Path) -> None:
    found = compare_files(*World().runs(tmp_path), statistic="eer", stratum=("none",))
    assert {pair.estimate.method for pair in found.pairs if pair.estimate} == {"linearised"}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", [*STATISTICS])
def test_the_order_of_runs_only_changes_the_sign(tmp_path: Path, name: str) -> None:
    a, b = World(seed=11).runs(tmp_path, (1.5, 0.7))
    one, other = (compare_files(*paths, statistic=name).pairs[0].estimate for paths in ((a, b), (b, a)))
    assert one is not None
    assert other is not None
    assert (one.value, one.se) == pytest.approx((-other.value, other.se))
    assert one.p_value == pytest.approx(other.p_value)


@pytest.mark.parametrize("name", ["auc", "eer"])
def test_curves_depend_only_on_the_order_of_scores(tmp_path: Path, name: str) -> None:
    world = World(seed=12)
    plain = [world.write(tmp_path / f"{k}.jsonl", world.scores(k)) for k in range(2)]
    bent = [world.write(tmp_path / f"bent{k}.jsonl", np.exp(3 * world.scores(k))) for k in range(2)]
    one, other = (compare_files(*paths, statistic=name).pairs[0].estimate for paths in (plain, bent))
    assert one is not None
    assert other is not None
    assert (one.value, one.se) == pytest.approx((other.value, other.se))


def test_the_order_of_cases_does_not_matter(tmp_path: Path) -> None:
    world = World(seed=13)
    a, b = world.runs(tmp_path, (1.5, 1.0))
    lines = b.read_text().splitlines(keepends=True)
    b.write_text("".join([lines[0], *reversed(lines[1:-1])]))
    runs = aligned(a, b, partial=True)
    for name in ("f1", "auc"):
        assert full_values(take_sample(runs, DesignOptions()).sample, of_runs(name, runs, 1))[0] == pytest.approx(
            by_sklearn(name, world.positive.astype(float), (runs.score[1] >= 0.5).astype(float), runs.score[1],
                       np.ones(world.n))
        )  # fmt: skip


def test_smaller_is_better_for_error_rates(tmp_path: Path) -> None:
    world = World(strata=40, seed=14)
    paths = world.runs(tmp_path, (3.0, 0.2))
    for name, sign in (("fnr", -1), ("tpr", 1), ("eer", -1), ("auc", 1)):
        found = compare_files(*paths, statistic=name)
        pair = found.pairs[0]
        assert pair.estimate is not None
        assert np.sign(pair.estimate.value) == sign
        assert found.leader(pair) == 0
        assert found.groups[0] == ["a"]


def test_mcnemar_stays_about_success(tmp_path: Path) -> None:
    paths = World(seed=15).runs(tmp_path)
    plain, other = compare_files(*paths), compare_files(*paths, statistic="fpr")
    for one, two in zip(plain.pairs, other.pairs, strict=True):
        assert (one.z, one.p_exact, one.z_design, one.difference) == (two.z, two.p_exact, two.z_design, two.difference)
    assert plain.pairs[0].estimate != other.pairs[0].estimate


def test_a_run_without_a_value_is_left_out_and_named(tmp_path: Path) -> None:
    world = World(seed=16)
    paths = [*world.runs(tmp_path, (1.5, 1.0)), world.write(tmp_path / "mute.jsonl", np.full(world.n, -9.0))]
    found = compare_files(*paths, statistic="precision")
    assert [run.value is None for run in found.runs] == [False, False, True]
    assert [pair.estimate is None for pair in found.pairs] == [False, True, True]
    assert found.pairs[1].p_decisive == 1.0


def test_the_interval_of_a_statistic_without_variance_is_not_a_point(tmp_path: Path) -> None:
    world = World()
    perfect = np.where(world.positive, 1.0, 0.0)
    paths = [world.write(tmp_path / f"{k}.jsonl", perfect) for k in "ab"]
    for name in STATISTICS:
        found = compare_files(*paths, statistic=name)
        one, pair = found.runs[0].estimate, found.pairs[0].estimate
        assert one is not None
        assert pair is not None
        assert one.interval is not None
        assert pair.interval is not None
        assert one.interval.low < one.interval.high
        assert pair.interval.low < 0 < pair.interval.high
        assert pair.p_value == 1.0


@pytest.mark.parametrize("statistic", ["tnr", "fpr", "balanced", "auc", "eer"])
def test_what_needs_negative_cases_says_so(tmp_path: Path, statistic: str) -> None:
    paths = [transcript(tmp_path / f"{k}.jsonl", [True, False], score=[1.0, 2.0], test={"task": "score"}) for k in "ab"]
    with pytest.raises(UsageError, match=f"--statistic {statistic} needs negative cases; this test has none"):
        compare_files(*paths, statistic=statistic)


def test_curves_refuse_accepted_answers_without_a_score(tmp_path: Path) -> None:
    world = World()
    good = world.write(tmp_path / "a.jsonl", world.scores(0))
    bare = transcript(
        tmp_path / "b.jsonl",
        world.positive,
        positive=world.positive.tolist(),
        test={"task": "score"},
        score=[None] * world.n,
    )
    with pytest.raises(TranscriptError, match=r"b: .* accepted cases have no score"):
        compare_files(good, bare, statistic="auc")


def test_in_a_label_test_the_score_counts_for_the_claimed_label(tmp_path: Path) -> None:
    """Another label is minus infinity, an error minus infinity for a positive case and plus for a negative."""
    positive = [True, True, True, True, False, False, False]
    fields: dict[str, Any] = {
        "expect": ["x", "x", "x", "x", "x", "", "x"],
        "actual": ["x", "x", "y", None, "x", "z", None],
        "score": [3.0, 1.0, 9.0, None, 2.0, 0.5, None],
        "error": [None, None, None, "crash", None, None, "timeout"],
    }
    outcomes = [True, True, False, False, False, False, False]
    scores = [3.0, 1.0, -np.inf, -np.inf, 2.0, 0.5, np.inf]
    paths = [transcript(tmp_path / f"{k}.jsonl", outcomes, positive=positive, **fields) for k in "ab"]
    found = compare_files(*paths, statistic="auc")
    wins = [float(p > n) + 0.5 * (p == n) for p in scores[:4] for n in scores[4:]]
    assert found.runs[0].value == pytest.approx(np.mean(wins))


def test_the_jackknife_is_refused_if_it_is_wrong(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="jackknife is wrong for equal error rate"):
        compare_files(*World().runs(tmp_path), statistic="eer", plan=Replication(method="jackknife"))


def test_satterthwaite_is_by_the_linear_form_and_refused_without_one(tmp_path: Path) -> None:
    """Areas have one: (sum of variances)^2 over the sum of squares by degrees of freedom, stratum by stratum."""
    world = World(seed=18, units=3)
    found = compare_files(*world.runs(tmp_path), statistic="auc", plan=Replication(df="satterthwaite"))
    sample, one = found.sampling.sample, found.runs[0].estimate
    units = np.bincount(sample.unit_of_case, weights=area_by_loop(world.positive, found.aligned.score[0]))
    parts = [units[sample.stratum_of_unit == stratum] for stratum in range(sample.strata)]
    variances = np.array([len(part) * part.var(ddof=1) for part in parts])
    assert one is not None
    assert one.df == pytest.approx(variances.sum() ** 2 / (variances**2 / 2).sum())
    bare = WeightsStatistic(lambda weights: float(weights.max()))
    with pytest.raises(ValueError, match="no linear form"):
        make_estimate(sample, bare, Replication(df="satterthwaite"))


def test_several_statistics_have_the_covariance_of_their_replicates(tmp_path: Path) -> None:
    """Identity: variances of both and of the difference give the covariance back."""
    runs = aligned(*World(seed=17).runs(tmp_path, (1.5, 1.0)))
    found = make_estimates(take_sample(runs, DesignOptions()).sample, of_runs("f1", runs, 0, 1), Replication())
    own, minus = found.estimate(0).se ** 2 + found.estimate(1).se ** 2, found.difference(0, 1).se ** 2
    assert own - minus == pytest.approx(2 * found.covariance[0, 1])
    assert found.covariance[0, 1] == found.covariance[1, 0]


def test_a_covariance_may_be_unsymmetric_by_rounding() -> None:
    """Covariances near zero differ from their mirror images in the last digits of the large ones."""
    nearly = np.array([[1e-3, 1e-19, 0.0], [-1e-19, 1e-3, 0.0], [0.0, 0.0, 1e-3]])
    exact = np.diag(np.full(3, 1e-3))
    rates = np.array([0.5, 0.6, 0.7])
    assert equal_rates(rates, nearly, df=50).p_value == pytest.approx(equal_rates(rates, exact, df=50).p_value)


def test_rates_at_a_rank_are_the_share_of_probes_found_there(tmp_path: Path) -> None:
    """Probes of people who are not in the gallery do not count; enrolled people without a rank were not found."""
    ranks = [[1, 3, None, 2, 7, None], [2, 2, 1, 1, None, None]]
    positive = [True] * 5 + [False]
    paths = [
        transcript(
            tmp_path / f"{k}.jsonl", [rank == 1 for rank in own], positive=positive, rank=own, test={"task": "rank"}
        )
        for k, own in zip("ab", ranks, strict=True)
    ]
    for most, rates in ((1, (1 / 5, 2 / 5)), (2, (2 / 5, 4 / 5)), (7, (4 / 5, 4 / 5))):
        found = compare_files(*paths, statistic=f"rank{most}")
        assert [run.value for run in found.runs] == pytest.approx(rates)
        pair = found.pairs[0].estimate
        assert pair is not None
        twin = difference([(r or 99) <= most for r in ranks[0][:5]], [(r or 99) <= most for r in ranks[1][:5]])
        alone = make_estimate(make_sample(5), twin, Replication(method="linearised"))
        linear = compare_files(*paths, statistic=f"rank{most}", plan=Replication(method="linearised"))
        assert pair.value == pytest.approx(alone.value)
        assert linear.pairs[0].estimate is not None
        # All six cases are drawn, five of them count: a factor (6/5) (4/5) to the variance of a sample of the five.
        assert linear.pairs[0].estimate.se == pytest.approx(alone.se * np.sqrt(0.96))


def test_ranks_are_needed_for_rates_at_a_rank(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--statistic rank5: a has no ranks"):
        compare_files(*World().runs(tmp_path), statistic="rank5")


def test_if_replicates_have_no_value_the_linear_form_is_used(tmp_path: Path) -> None:
    """A single unit has all accepted cases: the jackknife without it has no precision."""
    world = World(strata=1, units=6, size=4)
    scores = np.where(world.unit == 2, 1.0, -1.0)
    paths = [world.write(tmp_path / f"{k}.jsonl", scores) for k in "ab"]
    found = compare_files(*paths, statistic="precision", stratum=("none",))
    assert found.runs[0].estimate is not None
    assert found.runs[0].estimate.method == "linearised"
    plan = Replication(method="jackknife")
    with pytest.raises(UsageError, match="replicate 2 of 6 has no estimate"):
        compare_files(*paths, statistic="precision", stratum=("none",), plan=plan)

"""Curves: a million scores against one sort of them and scikit-learn, bands by replication against a loop.

Run as `python benchmarks/bench_curves.py`. Seconds are of processor time, the best of several runs in turn, so that a
busy machine does not change the ratios much.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from sklearn.metrics import roc_auc_score, roc_curve

from harness.stats.curves.auc import auc
from harness.stats.curves.bands import replicated_bands
from harness.stats.curves.cases import BoolArray, FloatArray, make_cases
from harness.stats.curves.counts import threshold_counts
from harness.stats.curves.equal_error import equal_error
from harness.stats.curves.hull import convex_hull
from harness.stats.curves.subjects import Subjects
from harness.stats.curves.summaries import AREA, summary_estimate
from harness.stats.curves.two_way_bands import two_way_bands
from harness.stats.ranks import rank_matrix
from harness.stats.replication.plan import Plan, choose
from harness.stats.replication.sample import Sample, make_sample
from harness.stats.replication.statistic import rate

MILLION = 1_000_000


@dataclass(frozen=True)
class Line:
    what: str
    seconds: float
    against: str
    ratio: float
    goal: str


def best(*runs: Callable[[], object], repeats: int = 9) -> list[float]:
    """Best time of each, the runs taking turns."""
    times = [float("inf")] * len(runs)
    for _ in range(repeats):
        for i, run in enumerate(runs):
            start = time.process_time()
            run()
            times[i] = min(times[i], time.process_time() - start)
    return times


def full_curve(scores: FloatArray, positive: BoolArray, weights: FloatArray | None = None) -> tuple[float, float]:
    counts = threshold_counts(scores, positive, weights=weights)
    for column in (counts.tpr, counts.fpr, counts.fnr, counts.precision):
        column[-1].item()
    return auc(counts), equal_error(counts).rate


def sklearn_curve(scores: FloatArray, positive: BoolArray) -> float:
    roc_curve(positive, scores, drop_intermediate=False)
    return float(roc_auc_score(positive, scores))


def bench_million() -> list[Line]:
    rng = np.random.default_rng(1)
    positive = rng.random(MILLION) < 0.5
    scores, weights = rng.normal(size=MILLION) + positive, rng.random(MILLION)
    coarse = np.round(scores, 3)
    sort, ties_sort, plain, ties, weighted, sklearn, delong = best(
        lambda: np.argsort(scores),
        lambda: np.argsort(coarse),
        lambda: full_curve(scores, positive),
        lambda: full_curve(coarse, positive),
        lambda: full_curve(scores, positive, weights),
        lambda: sklearn_curve(scores, positive),
        lambda: summary_estimate(AREA, make_cases(scores, positive)),
    )
    counts = threshold_counts(scores, positive)
    (hull,) = best(lambda: convex_hull(counts), repeats=3)
    what = "ROC, PR, AUC, EER of 1,000,000"
    return [
        Line(f"{what} scores", plain, "argsort", plain / sort, "<= 3"),
        Line(f"{what} scores with ties", ties, "argsort", ties / ties_sort, "<= 3"),
        Line(f"{what} weighted scores", weighted, "argsort", weighted / sort, "<= 3"),
        Line("scikit-learn's roc_curve and roc_auc_score of the same", sklearn, "argsort", sklearn / sort, ""),
        Line("DeLong's interval of 1,000,000 scores", delong, "argsort", delong / sort, ""),
        Line("convex hull of 1,000,000 points", hull, "argsort", hull / sort, ""),
    ]


def loop_bands(scores: FloatArray, positive: BoolArray, sample: Sample, thresholds: FloatArray) -> FloatArray:
    """The bare way: each replicate's weights, and the rate at each threshold by a product."""
    replicates = choose(sample, rate(positive, within=positive), Plan()).replicates
    if replicates is None:
        raise SystemExit("the sample has no balanced replicates")
    accepted = (scores[positive, None] >= thresholds).astype(np.float64)
    unit, weights = sample.unit_of_case[positive], sample.weights[positive]
    rates = []
    for block in replicates.weights():
        for factors in block:
            w = factors[unit] * weights
            rates.append(w @ accepted / w.sum())
    drawn = np.array(rates)
    return np.sqrt(replicates.variance(drawn, weights @ accepted / weights.sum()))


def clustered_scores(cases_a_unit: int) -> tuple[FloatArray, BoolArray, Sample]:
    rng = np.random.default_rng(2)
    unit = np.repeat(np.arange(2000), cases_a_unit)
    positive = rng.random(unit.size) < 0.5
    scores = rng.normal(size=unit.size) + positive + 0.5 * rng.normal(size=2000)[unit]
    return scores, positive, make_sample(unit.size, strata=unit // 2, units=unit)


def bench_bands() -> list[Line]:
    scores, positive, sample = clustered_scores(5)
    thresholds = replicated_bands(make_cases(scores, positive), sample).threshold
    fast, loop = best(
        lambda: replicated_bands(make_cases(scores, positive), sample),
        lambda: loop_bands(scores, positive, sample, thresholds),
        repeats=3,
    )
    what = "BRR bands of tpr and fpr, 1,000 points, 1,000 strata, 10,000 cases"
    return [Line(what, fast, "a loop over replicates, tpr only", fast / loop, "< 1")]


def bench_large_bands() -> list[Line]:
    scores, positive, sample = clustered_scores(500)
    lone_cases = make_sample(MILLION)
    sort, bands, area, lone = best(
        lambda: np.argsort(scores),
        lambda: replicated_bands(make_cases(scores, positive), sample),
        lambda: summary_estimate(AREA, make_cases(scores, positive), sample, Plan(method="linearised")),
        lambda: replicated_bands(make_cases(scores, positive), lone_cases),
        repeats=3,
    )
    return [
        Line("the same, 1,000,000 cases", bands, "argsort", bands / sort, ""),
        Line("AUC with clusters, 1,000,000 cases", area, "argsort", area / sort, ""),
        Line("bands, 1,000 points, 1,000,000 units without strata", lone, "argsort", lone / sort, ""),
    ]


def bench_matrix() -> list[Line]:
    rng = np.random.default_rng(3)
    k = 1000
    i, j = np.triu_indices(k, 1)
    first, second = np.concatenate([np.arange(k), i]), np.concatenate([np.arange(k), j])
    positive, subjects = first == second, Subjects.of(first, second)
    scores = rng.normal(size=first.size) + 2 * positive
    matrix = rng.normal(size=(3000, 3000))
    people = np.arange(3000) // 3
    two_way, sort, ranks, compare = best(
        lambda: two_way_bands(make_cases(scores, positive), subjects),
        lambda: np.argsort(scores),
        lambda: rank_matrix(matrix, people, people, exclude_diagonal=True),
        lambda: np.argsort(matrix, axis=1),
        repeats=3,
    )
    return [
        Line("two-way bands, 1,000 points, 500,500 scores", two_way, "argsort", two_way / sort, ""),
        Line("ranks of a 3,000 x 3,000 matrix", ranks, "argsort of its rows", ranks / compare, "< 1"),
    ]


def main() -> None:
    print(f"{'what':<68}{'seconds':>9}  {'ratio':>7}  against")
    for bench in (bench_million, bench_bands, bench_large_bands, bench_matrix):
        for line in bench():
            goal = f"  (goal {line.goal})" if line.goal else ""
            print(f"{line.what:<68}{line.seconds:>9.3f}  {line.ratio:>7.2f}  {line.against}{goal}", flush=True)


if __name__ == "__main__":
    main()

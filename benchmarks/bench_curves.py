"""Curves of a million scores against one sort and scikit-learn, and bands by replication against a loop.

Run as `python -m benchmarks.bench_curves`. Processor time, the best of several turns.
"""

from __future__ import annotations

import numpy as np
from sklearn.metrics import roc_auc_score, roc_curve

from benchmarks.timing import Timing, best, print_timings
from harness.stats.arrays import BoolArray, FloatArray
from harness.stats.curves.bands import replicated_bands
from harness.stats.curves.roc import auc, convex_hull, equal_error
from harness.stats.curves.scores import make_scored_cases, threshold_counts
from harness.stats.curves.summaries import AREA, summary_estimate
from harness.stats.curves.two_way import Subjects, two_way_bands
from harness.stats.gallery_ranks import rank_matrix
from harness.stats.replication.method import Replication, variance_method
from harness.stats.replication.sample import Sample, make_sample
from harness.stats.replication.statistic import rate

MILLION = 1_000_000


def full_curve(scores: FloatArray, positive: BoolArray, weights: FloatArray | None = None) -> tuple[float, float]:
    counts = threshold_counts(scores, positive, weights=weights)
    for column in (counts.tpr, counts.fpr, counts.fnr, counts.precision):
        column[-1].item()
    return auc(counts), equal_error(counts).rate


def sklearn_curve(scores: FloatArray, positive: BoolArray) -> float:
    roc_curve(positive, scores, drop_intermediate=False)
    return float(roc_auc_score(positive, scores))


def bench_million() -> list[Timing]:
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
        lambda: summary_estimate(AREA, make_scored_cases(scores, positive)),
        turns=9,
    )
    counts = threshold_counts(scores, positive)
    (hull,) = best(lambda: convex_hull(counts), turns=3)
    what = "ROC, PR, AUC, EER of 1,000,000"
    return [
        Timing(f"{what} scores", plain, sort, "argsort", "<= 3"),
        Timing(f"{what} scores with ties", ties, ties_sort, "argsort", "<= 3"),
        Timing(f"{what} weighted scores", weighted, sort, "argsort", "<= 3"),
        Timing("scikit-learn's roc_curve and roc_auc_score of the same", sklearn, sort, "argsort"),
        Timing("DeLong's interval of 1,000,000 scores", delong, sort, "argsort"),
        Timing("convex hull of 1,000,000 points", hull, sort, "argsort"),
    ]


def loop_bands(scores: FloatArray, positive: BoolArray, sample: Sample, thresholds: FloatArray) -> FloatArray:
    """A bare loop: the weights of each replicate, and the rates at all thresholds by a product."""
    replicates = variance_method(sample, rate(positive, within=positive), Replication()).replicates
    if replicates is None:
        raise SystemExit("the sample has no balanced replicates")
    accepted = (scores[positive, None] >= thresholds).astype(np.float64)
    unit, weights = sample.unit_of_case[positive], sample.weights[positive]
    rates = []
    for block in replicates.weights():
        for factors in block:
            w = factors[unit] * weights
            rates.append(w @ accepted / w.sum())
    return np.sqrt(replicates.variance(np.array(rates), weights @ accepted / weights.sum()))


def clustered_scores(cases_per_unit: int) -> tuple[FloatArray, BoolArray, Sample]:
    rng = np.random.default_rng(2)
    unit = np.repeat(np.arange(2000), cases_per_unit)
    positive = rng.random(unit.size) < 0.5
    scores = rng.normal(size=unit.size) + positive + 0.5 * rng.normal(size=2000)[unit]
    return scores, positive, make_sample(unit.size, strata=unit // 2, units=unit)


def bench_bands() -> list[Timing]:
    scores, positive, sample = clustered_scores(5)
    thresholds = replicated_bands(make_scored_cases(scores, positive), sample).threshold
    fast, loop = best(
        lambda: replicated_bands(make_scored_cases(scores, positive), sample),
        lambda: loop_bands(scores, positive, sample, thresholds),
        turns=3,
    )
    what = "BRR bands of tpr and fpr, 1,000 points, 1,000 strata, 10,000 cases"
    return [Timing(what, fast, loop, "a loop over replicates, tpr only", "< 1")]


def bench_large_bands() -> list[Timing]:
    scores, positive, sample = clustered_scores(500)
    lone_cases = make_sample(MILLION)
    sort, bands, area, lone = best(
        lambda: np.argsort(scores),
        lambda: replicated_bands(make_scored_cases(scores, positive), sample),
        lambda: summary_estimate(AREA, make_scored_cases(scores, positive), sample, Replication(method="linearised")),
        lambda: replicated_bands(make_scored_cases(scores, positive), lone_cases),
        turns=3,
    )
    return [
        Timing("the same, 1,000,000 cases", bands, sort, "argsort"),
        Timing("AUC with clusters, 1,000,000 cases", area, sort, "argsort"),
        Timing("bands, 1,000 points, 1,000,000 units without strata", lone, sort, "argsort"),
    ]


def bench_matrix() -> list[Timing]:
    rng = np.random.default_rng(3)
    k = 1000
    i, j = np.triu_indices(k, 1)
    first, second = np.concatenate([np.arange(k), i]), np.concatenate([np.arange(k), j])
    positive, subjects = first == second, Subjects.of(first, second)
    scores = rng.normal(size=first.size) + 2 * positive
    matrix = rng.normal(size=(3000, 3000))
    people = np.arange(3000) // 3
    two_way, sort, ranks, sort_rows = best(
        lambda: two_way_bands(make_scored_cases(scores, positive), subjects),
        lambda: np.argsort(scores),
        lambda: rank_matrix(matrix, people, people, exclude_diagonal=True),
        lambda: np.argsort(matrix, axis=1),
        turns=3,
    )
    return [
        Timing("two-way bands, 1,000 points, 500,500 scores", two_way, sort, "argsort"),
        Timing("ranks of a 3,000 x 3,000 matrix", ranks, sort_rows, "argsort of its rows", "< 1"),
    ]


def main() -> None:
    for bench in (bench_million, bench_bands, bench_large_bands, bench_matrix):
        print_timings(bench())


if __name__ == "__main__":
    main()

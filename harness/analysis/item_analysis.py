"""Which cases distinguish the runs, and how stable the order of the runs is."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from harness.analysis.cells import Measurement
from harness.errors import UsageError
from harness.measures.values import check_directed
from harness.stats.arrays import BoolArray, FloatArray, IntArray
from harness.stats.replication.resampling import rescaled_bootstrap
from harness.stats.replication.statistic import Statistic, full_values, replicate_values

DRAWS = 1000
MIN_DRAWS = 100
# Draws times units that are held in memory at once.
MAX_HELD = 1 << 27


@dataclass(frozen=True)
class RunRank:
    """A run's rank, 1 plus the number of better runs, and how it varies over the draws."""

    name: str
    rank: int
    interval: tuple[int, int]
    # Share of draws in which it came first; ties are split.
    first: float


@dataclass(frozen=True)
class ItemStatistics:
    """A case that some runs solve and others do not."""

    id: str
    solved: int
    # Correlation of solving it with solving the others; None with fewer than three runs, or if all others are equal.
    discrimination: float | None


@dataclass(frozen=True)
class ItemAnalysis:
    """What the cases say about the order of the runs."""

    all_solve: int
    none_solves: int
    some_solve: int
    draws: int
    seed: int
    ranks: list[RunRank]
    # Those that some solve.
    cases: list[ItemStatistics]


def analyse_items(measurement: Measurement, ranked: Sequence[int]) -> ItemAnalysis:
    """Analyse all cases; `ranked` are the numbers of the runs that have a value."""
    aligned = measurement.aligned
    solved = aligned.success.sum(axis=0)
    informative = np.flatnonzero((solved > 0) & (solved < len(aligned.names)))
    power = discrimination(aligned.success)[informative]
    order = np.lexsort((informative, -np.where(np.isnan(power), -2.0, power)))
    ranks, draws = _ranks(measurement, ranked) if ranked else ([], 0)
    return ItemAnalysis(
        all_solve=int((solved == len(aligned.names)).sum()),
        none_solves=int((solved == 0).sum()),
        some_solve=len(informative),
        draws=draws,
        seed=measurement.replication.seed,
        ranks=ranks,
        cases=[
            ItemStatistics(
                aligned.ids[informative[i]],
                int(solved[informative[i]]),
                None if math.isnan(power[i]) else float(power[i]),
            )
            for i in order
        ],
    )


def discrimination(success: BoolArray) -> FloatArray:
    """The point-biserial correlation (n,) over runs between solving a case and the share of the other cases solved.

    From (m, n), without a loop: the rest of a case is the total minus the case itself. Not a number if either never
    varies, or with fewer than three runs, when it could only be 1 or -1.
    """
    m, n = success.shape
    if m < 3:
        return np.full(n, np.nan)
    solved = success.astype(np.float64)
    total = solved.sum(axis=1)
    case, whole = solved - solved.mean(axis=0), total - total.mean()
    var_case, with_whole = (case**2).mean(axis=0), (case * whole[:, None]).mean(axis=0)
    var_rest = (whole**2).mean() - 2 * with_whole + var_case
    varies = (var_case > 1e-12) & (var_rest > 1e-9)
    bottom = np.sqrt(np.where(varies, var_case * var_rest, 1.0))
    return np.where(varies, np.clip((with_whole - var_case) / bottom, -1.0, 1.0), np.nan)


def _ranks(measurement: Measurement, runs: Sequence[int]) -> tuple[list[RunRank], int]:
    """Ranks by the bootstrap over the units of each stratum."""
    check_directed(measurement.measure, "--items")
    names, statistic = (
        measurement.aligned.names,
        measurement.measure.statistic(measurement.aligned, [(run, None) for run in runs]),
    )
    values = measurement.measure.merit(_bootstrap_values(measurement, statistic))
    whole = np.round(measurement.measure.merit(full_values(measurement.sampling.sample, statistic)), 12)
    ranks, best = ranks_of(values), values == values.max(axis=1, keepdims=True)
    first = (best / best.sum(axis=1, keepdims=True)).mean(axis=0)
    tail = (1 - measurement.replication.confidence) / 2
    low, high = (np.quantile(ranks, q, axis=0, method="inverted_cdf") for q in (tail, 1 - tail))
    rank = ranks_of(whole[None])[0]
    return [
        RunRank(names[run], int(rank[k]), (int(low[k]), int(high[k])), float(first[k])) for k, run in enumerate(runs)
    ], len(values)


def _bootstrap_values(measurement: Measurement, statistic: Statistic) -> FloatArray:
    """The measure of every run, (draws, runs), in the draws in which all runs have it."""
    sample, draws = measurement.sampling.sample, max(100, min(DRAWS, MAX_HELD // measurement.sampling.sample.units))
    replicates = rescaled_bootstrap(sample, rng=np.random.default_rng(measurement.replication.seed), replicates=draws)
    values = replicate_values(replicates, sample, statistic)
    known = values[np.isfinite(values).all(axis=1)]
    if len(known) < MIN_DRAWS:
        words = measurement.measure.words
        raise UsageError(f"--items: only {len(known)} of {draws:,} draws have a {words}: there are too few cases")
    # Sums of the same weights in another order differ in their last digits; ties must stay ties.
    return np.asarray(np.round(known, 12), dtype=np.float64)


def ranks_of(values: FloatArray) -> IntArray:
    """1 plus the number of larger values in the same row, (draws, runs)."""
    above = np.sort(-values, axis=1)
    ranks = [1 + np.searchsorted(row, -draw, side="left") for row, draw in zip(above, values, strict=True)]
    return np.array(ranks, dtype=np.intp)

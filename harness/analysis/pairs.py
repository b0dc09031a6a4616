"""Two runs of a comparison: McNemar's test, their difference by the design, margins, and win rates."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from harness.analysis.align import AlignedRuns
from harness.analysis.cells import Cells, Measurement
from harness.analysis.matching import copy_count
from harness.errors import UsageError
from harness.measures import Measure, Reads
from harness.measures.values import VALUES, check_directed
from harness.stats.arrays import FloatArray
from harness.stats.differences import paired_differences
from harness.stats.equivalence import Equivalence, equivalent, equivalent_by_limits, paired_equivalent
from harness.stats.estimate import Estimate, p_of_limits, with_adjusted
from harness.stats.limits import cases_without_variance
from harness.stats.multiplicity import Multiplicity, adjusted, holm
from harness.stats.paired import McNemars, PairTable, PairTables, mcnemar_all, pairwise_tables
from harness.stats.rates import Interval
from harness.stats.replication.estimates import make_estimates
from harness.stats.replication.statistic import ratio

RunPairs = Sequence[tuple[int, int]]
# The win rate of two runs that are equally good.
EVEN = 0.5


@dataclass(frozen=True)
class FlipTest:
    """A sign-flip test over units: how often the difference would be as large if the two changed places in some.

    `flips`: how many such changes were drawn at random; None if all were counted, which is exact.
    """

    p_value: float
    flips: int | None
    exact: bool


@dataclass(frozen=True)
class MarginTest:
    """Non-inferiority and equivalence of one pair; p-values are corrected for the number of pairs, each by itself.

    `not_inferior`: A is not worse than B by the margin; `not_superior`: B is not worse than A by the margin.
    """

    equivalence: Equivalence
    p_not_inferior: float
    p_not_superior: float
    p_equivalent: float


@dataclass(frozen=True)
class WinRate:
    """On how many cases the first of two runs wins, ties and loses, and P(win) + P(tie) / 2 by the design."""

    wins: int
    ties: int
    losses: int
    # Its p-value is for an even chance.
    estimate: Estimate


@dataclass(frozen=True, slots=True)
class Pair:
    """Two algorithms: the first and the second by the numbers of their runs.

    `difference` of the rates of success, its interval and tests are as if all cases were independent: McNemar's tests
    of the same cases, else those of two samples, of which Fisher's is exact. What cannot be known of different cases is
    0 or nan.
    """

    a: int
    b: int
    difference: float
    interval: Interval
    z: float
    p_chi2: float
    p_exact: float
    p_adjusted: float
    n_ff: int = 0
    n_sf: int = 0
    n_fs: int = 0
    n_ss: int = 0
    p_mid: float = math.nan
    p_one_sided: float = math.nan
    z_design: float = math.nan
    p_design: float = math.nan
    confidence_differ: float | None = None
    confidence_better: float | None = None
    # The design effect that adjusts McNemar's z; None if unknown.
    design_effect: float | None = None
    # The difference by the design; None if neither stratum nor PSU is known, or a run has no value.
    estimate: Estimate | None = None
    sign_flip: FlipTest | None = None
    # Whether the estimate is of a measure other than the rate of success, which McNemar's test is about.
    other_measure: bool = False
    # What was asked for besides, or recorded, if it is known: see `Comparison.further`.
    equivalence: MarginTest | None = None
    win_rate: WinRate | None = None
    seconds: Estimate | None = None
    memory: Estimate | None = None

    @property
    def better(self) -> int | None:
        """The run that more often succeeded; None on a tie."""
        return None if self.difference == 0 else self.a if self.difference > 0 else self.b

    @property
    def p_decisive(self) -> float:
        """The p-value that decides the verdict: the estimate's if there is a design, corrected for the pairs."""
        if self.estimate is None:
            return 1.0 if self.other_measure else self.p_adjusted
        # If the design gives no error, nothing can be decided: McNemar's test ignores the design.
        return 1.0 if self.estimate.p_adjusted is None else self.estimate.p_adjusted


def make_pairs(
    tables: PairTables,
    rates: Cells | None,
    values: Cells | None,
    multiplicity: Multiplicity,
    confidence: float,
    further: Mapping[str, Sequence[Any]],
) -> list[Pair]:
    """Pairs of runs on the same cases, and what is known of each `further`, by the fields of `Pair`.

    `rates` and `values` are the estimates of all runs, of the rate of success and of the measure that is compared; None
    without a design: then there is only McNemar's test.
    """
    pairs = run_pairs(tables)
    gaps: Sequence[Estimate | None] = [None] * len(pairs)
    of_rates = gaps
    if values is not None and multiplicity is Multiplicity.MAX_T:
        gaps = values.simultaneous_differences(pairs)
    elif values is not None:
        gaps = values.differences(pairs, lambda p_values: adjusted(p_values, multiplicity))
    if rates is not None:
        of_rates = gaps if values is rates else rates.differences(pairs)
    # A design effect of 0 is none that could adjust anything.
    effects = [gap.design_effect or None if gap is not None else None for gap in of_rates]
    tests = mcnemar_all(tables.n_sf, tables.n_fs, design_effect=np.array([effect or 1.0 for effect in effects]))
    differences, intervals = paired_differences(tables, confidence=confidence)
    corrected = adjusted(tests.p_exact, Multiplicity.HOLM if multiplicity is Multiplicity.MAX_T else multiplicity)
    columns: dict[str, Sequence[Any]] = {
        name: getattr(tests, name).tolist() for name in McNemars.__dataclass_fields__ if name != "better"
    }
    for name in ("confidence_differ", "confidence_better"):
        columns[name] = [None if share != share else share for share in columns[name]]
    columns |= {name: getattr(tables, name).tolist() for name in ("n_ff", "n_sf", "n_fs", "n_ss")}
    columns |= {
        "a": tables.first.tolist(),
        "b": tables.second.tolist(),
        "difference": np.asarray(differences).tolist(),
        "interval": list(map(Interval, intervals.low.tolist(), intervals.high.tolist())),
        "p_adjusted": corrected.tolist(),
        "design_effect": effects,
        "estimate": gaps,
        "sign_flip": _sign_flips(values, pairs, gaps),
        "other_measure": [values is not rates] * len(pairs),
        **further,
    }
    names = list(columns)
    return [Pair(**dict(zip(names, row, strict=True))) for row in zip(*columns.values(), strict=True)]


def run_pairs(tables: PairTables) -> list[tuple[int, int]]:
    """The pairs by the numbers of their runs."""
    return list(zip(tables.first.tolist(), tables.second.tolist(), strict=True))


def _sign_flips(values: Cells | None, pairs: RunPairs, gaps: Sequence[Estimate | None]) -> list[FlipTest | None]:
    """The exact test of each pair, or else one with random flips."""
    inexact = [pair for pair, gap in zip(pairs, gaps, strict=True) if gap is not None and gap.p_sign_flip is None]
    random = {} if values is None or not inexact else dict(zip(inexact, values.exchanges(inexact), strict=True))
    tests: list[FlipTest | None] = []
    for pair, gap in zip(pairs, gaps, strict=True):
        test = random.get(pair)
        if gap is not None and gap.p_sign_flip is not None:
            tests.append(FlipTest(gap.p_sign_flip, None, exact=True))
        else:
            tests.append(None if test is None else FlipTest(test.p_value, test.flips, exact=test.flips is None))
    return tests


def pair_tables(aligned: AlignedRuns) -> PairTables:
    """The tables of all pairs, each of the answers that the two have: what a third run repeats does not count."""
    tables = pairwise_tables(aligned.success)
    if not aligned.repeated:
        return tables
    times = np.array([copy_count(order) for order in aligned.orders])
    common = np.gcd(times[tables.first], times[tables.second])
    counts = {name: getattr(tables, name) // common for name in ("n_ff", "n_sf", "n_fs", "n_ss")}
    return replace(tables, **counts)


def chosen_tables(tables: PairTables, baseline: int | None) -> PairTables:
    """Those of all pairs, or of one run with all the others."""
    if baseline is None:
        return tables
    keep = (tables.first == baseline) | (tables.second == baseline)
    return PairTables(*(getattr(tables, name)[keep] for name in PairTables.__dataclass_fields__))


def with_margins(
    pairs: Sequence[Pair], runs: Sequence[Estimate | None], measurement: Measurement, margin: float, *, paired: bool
) -> list[Pair]:
    """Each pair with its test of the margin, by its error by design; None if a run has no value to compare."""
    # 1 - 0.95 is not 0.05 in binary.
    alpha, (low, high) = round(1 - measurement.replication.confidence, 12), measurement.measure.bounds
    sign, sample = -1 if measurement.measure.larger_is_better is False else 1, measurement.sampling.sample

    def test(pair: Pair) -> Equivalence | None:
        gap = pair.estimate
        sides = [gap] if paired else [runs[pair.a], runs[pair.b]]
        if gap is not None and gap.interval is not None and all(side is not None and side.se > 0 for side in sides):
            return equivalent(sign * gap.value, gap.se, margin=margin, df=gap.df, alpha=alpha, widest=high - low)
        if not paired:
            return None if gap is None or gap.interval is None else by_limits(gap)
        if pair.other_measure:
            return None
        # Without a design, or without variance: the score test, with the effective number of cases.
        table = PairTable(n_ff=pair.n_ff, n_sf=pair.n_sf, n_fs=pair.n_fs, n_ss=pair.n_ss)
        cases = sample.cases / sample.answers
        effect = 1.0 if gap is None else table.n / float(cases_without_variance(cases, sample.units))
        return paired_equivalent(table, margin=margin, alpha=alpha, design_effect=effect)

    def by_limits(gap: Estimate) -> Equivalence:
        """A run without variance is not certain: its own limits say how far off it may be."""

        def limits(confidence: float) -> Interval:
            interval = gap.at(confidence)
            return Interval(*sorted((-math.inf, math.inf) if interval is None else (sign * end for end in interval)))

        return equivalent_by_limits(limits, margin=margin, alpha=alpha, widest=high - low)

    tests = correct_margins([test(pair) for pair in pairs])
    return [replace(pair, equivalence=test) for pair, test in zip(pairs, tests, strict=True)]


def check_margin(measure: Measure, margin: float) -> None:
    """A UsageError if no two values of the measure differ so much, or neither of two is the worse one."""
    check_directed(measure, "--margin")
    low, high = measure.bounds
    if margin >= high - low:
        raise UsageError(
            f"--margin {margin:g}: the {measure.words} lies between {low:g} and {high:g}; choose a smaller margin"
        )
    if measure.ideal is not None:
        raise UsageError(
            f"--margin with {measure.name}: neither more nor less of it is better, so none can be worse by a margin; "
            "--statistic mae has a margin"
        )


def correct_margins(tests: Sequence[Equivalence | None]) -> list[MarginTest | None]:
    """Tests with p-values corrected for their number."""
    known = [test for test in tests if test is not None]
    kinds = ("p_not_inferior", "p_not_superior", "p_equivalent")
    columns = [holm(np.array([getattr(test, kind) for test in known])).tolist() for kind in kinds]
    corrected = iter(zip(known, *columns, strict=True))
    return [None if test is None else MarginTest(*next(corrected)) for test in tests]


def win_rates(measurement: Measurement, pairs: RunPairs, multiplicity: Multiplicity) -> list[WinRate | None] | None:
    """How often the first run of each pair has the better value of a case, ties counting half.

    None if the measure is not a value of each record, or nobody has said which value wins.
    """
    measure, aligned = measurement.measure, measurement.aligned
    name = measure.name.removeprefix(VALUES)
    is_value = measure.reads is Reads.VALUES and name in aligned.value_names()
    if not (is_value and measure.directed and pairs):
        return None
    values = aligned.value(name) * (1.0 if measure.larger_is_better else -1.0)
    points = [_points(values[a], values[b]) for a, b in pairs]
    correction = Multiplicity.HOLM if multiplicity is Multiplicity.MAX_T else multiplicity
    rates = with_adjusted([_win_rate(measurement, of_pair) for of_pair in points], correction)
    wins, ties, losses = ([int(np.count_nonzero(row == point)) for row in points] for point in (1.0, EVEN, 0.0))
    rows = zip(wins, ties, losses, rates, strict=True)
    return [None if rate is None else WinRate(win, tie, loss, rate) for win, tie, loss, rate in rows]


def _points(first: FloatArray, second: FloatArray) -> FloatArray:
    """1 for a win, a half for a tie, 0 for a loss; not a number where a run has no value."""
    points = np.where(first > second, 1.0, np.where(first < second, 0.0, EVEN))
    return np.asarray(np.where(np.isnan(first) | np.isnan(second), np.nan, points))


def _win_rate(measurement: Measurement, points: FloatArray) -> Estimate | None:
    known = ~np.isnan(points)
    if not known.any():
        return None
    counted = known.astype(np.float64)[:, None]
    statistic = ratio(np.nan_to_num(points)[:, None], counted, bounds=(0.0, 1.0), counted=counted)
    try:
        estimate = make_estimates(measurement.sampling.sample, statistic, measurement.replication).estimate(0)
    except ValueError:
        # Half of the units may have no value at all.
        return None

    def from_even(confidence: float) -> Interval:
        """The limits of the distance from an even chance."""
        limits = estimate.at(confidence) or Interval(0.0, 1.0)
        return Interval(limits.low - EVEN, limits.high - EVEN)

    return estimate if estimate.interval is None else replace(estimate, p_value=p_of_limits(from_even))

"""Two runs of a comparison: McNemar's test, their difference by the design, and whether it is within a margin."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from harness.analysis.align import AlignedRuns
from harness.analysis.cells import Cells, Measurement
from harness.analysis.matching import copies
from harness.analysis.sampling import interval_json
from harness.errors import UsageError
from harness.measures import Measure
from harness.measures.values import check_directed
from harness.stats.differences import paired_differences
from harness.stats.equivalence import Equivalence, equivalent, paired_equivalent
from harness.stats.estimate import Estimate
from harness.stats.limits import cases_without_variance
from harness.stats.multiplicity import Multiplicity, adjusted, holm
from harness.stats.paired import McNemars, PairTable, PairTables, mcnemar_all, pairwise_tables
from harness.stats.rates import Interval
from harness.stats.replication.sample import Sample

Places = Sequence[tuple[int, int]]


@dataclass(frozen=True)
class FlipTest:
    """A sign-flip test over units: how often the difference would be as large if the two changed places in some.

    `flips`: how many such changes were drawn at random; None if all were counted, which is exact.
    """

    p_value: float
    flips: int | None = None


@dataclass(frozen=True, slots=True)
class Pair:
    """Two algorithms: the first and the second by their places."""

    a: int
    b: int
    n_ff: int
    n_sf: int
    n_fs: int
    n_ss: int
    z: float
    p_chi2: float
    p_exact: float
    p_mid: float
    p_one_sided: float
    p_adjusted: float
    z_design: float
    p_design: float
    confidence_differ: float | None
    confidence_better: float | None
    difference: float
    interval: Interval
    # The design effect that adjusts McNemar's z; None if unknown.
    effect: float | None = None
    # The difference by the design; None if neither stratum nor PSU is known, or a run has no value.
    estimate: Estimate | None = None
    sign_flip: FlipTest | None = None
    # Whether the estimate is of a measure other than the rate of success, which McNemar's test is about.
    other_measure: bool = False

    @property
    def better(self) -> int | None:
        """The run that more often succeeded where the other failed; None on a tie."""
        return None if self.n_sf == self.n_fs else self.a if self.n_sf > self.n_fs else self.b

    @property
    def p_decisive(self) -> float:
        """The p-value that decides the verdict: the estimate's if there is a design, corrected for the pairs."""
        if self.estimate is None:
            return 1.0 if self.other_measure else self.p_adjusted
        # If the design gives no error, nothing can be decided: McNemar's test ignores the design.
        return 1.0 if self.estimate.p_adjusted is None else self.estimate.p_adjusted


@dataclass(frozen=True)
class PairedValues:
    """What pairs are made of: the estimates of all runs, for the rate and for the measure that is compared.

    None if there is no design: then there is only McNemar's test.
    """

    rates: Cells | None
    values: Cells | None
    baseline: int | None
    multiplicity: Multiplicity


def make_pairs(study: Measurement, all_tables: PairTables, estimates: PairedValues) -> list[Pair]:
    """All pairs, or one run with all the others."""
    tables = _chosen(all_tables, estimates.baseline)
    places = list(zip(tables.first.tolist(), tables.second.tolist(), strict=True))
    gaps: Sequence[Estimate | None] = [None] * len(places)
    if estimates.values is not None:
        gaps = _differences(estimates.values, places, estimates.multiplicity)
    if estimates.rates is not None:
        of_rates = gaps if estimates.values is estimates.rates else estimates.rates.differences(places)
    else:
        of_rates = [None] * len(places)
    pairs = _mcnemar(tables, [_effect(one) for one in of_rates], estimates.multiplicity, study.replication.confidence)
    flips = _sign_flips(estimates.values, places, gaps)
    other = estimates.values is not estimates.rates
    return [
        Pair(**named, estimate=gap, sign_flip=flip, other_measure=other)
        for named, gap, flip in zip(pairs, gaps, flips, strict=True)
    ]


def _sign_flips(values: Cells | None, places: Places, gaps: Sequence[Estimate | None]) -> list[FlipTest | None]:
    """The exact test of each pair, or else one with random flips."""
    inexact = [place for place, gap in zip(places, gaps, strict=True) if gap is not None and gap.p_sign_flip is None]
    drawn = {} if values is None or not inexact else dict(zip(inexact, values.exchanges(inexact), strict=True))
    tests: list[FlipTest | None] = []
    for place, gap in zip(places, gaps, strict=True):
        test = drawn.get(place)
        if gap is not None and gap.p_sign_flip is not None:
            tests.append(FlipTest(gap.p_sign_flip))
        else:
            tests.append(None if test is None else FlipTest(test.p_value, test.flips))
    return tests


def flip_json(test: FlipTest | None) -> dict[str, Any] | None:
    """The JSON that the documentation promises."""
    return None if test is None else {"p_value": test.p_value, "flips": test.flips, "exact": test.flips is None}


def pair_tables(aligned: AlignedRuns) -> PairTables:
    """The tables of all pairs, each of the answers that the two have: what a third run repeats does not count."""
    tables = pairwise_tables(aligned.success)
    if not aligned.repeated:
        return tables
    times = np.array([copies(order) for order in aligned.orders])
    common = np.gcd(times[tables.first], times[tables.second])
    counts = {name: getattr(tables, name) // common for name in ("n_ff", "n_sf", "n_fs", "n_ss")}
    return replace(tables, **counts)


def _chosen(tables: PairTables, baseline: int | None) -> PairTables:
    if baseline is None:
        return tables
    keep = (tables.first == baseline) | (tables.second == baseline)
    return PairTables(*(getattr(tables, name)[keep] for name in PairTables.__dataclass_fields__))


def _differences(values: Cells, places: Places, multiplicity: Multiplicity) -> list[Estimate | None]:
    """The difference of every pair in the measure that is compared, by the design."""
    if multiplicity is Multiplicity.MAX_T:
        return values.simultaneous_differences(places)
    return values.differences(places, lambda p_values: adjusted(p_values, multiplicity))


def _effect(estimate: Estimate | None) -> float | None:
    """A design effect for McNemar's z; None if unknown."""
    return estimate.design_effect if estimate is not None and estimate.design_effect else None


def _mcnemar(
    tables: PairTables, effects: Sequence[float | None], multiplicity: Multiplicity, confidence: float
) -> Iterator[dict[str, Any]]:
    """Pairs as if all cases were independent, by the fields of `Pair`; `effects` adjust McNemar's z for the design."""
    tests = mcnemar_all(tables.n_sf, tables.n_fs, design_effect=np.array([effect or 1.0 for effect in effects]))
    estimates, intervals = paired_differences(tables, confidence=confidence)
    corrected = adjusted(tests.p_exact, Multiplicity.HOLM if multiplicity is Multiplicity.MAX_T else multiplicity)
    names = [name for name in McNemars.__dataclass_fields__ if name != "better"]
    columns = {name: getattr(tests, name) for name in names} | {
        "a": tables.first, "b": tables.second, "n_ff": tables.n_ff, "n_sf": tables.n_sf, "n_fs": tables.n_fs,
        "n_ss": tables.n_ss, "p_adjusted": corrected, "difference": estimates,
    }  # fmt: skip
    rows = zip(*(np.asarray(column).tolist() for column in columns.values()), strict=True)
    limits = zip(intervals.low.tolist(), intervals.high.tolist(), strict=True)
    for row, effect, (low, high) in zip(rows, effects, limits, strict=True):
        named = {name: None if value != value else value for name, value in zip(columns, row, strict=True)}
        yield {**named, "effect": effect, "interval": Interval(low, high)}


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
class Margin:
    """The largest difference that does not matter, and the allowed error."""

    margin: float
    alpha: float
    larger_is_better: bool
    # How far two values can be apart.
    widest: float = 1.0

    def tests(self, pairs: Sequence[Pair], sample: Sample) -> list[MarginTest | None]:
        """Test every pair with its error by design; None if a run has no value to compare."""
        return correct_margins([self._test(pair, sample) for pair in pairs])

    def _test(self, pair: Pair, sample: Sample) -> Equivalence | None:
        one = pair.estimate
        if one is not None and one.se > 0 and one.interval is not None:
            ahead = one.value if self.larger_is_better else -one.value
            return equivalent(ahead, one.se, margin=self.margin, df=one.df, alpha=self.alpha, widest=self.widest)
        if pair.other_measure:
            return None
        # Without a design, or without variance: the score test, with the effective number of cases.
        effect = 1.0 if one is None else sample.cases / float(cases_without_variance(sample.cases, sample.units))
        table = PairTable(n_ff=pair.n_ff, n_sf=pair.n_sf, n_fs=pair.n_fs, n_ss=pair.n_ss)
        return paired_equivalent(table, margin=self.margin, alpha=self.alpha, design_effect=effect)


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


def margin_json(test: MarginTest | None) -> dict[str, Any] | None:
    """The JSON that the documentation promises."""
    if test is None:
        return None
    raw, alpha = test.equivalence, test.equivalence.alpha
    return {
        "margin": raw.margin,
        "alpha": alpha,
        "interval": interval_json(raw.interval),
        "p_not_inferior": raw.p_not_inferior,
        "p_not_superior": raw.p_not_superior,
        "p_equivalent": raw.p_equivalent,
        "p_not_inferior_adjusted": test.p_not_inferior,
        "p_not_superior_adjusted": test.p_not_superior,
        "p_equivalent_adjusted": test.p_equivalent,
        "not_inferior": test.p_not_inferior <= alpha,
        "not_superior": test.p_not_superior <= alpha,
        "equivalent": test.p_equivalent <= alpha,
    }

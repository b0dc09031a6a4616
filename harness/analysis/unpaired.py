"""Runs on different inputs, such as two sensors in the same scenes: nothing is matched, and variances add.

The strata must be the same: they make the two samples comparable (Micheals and Boult 2001, section 6).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import msgspec

from harness.analysis.agreement import agreed_direction, check_same_metric
from harness.analysis.align import AlignedRuns, Run, align, judged_json, names_of
from harness.analysis.breakdown import Breakdown
from harness.analysis.cells import Measurement
from harness.analysis.compare import CompareRequest, by_main_measure
from harness.analysis.machines import machine_cautions
from harness.analysis.operating_point import OperatingCriterion, measure_at
from harness.analysis.pairs import MarginTest, check_margin, correct_margins, margin_json
from harness.analysis.run_names import check_same_version, identity_json
from harness.analysis.sampling import Sampling, finite, interval_json, replication_json, take_sample
from harness.analysis.turning import groups_json
from harness.analysis.unpaired_groups import by_group, difference_of
from harness.errors import UsageError
from harness.measures import Measure, Reads
from harness.measures.values import VALUES, check_directed
from harness.stats.differences import UnpairedDifference, unpaired_difference
from harness.stats.equivalence import Equivalence, equivalent, equivalent_by_limits
from harness.stats.estimate import Estimate, with_adjusted
from harness.stats.multiplicity import Multiplicity, adjusted
from harness.stats.rates import Interval, wilson
from harness.stats.replication.method import Replication
from harness.transcript.format import Header

MOST_NAMED = 5
# Shares of strata that differ by more get a note.
MIXED = 0.02


@dataclass(frozen=True)
class UnpairedRun:
    """One run with its own cases."""

    study: Measurement
    rate: float
    interval: Interval
    # The measure that is compared; None if the run has no value.
    estimate: Estimate | None
    threshold: float | None = None

    @property
    def name(self) -> str:
        """The run's name."""
        return self.aligned.names[0]

    @property
    def aligned(self) -> AlignedRuns:
        """The run alone."""
        return self.study.aligned

    @property
    def sampling(self) -> Sampling:
        """How its cases were sampled."""
        return self.study.sampling


@dataclass(frozen=True)
class UnpairedPair:
    """Two runs. `independent` compares the rates as if all cases were independent, `estimate` by the design."""

    a: int
    b: int
    independent: UnpairedDifference
    p_adjusted: float
    estimate: Estimate | None


@dataclass(frozen=True)
class UnpairedComparison:
    """Everything that was computed."""

    runs: list[UnpairedRun]
    pairs: list[UnpairedPair]
    measure: Measure
    replication: Replication
    notes: list[str]
    criterion: OperatingCriterion | None = None
    margins: list[MarginTest | None] | None = None
    breakdowns: Sequence[Breakdown] = ()
    multiplicity: Multiplicity = Multiplicity.HOLM

    @property
    def names(self) -> list[str]:
        """What the runs are called."""
        return [run.name for run in self.runs]

    @property
    def by(self) -> Breakdown | None:
        """The groups of the first column that was asked for; None if none was."""
        return next(iter(self.breakdowns), None)

    @property
    def machine_cautions(self) -> list[str]:
        """Of times or memory that are compared: what the machines may have to do with it."""
        return machine_cautions(self.measure, self.names, [run.aligned.headers[0] for run in self.runs])

    @property
    def places(self) -> list[tuple[int, int]]:
        """The pairs, by the places of their runs."""
        return [(pair.a, pair.b) for pair in self.pairs]

    @property
    def confidence(self) -> float:
        """Of intervals."""
        return self.replication.confidence

    @property
    def alpha(self) -> float:
        """The error that is allowed."""
        return 1 - self.confidence

    def p_decisive(self, pair: UnpairedPair) -> float:
        """The p-value that decides the verdict."""
        p_value = None if pair.estimate is None else pair.estimate.p_adjusted
        return 1.0 if p_value is None else p_value

    @property
    def plain(self) -> bool:
        """Whether the rates are compared as if all cases were independent."""
        known = any(side.sampling.known for side in self.runs)
        return self.measure.name == "rate" and not known and self.criterion is None

    def ahead(self, pair: UnpairedPair) -> float:
        """By how much A is better than B; 0 if nobody has said what is better."""
        if not self.measure.directed:
            return 0.0
        a, b = self.runs[pair.a].estimate, self.runs[pair.b].estimate
        if pair.estimate is not None and a is not None and b is not None:
            return self.measure.lead(a.value, b.value)
        gap = pair.independent.difference
        return gap if self.measure.larger_is_better else -gap

    @property
    def first_is_worse(self) -> bool:
        """Whether another run is significantly better than the first; a UsageError if nobody said what is better."""
        check_directed(self.measure, "--fail-if-worse")
        return any(c.a == 0 and self.ahead(c) < 0 and self.p_decisive(c) <= self.alpha for c in self.pairs)


def compare_unpaired(runs: Sequence[Run], request: CompareRequest) -> UnpairedComparison:
    """Compare a measure of runs on different inputs."""
    found, why = by_main_measure(
        request,
        runs[0].columns.header.test,
        lambda name: _compare_by(name, runs, request),
        lambda comparison: any(run.estimate is not None for run in comparison.runs),
    )
    return replace(found, notes=[*found.notes, why]) if why else found


def _compare_by(statistic: str, runs: Sequence[Run], request: CompareRequest) -> UnpairedComparison:
    if request.multiplicity is Multiplicity.MAX_T:
        raise UsageError("--multiplicity max-t needs runs on the same cases; choose holm, hochberg or bh")
    # The data are meant to differ.
    sources, headers = [run.source for run in runs], [run.columns.header for run in runs]
    check_same_version(sources, headers)
    check_same_metric(sources, headers)
    names = names_of(runs)
    sides = [_run(run, name, statistic, request) for run, name in zip(runs, names, strict=True)]
    measure = _agreed(sides[0].study.measure, names, headers)
    sides = [replace(side, study=replace(side.study, measure=measure)) for side in sides]
    _check_strata(sides)
    if request.margin is not None:
        check_margin(measure, request.margin)
    pairs = _pairs(sides, request)
    return UnpairedComparison(
        runs=sides,
        pairs=pairs,
        measure=measure,
        replication=request.replication,
        notes=_notes(sides),
        criterion=request.criterion,
        margins=None if request.margin is None else correct_margins([_margin(one, sides, request) for one in pairs]),
        breakdowns=[by_group(sides, request.multiplicity, by) for by in dict.fromkeys(request.by)],
        multiplicity=request.multiplicity,
    )


def _agreed(measure: Measure, names: Sequence[str], headers: Sequence[Header]) -> Measure:
    """A measure of one of some runs, with the direction of a recorded value that the header of another may have."""
    if measure.reads is not Reads.VALUES:
        return measure
    larger = agreed_direction(names, headers, measure.name.removeprefix(VALUES))
    return measure if larger is None else replace(measure, larger_is_better=larger)


def _run(run: Run, name: str, statistic: str, request: CompareRequest) -> UnpairedRun:
    aligned = replace(align([run], partial=request.partial), names=[name])
    sampling, threshold = take_sample(aligned, request.design), None
    measure, operating = measure_at(request.operating, statistic, aligned, sampling)
    if operating is not None:
        aligned, threshold = operating.aligned, operating.thresholds[0]
    study = Measurement(measure, aligned, sampling, request.replication)
    hits = aligned.counts[0].successes
    interval = wilson(hits, aligned.n, confidence=request.replication.confidence)
    return UnpairedRun(study, hits / aligned.n, interval, study.runs().one(0), threshold)


def _check_strata(runs: Sequence[UnpairedRun]) -> None:
    """All runs have the same strata, or none has any."""
    for run in runs[1:]:
        first, other = (set(one.sampling.shares) for one in (runs[0], run))
        if first != other:
            only = [f"{_some(first - other)} only in {runs[0].name}"] * bool(first - other)
            only += [f"{_some(other - first)} only in {run.name}"] * bool(other - first)
            raise UsageError(
                f"not the same strata: {'; '.join(only)}; --stratum COLUMN names others, --stratum none drops them"
            )


def _some(names: set[str]) -> str:
    ordered = sorted(names)
    return ", ".join(ordered[:MOST_NAMED]) + (", ..." if len(ordered) > MOST_NAMED else "")


def _pairs(runs: Sequence[UnpairedRun], request: CompareRequest) -> list[UnpairedPair]:
    pairs, confidence = list(combinations(range(len(runs)), 2)), request.replication.confidence
    plain = [unpaired_difference(_tally(runs[a]), _tally(runs[b]), confidence=confidence) for a, b in pairs]
    gaps = with_adjusted([difference_of(runs[a].estimate, runs[b].estimate) for a, b in pairs], request.multiplicity)
    p_values = adjusted([one.p_fisher for one in plain], request.multiplicity).tolist()
    return [
        UnpairedPair(a, b, one, p, estimate)
        for (a, b), one, p, estimate in zip(pairs, plain, p_values, gaps, strict=True)
    ]


def _tally(run: UnpairedRun) -> tuple[int, int]:
    return run.aligned.counts[0].successes, run.aligned.n


def _margin(pair: UnpairedPair, runs: Sequence[UnpairedRun], request: CompareRequest) -> Equivalence | None:
    one, sign = pair.estimate, -1 if runs[0].study.measure.larger_is_better is False else 1
    if one is None or one.interval is None or request.margin is None:
        return None
    alpha, (least, most) = round(1 - request.replication.confidence, 12), runs[0].study.measure.bounds
    if all((run := runs[place].estimate) is not None and run.se > 0 for place in (pair.a, pair.b)):
        return equivalent(sign * one.value, one.se, margin=request.margin, df=one.df, alpha=alpha, widest=most - least)

    def limits(confidence: float) -> Interval:
        """A run without variance is not certain: its own limits say how far off it may be."""
        interval = one.at(confidence)
        low, high = (-math.inf, math.inf) if interval is None else sorted((sign * interval.low, sign * interval.high))
        return Interval(low, high)

    return equivalent_by_limits(limits, margin=request.margin, alpha=alpha, widest=most - least)


def _notes(runs: Sequence[UnpairedRun]) -> list[str]:
    notes, first = [], runs[0]
    for run in runs[1:]:
        if set(run.aligned.ids) == set(first.aligned.ids) and _digest(run) == _digest(first):
            notes.append(
                f"{first.name} and {run.name} ran on the same cases: leave out --unpaired for a sharper comparison."
            )
        moved = max(
            (abs(share - run.sampling.shares[name]) for name, share in first.sampling.shares.items()), default=0
        )
        if moved > MIXED:
            notes.append(
                f"The strata have different shares of the cases in {first.name} and {run.name}, which alone can make "
                "a difference: --weights equal gives all strata the same weight."
            )
    return notes


def _digest(run: UnpairedRun) -> str:
    return run.aligned.headers[0].test.digest


def unpaired_json(comparison: UnpairedComparison) -> dict[str, Any]:
    """The JSON, with the keys of a paired comparison as far as they apply."""
    return {
        "test": identity_json(comparison.runs[0].aligned.headers[0].test) | {"digest": None},
        "unpaired": True,
        "statistic": comparison.measure.name,
        **({} if comparison.criterion is None else {"at": str(comparison.criterion)}),
        **groups_json(comparison),
        "transcripts": [_run_json(comparison, run) for run in comparison.runs],
        "pairs": [_pair_json(comparison, number) for number in range(len(comparison.pairs))],
        "confidence": comparison.confidence,
        "multiplicity": str(comparison.multiplicity),
        "notes": [*comparison.notes, *comparison.machine_cautions],
    }


def _run_json(comparison: UnpairedComparison, run: UnpairedRun) -> dict[str, Any]:
    counts = run.aligned.counts[0]
    return {
        "name": run.name,
        "digest": _digest(run),
        "tests": counts.tests,
        **msgspec.structs.asdict(counts),
        "rate": run.rate,
        "interval": interval_json(run.interval),
        "value": None if run.estimate is None else run.estimate.value,
        "judged": judged_json(run.aligned, 0),
        **({} if run.threshold is None else {"threshold": finite(run.threshold)}),
        "replication": None if comparison.plain else replication_json(run.estimate, run.sampling),
    }


def _pair_json(comparison: UnpairedComparison, number: int) -> dict[str, Any]:
    pair = comparison.pairs[number]
    a, b, test, ahead = comparison.runs[pair.a], comparison.runs[pair.b], pair.independent, comparison.ahead(pair)
    return {
        "a": a.name,
        "b": b.name,
        "difference": test.difference,
        "interval": interval_json(test.interval),
        "z": test.z,
        "p_value": test.p_z,
        "p_exact": test.p_fisher,
        "p_adjusted": pair.p_adjusted,
        "better": None if ahead == 0 else a.name if ahead > 0 else b.name,
        **({} if comparison.margins is None else {"equivalence": margin_json(comparison.margins[number])}),
        "replication": None if comparison.plain else replication_json(pair.estimate, a.sampling),
    }

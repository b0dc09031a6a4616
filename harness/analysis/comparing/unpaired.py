"""Runs on different inputs, such as two sensors in the same scenes: nothing is matched, and variances add.

The strata must be the same ones: they are what makes the two samples comparable (Micheals and Boult 2001, section 6).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from harness.analysis.comparing.align import Aligned, Run, align
from harness.analysis.comparing.by_group import ByGroup, Group
from harness.analysis.comparing.cells import measure_cells
from harness.analysis.comparing.grouping import BINS, groups_of
from harness.analysis.comparing.margins import Margin, with_corrected
from harness.analysis.comparing.operating import Point, chosen_measure, operate
from harness.analysis.comparing.sampling import DesignOptions, Sampling, take_sample
from harness.analysis.names import run_names
from harness.analysis.same_test import check_same_version
from harness.errors import UsageError
from harness.measures import Measure
from harness.stats.equivalence import Equivalence, equivalent, equivalent_by_limits
from harness.stats.estimate import Estimate, apart, with_adjusted
from harness.stats.multiplicity import Multiplicity
from harness.stats.rates import Interval, wilson
from harness.stats.replication.plan import Plan
from harness.stats.unpaired import Unpaired
from harness.stats.unpaired import unpaired as independent

MOST_NAMED = 5
# Shares of strata that differ by more are worth a word.
MIXED = 0.02


@dataclass(frozen=True)
class UnpairedOptions:
    """What to compare, and how; see `hate compare`."""

    design: DesignOptions
    plan: Plan
    statistic: str = "rate"
    point: Point | None = None
    partial: bool = False
    margin: float | None = None
    by: str | None = None
    multiplicity: Multiplicity = Multiplicity.HOLM


@dataclass(frozen=True)
class Side:
    """One run with its own cases."""

    name: str
    aligned: Aligned
    sampling: Sampling
    measure: Measure
    rate: float
    interval: Interval
    # What is compared; None where the run has no value of it.
    estimate: Estimate | None
    threshold: float | None = None


@dataclass(frozen=True)
class Contrast:
    """Two runs. `independent` compares the rates as if all cases were independent, `estimate` by the design."""

    a: int
    b: int
    independent: Unpaired
    p_adjusted: float
    estimate: Estimate | None


@dataclass(frozen=True)
class UnpairedComparison:
    """Everything that was found."""

    sides: list[Side]
    contrasts: list[Contrast]
    measure: Measure
    plan: Plan
    notes: list[str]
    point: Point | None = None
    margins: list[Margin | None] | None = None
    by: ByGroup | None = None
    multiplicity: Multiplicity = Multiplicity.HOLM

    @property
    def alpha(self) -> float:
        """The error that is allowed."""
        return 1 - self.plan.confidence

    def p_decisive(self, one: Contrast) -> float:
        """The p-value that a verdict rests on."""
        adjusted = None if one.estimate is None else one.estimate.p_adjusted
        return 1.0 if adjusted is None else adjusted

    @property
    def plain(self) -> bool:
        """Whether the rates are compared as if all cases were independent."""
        known = any(side.sampling.known for side in self.sides)
        return self.measure.name == "rate" and not known and self.point is None

    def ahead(self, one: Contrast) -> float:
        """By how much A is better than B."""
        gap = one.independent.difference if one.estimate is None else one.estimate.value
        return gap if self.measure.larger_is_better else -gap

    @property
    def first_is_worse(self) -> bool:
        """Whether another is significantly better than the first."""
        return any(c.a == 0 and self.ahead(c) < 0 and self.p_decisive(c) <= self.alpha for c in self.contrasts)


def compare_unpaired(runs: Sequence[Run], options: UnpairedOptions) -> UnpairedComparison:
    """Compare a measure of runs on different inputs."""
    if options.multiplicity is Multiplicity.MAX_T:
        raise UsageError("--multiplicity max-t needs runs on the same cases; choose holm, hochberg or bh")
    # The data are meant to differ.
    check_same_version([run.source for run in runs], [run.columns.header for run in runs])
    names = run_names([run.columns.header.algorithm.name for run in runs], [run.stem for run in runs])
    sides = [_side(run, name, options) for run, name in zip(runs, names, strict=True)]
    _check_strata(sides)
    contrasts = _contrasts(sides, options)
    return UnpairedComparison(
        sides=sides,
        contrasts=contrasts,
        measure=sides[0].measure,
        plan=options.plan,
        notes=_notes(sides),
        point=options.point,
        margins=None if options.margin is None else _margins(contrasts, sides, options),
        by=None if options.by is None else _by_group(sides, options),
        multiplicity=options.multiplicity,
    )


def _side(run: Run, name: str, options: UnpairedOptions) -> Side:
    aligned = replace(align([run], partial=options.partial), names=[name])
    sampling, threshold = take_sample(aligned, options.design), None
    if options.point is not None:
        operated = operate(aligned, options.point, sampling.sample.weights)
        aligned, threshold = operated.aligned, operated.thresholds[0]
    measure = chosen_measure(options.statistic, options.point, aligned)
    one = measure_cells(measure, aligned, [(0, None)], sampling.sample, options.plan).one(0)
    hits = aligned.counts[0].successes
    interval, rate = wilson(hits, aligned.n, confidence=options.plan.confidence), hits / aligned.n
    return Side(name, aligned, sampling, measure, rate, interval, one, threshold)


def _check_strata(sides: Sequence[Side]) -> None:
    """The same strata on all sides, or on none."""
    for side in sides[1:]:
        first, other = (set(one.sampling.shares) for one in (sides[0], side))
        if first != other:
            only = [f"{_some(first - other)} only in {sides[0].name}"] * bool(first - other)
            only += [f"{_some(other - first)} only in {side.name}"] * bool(other - first)
            raise UsageError(f"not the same strata: {'; '.join(only)}; --stratum COLUMN names others, none drops them")


def _some(names: set[str]) -> str:
    listed = sorted(names)
    return ", ".join(listed[:MOST_NAMED]) + (", ..." if len(listed) > MOST_NAMED else "")


def _contrasts(sides: Sequence[Side], options: UnpairedOptions) -> list[Contrast]:
    from harness.stats.multiplicity import adjusted

    pairs = list(combinations(range(len(sides)), 2))
    plain = [independent(_tally(sides[a]), _tally(sides[b]), confidence=options.plan.confidence) for a, b in pairs]
    found = with_adjusted([_apart(sides[a].estimate, sides[b].estimate) for a, b in pairs], options.multiplicity)
    p_values = adjusted([one.p_fisher for one in plain], options.multiplicity).tolist()
    return [
        Contrast(a, b, one, p, estimate) for (a, b), one, p, estimate in zip(pairs, plain, p_values, found, strict=True)
    ]


def _tally(side: Side) -> tuple[int, int]:
    return side.aligned.counts[0].successes, side.aligned.n


def _apart(one: Estimate | None, other: Estimate | None) -> Estimate | None:
    return None if one is None or other is None else apart(one, other)


def _margins(contrasts: Sequence[Contrast], sides: Sequence[Side], options: UnpairedOptions) -> list[Margin | None]:
    return with_corrected([_equivalence(one, sides, options) for one in contrasts])


def _equivalence(contrast: Contrast, sides: Sequence[Side], options: UnpairedOptions) -> Equivalence | None:
    one, sign = contrast.estimate, 1 if sides[0].measure.larger_is_better else -1
    if one is None or one.interval is None or options.margin is None:
        return None
    alpha = round(1 - options.plan.confidence, 12)
    if all((side := sides[place].estimate) is not None and side.se > 0 for place in (contrast.a, contrast.b)):
        return equivalent(sign * one.value, one.se, margin=options.margin, df=one.df, alpha=alpha)

    def limits(confidence: float) -> Interval:
        """A side without variance is not certain: its own limits tell how far off it may be."""
        found = one.at(confidence)
        low, high = (-math.inf, math.inf) if found is None else sorted((sign * found.low, sign * found.high))
        return Interval(low, high)

    return equivalent_by_limits(limits, margin=options.margin, alpha=alpha)


def _by_group(sides: Sequence[Side], options: UnpairedOptions) -> ByGroup:
    """The sides, and their differences, in every group that any of them has."""
    asked = options.by or ""
    if BINS.fullmatch(asked) and sides[0].aligned.column(asked) is None:
        raise UsageError(f"--by {asked}: bins of different inputs must have the same edges; write COLUMN=0,10,20")
    found = [_groups(side, asked, options.plan) for side in sides]
    # In the order of the first side that has them: bins of a number are in order there.
    labels = list(dict.fromkeys(label for groups in found for label in groups))
    pairs = list(combinations(range(len(sides)), 2))
    rows = []
    for label in labels:
        own = [groups.get(label, (0, None)) for groups in found]
        gaps = [_apart(own[a][1], own[b][1]) for a, b in pairs]
        rows.append(Group(label, sum(cases for cases, _ in own), [one for _, one in own], gaps))
    flat = with_adjusted([gap for row in rows for gap in row.pairs], options.multiplicity)
    rows = [replace(row, pairs=flat[i * len(pairs) : (i + 1) * len(pairs)]) for i, row in enumerate(rows)]
    return ByGroup(asked.partition("=")[0], rows, [None] * len(sides), [None] * len(pairs))


def _groups(side: Side, asked: str, plan: Plan) -> dict[str, tuple[int, Estimate | None]]:
    groups, result = groups_of(side.aligned, asked), {}
    for code, label in enumerate(groups.labels):
        inside = groups.codes == code
        cells = measure_cells(side.measure, side.aligned, [(0, inside)], side.sampling.sample, plan)
        result[label] = (int(inside.sum()), cells.one(0))
    return result


def _notes(sides: Sequence[Side]) -> list[str]:
    notes, first = [], sides[0]
    for side in sides[1:]:
        if set(side.aligned.ids) == set(first.aligned.ids) and _digest(side) == _digest(first):
            notes.append(
                f"{first.name} and {side.name} ran on the same cases: leave out --unpaired for a sharper comparison."
            )
        moved = max(
            (abs(share - side.sampling.shares[name]) for name, share in first.sampling.shares.items()), default=0
        )
        if moved > MIXED:
            notes.append(
                f"The strata have other shares of the cases in {first.name} than in {side.name}, which alone can make "
                "a difference: --weights equal counts all strata alike."
            )
    return notes


def _digest(side: Side) -> str:
    return side.aligned.headers[0].test.digest

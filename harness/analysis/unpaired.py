"""Runs on different inputs, such as two sensors in the same scenes: nothing is matched, and variances add.

The strata must be the same: they make the two samples comparable (Micheals and Boult 2001, section 6).
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

from harness.analysis.align import AlignedRuns, Run, align, names_of
from harness.analysis.breakdown import Breakdown, group_rows, side_by_side, with_corrected
from harness.analysis.cells import Measurement
from harness.analysis.comparison import RunSummary
from harness.analysis.groups import BINS, crossed_columns
from harness.analysis.matching import agreed_direction, check_same_metric
from harness.analysis.pairs import Pair
from harness.analysis.run_identity import check_same_version
from harness.errors import UsageError
from harness.measures import MEASURES, Reads
from harness.measures.values import VALUES
from harness.stats.differences import unpaired_difference
from harness.stats.estimate import Estimate, independent_difference, with_adjusted
from harness.stats.multiplicity import Multiplicity, adjusted

MAX_NAMED = 5
# Shares of strata that differ by more get a note.
MIXED = 0.02


def align_alone(runs: Sequence[Run], *, partial: bool) -> list[AlignedRuns]:
    """Each run by itself; all of one version of a test, whose data are meant to differ."""
    sources, headers = [run.source for run in runs], [run.columns.header for run in runs]
    check_same_version(sources, headers)
    check_same_metric(sources, headers)
    return [
        replace(align([run], partial=partial), names=[name]) for run, name in zip(runs, names_of(runs), strict=True)
    ]


def comparable(measurements: Sequence[Measurement]) -> list[Measurement]:
    """Studies of one run each, by the same measure; a UsageError if they do not have the same strata."""
    names, headers = (
        [getattr(measurement.aligned, of)[0] for measurement in measurements] for of in ("names", "headers")
    )
    measure = measurements[0].measure
    if measure.reads is Reads.VALUES:
        # The header of any of the runs may say which values are better.
        larger = agreed_direction(names, headers, measure.name.removeprefix(VALUES))
        measure = measure if larger is None else replace(measure, larger_is_better=larger)
    for measurement in measurements[1:]:
        first, other = (set(sampling.shares) for sampling in (measurements[0].sampling, measurement.sampling))
        if first != other:
            only = [f"{_some(first - other)} only in {names[0]}"] * bool(first - other)
            only += [f"{_some(other - first)} only in {measurement.aligned.names[0]}"] * bool(other - first)
            raise UsageError(
                f"not the same strata: {'; '.join(only)}; --stratum COLUMN names others, --stratum none drops them"
            )
    return [replace(measurement, measure=measure) for measurement in measurements]


def _some(names: set[str]) -> str:
    ordered = sorted(names)
    return ", ".join(ordered[:MAX_NAMED]) + (", ..." if len(ordered) > MAX_NAMED else "")


def unpaired_pairs(runs: Sequence[RunSummary], multiplicity: Multiplicity) -> list[Pair]:
    """All pairs of runs that have nothing in common."""
    pairs, measurement = list(combinations(range(len(runs)), 2)), runs[0].measurement
    tallies = [(run.counts.successes, run.aligned.n) for run in runs]
    plain = [
        unpaired_difference(tallies[a], tallies[b], confidence=measurement.replication.confidence) for a, b in pairs
    ]
    gaps = with_adjusted([difference_of(runs[a].estimate, runs[b].estimate) for a, b in pairs], multiplicity)
    p_values = adjusted([difference.p_fisher for difference in plain], multiplicity).tolist()
    return [
        Pair(
            a,
            b,
            difference.difference,
            difference.interval,
            z=difference.z,
            p_chi2=difference.p_z,
            p_exact=difference.p_fisher,
            p_adjusted=p,
            estimate=gap,
            other_measure=measurement.measure is not MEASURES["rate"],
        )
        for (a, b), difference, p, gap in zip(pairs, plain, p_values, gaps, strict=True)
    ]


def unpaired_cautions(measurements: Sequence[Measurement]) -> list[str]:
    """Samples that could have been matched, or that are mixed differently."""
    notes, first = [], measurements[0]
    for measurement in measurements[1:]:
        names = [aligned.names[0] for aligned in (first.aligned, measurement.aligned)]
        digests = {aligned.headers[0].test.digest for aligned in (first.aligned, measurement.aligned)}
        if set(measurement.aligned.ids) == set(first.aligned.ids) and len(digests) == 1:
            notes.append(
                f"{names[0]} and {names[1]} ran on the same cases: leave out --unpaired for a sharper comparison."
            )
        shares = measurement.sampling.shares
        moved = max((abs(share - shares[name]) for name, share in first.sampling.shares.items()), default=0)
        if moved > MIXED:
            notes.append(
                f"The strata have different shares of the cases in {names[0]} and {names[1]}, which alone can make "
                "a difference: --weights equal gives all strata the same weight."
            )
    return notes


def difference_of(a: Estimate | None, b: Estimate | None) -> Estimate | None:
    """The difference of two samples that have nothing in common; None if one of them has no value."""
    return None if a is None or b is None else independent_difference(a, b)


def by_group(measurements: Sequence[Measurement], by: str) -> Breakdown:
    """The runs, and their differences, in every group that any of them has."""
    whole = measurements[0].aligned.column(by) is not None
    for part in [] if whole else crossed_columns(by):
        if BINS.fullmatch(part) and measurements[0].aligned.column(part) is None:
            raise UsageError(f"--by {part}: bins of different inputs must have the same edges; write COLUMN=0,10,20")
    parts = [group_rows(measurement, [], by) for measurement in measurements]
    pairs = list(combinations(range(len(measurements)), 2))
    rows = [
        replace(row, pairs=[difference_of(row.runs[a], row.runs[b]) for a, b in pairs])
        for row in side_by_side([rows for _, rows in parts], sum)
    ]
    column = parts[0][0].column
    return Breakdown(column, with_corrected(rows), [None] * len(measurements), [None] * len(pairs))

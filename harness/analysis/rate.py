"""Each run by itself: its measures with errors by design, its groups, and which column explains most of it."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from harness.analysis.align import AlignedRuns, Run, align, names_of
from harness.analysis.breakdown import Breakdown, break_down, equal_groups, side_by_side
from harness.analysis.cells import Cells, Measurement
from harness.analysis.groups import CaseGroups, has_few_values, several_groups
from harness.analysis.operating_point import OperatingResult, decided_at, measure_at
from harness.analysis.run_identity import check_same_version, machine_lines
from harness.analysis.sampling import Sampling, take_sample
from harness.errors import HateError, UsageError
from harness.measures import MEASURES, Measure, Reads, value_measure
from harness.model import finite
from harness.options.comparing import RateOptions
from harness.stats.arrays import BoolArray, FloatArray, IntArray
from harness.stats.cochran import WaldTest
from harness.stats.curves.costs import bin_numbers
from harness.stats.curves.scores import ScoredCases
from harness.stats.estimate import Estimate
from harness.stats.multiplicity import holm
from harness.stats.rates import Interval
from harness.stats.replication.estimates import make_estimates
from harness.stats.replication.method import Replication
from harness.stats.replication.statistic import shares
from harness.tasks import find_task

# The measures that are computed by default, if a run has them.
USUAL = ("rate", "tpr", "tnr", "precision", "f1", "mcc", "auc", "eer", "rank1", "rank5", "seconds", "memory")
# If all cases are of one class, these say nothing more than the rate.
OF_BOTH = ("tpr", "tnr", "precision", "f1", "mcc")
# What is measured at an operating point.
AT_A_THRESHOLD = ("rate", *OF_BOTH, "hter")
# How the figures in the name of a measure begin.
FIGURES = ("fp=", "fn=", "miss=", "fa=", "prior=")
# The measure that a reliability diagram goes with.
CALIBRATION = "ece"
# Bins for numbers with too many different values.
BINS = 5


@dataclass(frozen=True)
class ExplainedVariance:
    """How much of the variance of success a column explains: a share, corrected for chance.

    `p_value` tests that all its groups are equal, by the design; `p_adjusted` is corrected for the number of columns.
    Without one, `untested` is the test that the sample cannot carry, if that is why.
    """

    column: str
    groups: int
    share: float
    p_value: float | None
    untested: WaldTest | None = None
    p_adjusted: float | None = None


@dataclass(frozen=True)
class ReliabilityBin:
    """The cases with a probability within some limits: its mean, and the share that came true, or None."""

    cases: int
    probability: float
    frequency: float
    interval: Interval | None


@dataclass(frozen=True)
class RunMeasures:
    """One run: estimates by the name of the measure, groups, and the columns that explain most."""

    name: str
    aligned: AlignedRuns
    sampling: Sampling
    measures: dict[str, Measure]
    estimates: dict[str, Estimate | None]
    # For each `--by`, the groups by the name of the measure.
    by: list[dict[str, Breakdown]]
    explained: list[ExplainedVariance]
    # Cases without the number that a measure needs, by its name; none are listed if no case lacks it.
    left_out: dict[str, int] = field(default_factory=dict)
    operating: OperatingResult | None = None
    # Beside the calibration error: what was said, and how often it came true.
    reliability: list[ReliabilityBin] = field(default_factory=list)


def rate_runs(
    runs: Sequence[Run], options: RateOptions, development: Sequence[Run] = (), *, first: str | None = None
) -> list[RunMeasures]:
    """Every run by itself; all of one test, whose cases may differ.

    `first` is which of the usual measures comes first, and is broken down; None for what counts in the test.
    """
    check_same_version([run.source for run in runs], [run.columns.header for run in runs])
    rated = [_rate_run(run, name, options, development, first) for run, name in zip(runs, names_of(runs), strict=True)]
    if len({tuple(map(tuple, run.by)) for run in rated}) > 1:
        # What counts in the test is not in the records of some: all are broken down by their rates.
        return rate_runs(runs, options, development, first="rate")
    return rated


def _rate_run(run: Run, name: str, options: RateOptions, development: Sequence[Run], first: str | None) -> RunMeasures:
    aligned = replace(align([run], partial=options.partial), names=[name])
    sampling, asked = take_sample(aligned, options), measure_names(options.statistic)
    names = asked or (_usual(aligned, first) if options.at is None else AT_A_THRESHOLD)
    measures = {key: measure_at(key, aligned, options, development) for key in names}
    if (operating := decided_at(aligned, sampling, options, development)) is not None:
        aligned = operating.aligned
    replication = Replication(confidence=options.confidence, seed=options.seed)
    measurement = Measurement(measures[next(iter(measures))], aligned, sampling, replication)
    cells = {
        key: _cells(replace(measurement, measure=measure), required=bool(asked)) for key, measure in measures.items()
    }
    estimates = {key: of.estimate(0) for key, of in cells.items()}
    if not asked:
        estimates = {key: value for key, value in estimates.items() if value is not None or key == "rate"}
    grouped = list(estimates) if asked else list(estimates)[:1]
    return RunMeasures(
        name=name,
        aligned=aligned,
        sampling=sampling,
        measures=measures,
        estimates=estimates,
        by=[
            {key: break_down(replace(measurement, measure=measures[key]), [], by) for key in grouped}
            for by in dict.fromkeys(options.by)
        ],
        explained=[] if options.by else _explained(replace(measurement, measure=MEASURES["rate"])),
        left_out={key: n for key, of in cells.items() if measures[key].of_numbers and (n := of.without_number(0))},
        operating=operating,
        reliability=reliability_bins(aligned, sampling, replication) if CALIBRATION in measures else [],
    )


def measure_names(text: str | None) -> tuple[str, ...]:
    """Names with commas between them, none if nobody asked; that in cost:fp=10,fn=1 does not count."""
    names: list[str] = []
    for name in map(str.strip, () if text is None else text.split(",")):
        if names and ":" in names[-1] and name.startswith(FIGURES):
            names[-1] += f",{name}"
        else:
            names.append(name)
    if not all(names):
        raise UsageError(f"--statistic '{text}': a name is empty; write NAME,NAME")
    return tuple(names)


def _usual(aligned: AlignedRuns, first: str | None) -> Sequence[str]:
    """What is measured if nobody asked for anything."""
    both = aligned.positive.any() and not aligned.positive.all()
    test = aligned.headers[0].test
    task = find_task(test.task)
    known = (first or test.main_measure, *USUAL, *(() if task is None else task.measures))
    usual = [name for name in known if both or name not in OF_BOTH or name in aligned.measure_names]
    values = [value_measure(name, aligned.measure_names) for name in aligned.value_names()]
    return list(dict.fromkeys((*usual, *values)))


def _cells(measurement: Measurement, *, required: bool) -> Cells:
    try:
        return measurement.runs()
    except HateError:
        # A default measure is left out if these records cannot have it.
        if required:
            raise
        return Cells(None, {})


def timed_cautions(runs: Sequence[RunMeasures]) -> list[str]:
    """Of runs whose times or memory stand side by side: what the machines may have to do with it."""
    timed = [run for run in runs if any(run.measures[name].reads is Reads.RESOURCES for name in run.estimates)]
    return machine_lines([run.name for run in timed], [run.aligned.headers[0] for run in timed])


def lacking_cautions(runs: Sequence[RunMeasures]) -> list[str]:
    """Which runs have no value of a measure that was asked for, and what it takes to have one."""
    lacking: dict[str, list[str]] = {}
    for run in runs:
        for name, estimate in run.estimates.items():
            if estimate is None:
                lacking.setdefault(name, []).append(run.name)
    return [runs[0].measures[name].absence(names) for name, names in lacking.items()]


def merge_breakdowns(runs: Sequence[RunMeasures]) -> list[dict[str, Breakdown]]:
    """For each `--by`, the groups of all runs side by side, by the name of the measure."""
    together = zip(*(run.by for run in runs), strict=True)
    return [{name: _merged([groups[name] for groups in by]) for name in by[0]} for by in together]


def _merged(parts: Sequence[Breakdown]) -> Breakdown:
    rows = side_by_side([by.groups for by in parts], max)
    return Breakdown(parts[0].column, rows, [by.gaps[0] for by in parts], [])


def _explained(measurement: Measurement) -> list[ExplainedVariance]:
    """Every column that has a few groups; the one that explains most comes first."""
    task = find_task(measurement.aligned.headers[0].test.task)
    # Where the truth is a file or a list, it groups no cases.
    unlike = ("expect", "truth") if task is not None and (task.expect_is_file or task.structured_expect) else ()
    names = [name for name in measurement.aligned.column_names() if name not in unlike]
    columns = distinct_groups(measurement.aligned, names, apart=measurement.sampling.psu)
    aligned = measurement.aligned
    success, cases = aligned.success_of_cases[0], aligned.case_count()
    explained = []
    for groups in columns.values():
        share = _omega_squared(success, groups.codes, measurement.sampling.sample.weights, len(groups.labels), cases)
        tested = equal_groups(measurement, groups.members)
        explained.append(ExplainedVariance(groups.column, len(groups.labels), share, *tested))
    corrected = holm([column.p_value for column in explained]).tolist()
    explained = [replace(column, p_adjusted=finite(p)) for column, p in zip(explained, corrected, strict=True)]
    return sorted(explained, key=lambda column: -column.share)


def distinct_groups(aligned: AlignedRuns, columns: Sequence[str], *, apart: str | None) -> dict[str, CaseGroups]:
    """The groups of each column that has a few, by what `--by` calls them; not of the column `apart`, the PSU.

    Columns that partition the cases in the same way count once.
    """
    distinct, seen = dict[str, CaseGroups](), set[bytes]()
    for column in dict.fromkeys(columns):
        by, groups = (column, None) if column == apart else _few_groups(aligned, column)
        if groups is None:
            continue
        # The groups are numbered in the order in which they come, whatever their labels.
        codes = groups.codes.astype(np.uint8)
        first = [int((codes == code).argmax()) for code in range(len(groups.labels))]
        partition = np.argsort(np.argsort(first)).astype(np.uint8)[codes].tobytes()
        if partition not in seen:
            seen.add(partition)
            distinct[by] = groups
    return distinct


def _few_groups(aligned: AlignedRuns, column: str) -> tuple[str, CaseGroups | None]:
    """The groups of a column, or bins of a number; None if they would be too many or too small."""
    bins = f"{column}:{BINS}"
    for by in (column, bins) if has_few_values(aligned, column) else (bins,):
        try:
            groups = several_groups(aligned, by)
        except UsageError:
            continue
        return by, groups if len(groups.labels) * 2 * aligned.answers <= aligned.n else None
    return column, None


def _omega_squared(values: FloatArray, codes: IntArray, weights: FloatArray, groups: int, cases: int) -> float:
    """Hays' omega squared: the share of the variance that lies between groups of cases, corrected for chance."""
    sizes = np.bincount(codes, weights=weights, minlength=groups)
    means = np.bincount(codes, weights=weights * values, minlength=groups) / np.where(sizes > 0, sizes, 1.0)
    mean = float(weights @ values / weights.sum())
    between = float(sizes @ (means - mean) ** 2)
    total = float(weights @ (values - mean) ** 2)
    inside = (total - between) / max(cases - groups, 1)
    below = total + inside
    return max((between - (groups - 1) * inside) / below, 0.0) if below > 0 else 0.0


# A reliability diagram: how often what was said with a probability came true


def reliability_bins(aligned: AlignedRuns, sampling: Sampling, replication: Replication) -> list[ReliabilityBin]:
    """The bins of the first run that are not empty, as the expected calibration error has them."""
    [cases] = aligned.curve_cases()
    numbers = bin_numbers(cases)
    bins = [_bin(cases, numbers == number, sampling, replication) for number in sorted(set(numbers.tolist()))]
    return [filled for filled in bins if filled is not None]


def _bin(cases: ScoredCases, inside: BoolArray, sampling: Sampling, replication: Replication) -> ReliabilityBin | None:
    weights = sampling.sample.weights * inside
    total = float(weights.sum())
    if total <= 0:
        return None
    said, happened = float(weights @ cases.better / total), float(weights @ cases.positive / total)
    try:
        statistic = shares([cases.positive & inside], [inside])
        interval = make_estimates(sampling.sample, statistic, replication).estimate(0).interval
    except ValueError:
        # The replicates of all cases have a value, those of a small bin do not.
        interval = None
    return ReliabilityBin(int(inside.sum()), said, happened, interval)

"""Each run by itself: its measures with errors by design, its groups, and which column explains most of it."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec
import numpy as np

from harness.analysis.align import AlignedRuns, Run, align, judged_json, names_of
from harness.analysis.breakdown import Breakdown, break_down, breakdown_json, equal_groups
from harness.analysis.cells import Cells, Measurement
from harness.analysis.groups import CaseGroups, has_few_values, several_groups
from harness.analysis.machines import machine_lines
from harness.analysis.operating_point import OperatingRequest, OperatingResult, threshold_json
from harness.analysis.reliability import ReliabilityBin, reliability_bins, reliability_json
from harness.analysis.run_names import check_same_version, identity_json
from harness.analysis.sampling import Sampling, interval_json, replication_json, take_sample
from harness.errors import HateError, UsageError
from harness.measures import MEASURES, Measure, Reads, value_measure
from harness.options import DesignOptions
from harness.stats.arrays import FloatArray, IntArray
from harness.stats.cochran import WaldTest
from harness.stats.estimate import Estimate
from harness.stats.multiplicity import Multiplicity, adjusted
from harness.stats.rates import wilson
from harness.stats.replication.method import Replication
from harness.tasks import find_task

# The measures that are computed by default, if a run has them.
USUAL = ("rate", "tpr", "tnr", "precision", "f1", "mcc", "auc", "eer", "rank1", "rank5", "seconds", "memory")
# If all cases are of one class, these say nothing more than the rate.
OF_BOTH = ("tpr", "tnr", "precision", "f1", "mcc")
# The measure that a reliability diagram goes with.
CALIBRATION = "ece"
# Bins for numbers with too many different values.
BINS = 5


@dataclass(frozen=True)
class RateRequest:
    """What to compute; see `hate rate`."""

    statistics: tuple[str, ...] = ()
    # Which of the usual measures comes first, and is broken down; None for what counts in the test.
    first: str | None = None
    by: tuple[str, ...] = ()
    design: DesignOptions = field(default_factory=DesignOptions)
    replication: Replication = field(default_factory=Replication)
    partial: bool = False
    # Where to set every threshold first.
    operating: OperatingRequest | None = None


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


def rate_runs(runs: Sequence[Run], request: RateRequest) -> list[RunMeasures]:
    """Every run by itself; all of one test, whose cases may differ."""
    check_same_version([run.source for run in runs], [run.columns.header for run in runs])
    found = [_rate_run(run, name, request) for run, name in zip(runs, names_of(runs), strict=True)]
    if len({tuple(map(tuple, run.by)) for run in found}) > 1:
        # What counts in the test is not in the records of some: all are broken down by their rates.
        return rate_runs(runs, replace(request, first="rate"))
    return found


def _rate_run(run: Run, name: str, request: RateRequest) -> RunMeasures:
    aligned = replace(align([run], partial=request.partial), names=[name])
    sampling = take_sample(aligned, request.design)
    measures, operating = _measures(aligned, request), None
    if request.operating is not None:
        measures = _measures_at(request.operating, aligned, request.statistics)
        operating = request.operating.decided(aligned, sampling)
        aligned = operating.aligned
    study = Measurement(measures[next(iter(measures))], aligned, sampling, request.replication)
    cells = {
        key: _cells(replace(study, measure=measure), required=bool(request.statistics))
        for key, measure in measures.items()
    }
    estimates = {key: of.one(0) for key, of in cells.items()}
    if not request.statistics:
        estimates = {key: one for key, one in estimates.items() if one is not None or key == "rate"}
    return RunMeasures(
        name=name,
        aligned=aligned,
        sampling=sampling,
        measures=measures,
        estimates=estimates,
        by=[
            _groups(study, {name: measures[name] for name in estimates}, request, by)
            for by in dict.fromkeys(request.by)
        ],
        explained=[] if request.by else _explained(replace(study, measure=MEASURES["rate"])),
        left_out={key: n for key, of in cells.items() if measures[key].of_numbers and (n := of.without_number(0))},
        operating=operating,
        reliability=reliability_bins(aligned, sampling, request.replication) if CALIBRATION in measures else [],
    )


def _measures_at(request: OperatingRequest, aligned: AlignedRuns, names: Sequence[str]) -> dict[str, Measure]:
    """Measures of the outcomes, at the operating point; the usual ones if none is named."""
    usual = ("rate", *OF_BOTH, "hter")
    return {name: request.measure(name, aligned) for name in names or usual}


def _measures(aligned: AlignedRuns, request: RateRequest) -> dict[str, Measure]:
    both = aligned.positive.any() and not aligned.positive.all()
    known = (request.first or aligned.headers[0].test.main_measure, *USUAL, *_task_measures(aligned))
    usual = [name for name in known if both or name not in OF_BOTH or name in aligned.measure_names]
    chosen = request.statistics or dict.fromkeys((*usual, *_own_values(aligned)))
    return {name: aligned.measure(name) for name in chosen}


def _task_measures(aligned: AlignedRuns) -> list[str]:
    """The measures of the task that are not among the usual ones."""
    task = find_task(aligned.headers[0].test.task)
    return [] if task is None else [name for name in task.measures if name not in USUAL]


def _own_values(aligned: AlignedRuns) -> list[str]:
    return [value_measure(name, aligned.measure_names) for name in aligned.value_names()]


def _cells(study: Measurement, *, required: bool) -> Cells:
    try:
        return study.runs()
    except HateError:
        # A default measure is left out if these records cannot have it.
        if required:
            raise
        return Cells(None, {})


def _groups(study: Measurement, measures: dict[str, Measure], request: RateRequest, by: str) -> dict[str, Breakdown]:
    chosen = list(measures.items()) if request.statistics else list(measures.items())[:1]
    return {name: break_down(replace(study, measure=measure), [], by) for name, measure in chosen}


def timed_cautions(runs: Sequence[RunMeasures]) -> list[str]:
    """Of runs whose times or memory stand side by side: what the machines may have to do with it."""
    timed = [run for run in runs if any(run.measures[name].reads is Reads.RESOURCES for name in run.estimates)]
    return machine_lines([run.name for run in timed], [run.aligned.headers[0] for run in timed])


def lacking_cautions(runs: Sequence[RunMeasures]) -> list[str]:
    """Which runs have no value of a measure that was asked for, and what it takes to have one."""
    lacking: dict[str, list[str]] = {}
    for run in runs:
        for name, one in run.estimates.items():
            if one is None:
                lacking.setdefault(name, []).append(run.name)
    return [runs[0].measures[name].absence(names) for name, names in lacking.items()]


def rate_json(runs: Sequence[RunMeasures]) -> dict[str, Any]:
    """The JSON that the documentation promises."""
    names = [run.name for run in runs]
    statistics = list(dict.fromkeys(name for run in runs for name in run.estimates))
    payload: dict[str, Any] = {
        "test": identity_json(runs[0].aligned.headers[0].test),
        "statistic": statistics[0],
        "statistics": statistics,
        **({} if runs[0].operating is None else {"at": str(runs[0].operating.criterion)}),
        "transcripts": [_run_json(run, statistics) for run in runs],
    }
    breakdowns = [
        {name: breakdown_json(one, names, []) for name, one in merged.items()} for merged in merge_breakdowns(runs)
    ]
    if breakdowns:
        payload["by"] = breakdowns[0][statistics[0]]
        payload["by_statistic"] = breakdowns[0]
    if len(breakdowns) > 1:
        payload["breakdowns"] = [{**groups[statistics[0]], "by_statistic": groups} for groups in breakdowns]
    if cautions := [*lacking_cautions(runs), *timed_cautions(runs)]:
        payload["cautions"] = cautions
    return payload


def _run_json(run: RunMeasures, statistics: Sequence[str]) -> dict[str, Any]:
    counts, first = run.aligned.counts[0], run.estimates.get(statistics[0])
    shown = run.sampling.known or statistics[0] != "rate" or run.operating is not None
    interval = wilson(counts.successes, counts.tests, confidence=first.confidence if first else 0.95)
    return {
        "name": run.name,
        "tests": counts.tests,
        **msgspec.structs.asdict(counts),
        "rate": counts.rate,
        "interval": interval_json(interval),
        "value": None if first is None else first.value,
        "judged": judged_json(run.aligned, 0),
        "replication": replication_json(first, run.sampling) if shown else None,
        **({} if run.operating is None else threshold_json(run.operating, 0)),
        "measures": {name: replication_json(run.estimates.get(name), run.sampling) for name in statistics},
        "left_out": run.left_out,
        **({"reliability": [reliability_json(one) for one in run.reliability]} if run.reliability else {}),
        "explained": [
            {
                "column": one.column,
                "groups": one.groups,
                "share": one.share,
                "p_value": one.p_value,
                "p_adjusted": one.p_adjusted,
            }
            for one in run.explained
        ],
    }


def merge_breakdowns(runs: Sequence[RunMeasures]) -> list[dict[str, Breakdown]]:
    """For each `--by`, the groups of all runs side by side, by the name of the measure."""
    together = zip(*(run.by for run in runs), strict=True)
    return [{name: _merged([groups[name] for groups in own]) for name in own[0]} for own in together]


def _merged(parts: Sequence[Breakdown]) -> Breakdown:
    """Groups by their labels, in the order of the first run that has them."""
    keys = list(dict.fromkeys(group.key for by in parts for group in by.groups))
    rows = []
    for key in keys:
        own = [next((group for group in by.groups if group.key == key), None) for by in parts]
        known = [group for group in own if group is not None]
        cases, answers = max(group.cases for group in known), max(group.answers for group in known)
        runs = [None if group is None else group.runs[0] for group in own]
        rows.append(replace(known[0], cases=cases, answers=answers, runs=runs, pairs=[]))
    return Breakdown(parts[0].column, rows, [by.gaps[0] for by in parts], [])


def _explained(study: Measurement) -> list[ExplainedVariance]:
    """Every column that has a few groups; the one that explains most comes first."""
    task = find_task(study.aligned.headers[0].test.task)
    # Where the truth is a file or a list, it groups no cases.
    unlike = ("expect", "truth") if task is not None and (task.expect_is_file or task.structured_expect) else ()
    names = [name for name in study.aligned.column_names() if name not in unlike]
    columns = distinct_groups(study.aligned, names, apart=study.sampling.psu)
    explained = [_explains(study, groups) for groups in columns.values()]
    p_values = np.array([np.nan if one.p_value is None else one.p_value for one in explained], dtype=np.float64)
    corrected = adjusted(p_values, Multiplicity.HOLM) if explained else p_values
    explained = [
        replace(one, p_adjusted=None if np.isnan(p) else float(p)) for one, p in zip(explained, corrected, strict=True)
    ]
    return sorted(explained, key=lambda one: -one.share)


def distinct_groups(aligned: AlignedRuns, columns: Sequence[str], *, apart: str | None) -> dict[str, CaseGroups]:
    """The groups of each column that has a few, by what `--by` calls them; not of the column `apart`, the PSU.

    Columns that partition the cases in the same way count once.
    """
    found, seen = dict[str, CaseGroups](), set[bytes]()
    for column in dict.fromkeys(columns):
        by, groups = (column, None) if column == apart else _few_groups(aligned, column)
        if groups is not None and (partition := _partition(groups)) not in seen:
            seen.add(partition)
            found[by] = groups
    return found


def _partition(groups: CaseGroups) -> bytes:
    """The groups numbered in the order in which they come, whatever their labels."""
    codes = groups.codes.astype(np.uint8)
    first = [int((codes == code).argmax()) for code in range(len(groups.labels))]
    return np.argsort(np.argsort(first)).astype(np.uint8)[codes].tobytes()


def _few_groups(aligned: AlignedRuns, column: str) -> tuple[str, CaseGroups | None]:
    """The groups of a column, or bins of a number; None if they would be too many or too small."""
    bins = f"{column}:{BINS}"
    for by in (column, bins) if has_few_values(aligned, column) else (bins,):
        try:
            groups = several_groups(aligned, by)
        except UsageError:
            continue
        return by, groups if len(groups.labels) * 2 <= aligned.n else None
    return column, None


def _explains(study: Measurement, groups: CaseGroups) -> ExplainedVariance:
    success, weights = study.aligned.success[0].astype(np.float64), study.sampling.sample.weights
    share = _omega_squared(success, groups.codes, weights, len(groups.labels))
    members = [groups.codes == code for code in range(len(groups.labels))]
    return ExplainedVariance(groups.column, len(groups.labels), share, *equal_groups(study, members))


def _omega_squared(values: FloatArray, codes: IntArray, weights: FloatArray, groups: int) -> float:
    """Hays' omega squared: the share of the variance that lies between groups, corrected for chance."""
    sizes = np.bincount(codes, weights=weights, minlength=groups)
    means = np.bincount(codes, weights=weights * values, minlength=groups) / np.where(sizes > 0, sizes, 1.0)
    mean = float(weights @ values / weights.sum())
    between = float(sizes @ (means - mean) ** 2)
    total = float(weights @ (values - mean) ** 2)
    inside = (total - between) / max(len(values) - groups, 1)
    below = total + inside
    return max((between - (groups - 1) * inside) / below, 0.0) if below > 0 else 0.0

"""Compare runs: McNemar and replication for every pair, and the extras that were requested."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

import numpy as np

from harness.analysis.align import AlignedRuns, Run, align
from harness.analysis.breakdown import break_down
from harness.analysis.cells import Cells, Measurement
from harness.analysis.comparison import Comparison, ResourceEstimates, RunSummary, best_first
from harness.analysis.items import analyse_items
from harness.analysis.operating_point import OperatingCriterion, OperatingRequest, measure_at
from harness.analysis.pairs import Margin, Pair, PairedValues, check_margin, make_pairs, pair_tables
from harness.analysis.sampling import Sampling, take_sample
from harness.analysis.value_errors import agreement
from harness.analysis.wins import win_rates
from harness.errors import HateError, TranscriptError, UsageError
from harness.measures import MEASURES
from harness.options import DesignOptions
from harness.params import nearest
from harness.stats.cochran import cochran_q
from harness.stats.letters import distinct_matrix, letter_display
from harness.stats.multiplicity import Multiplicity
from harness.stats.paired import PairTables
from harness.stats.rates import wilson
from harness.stats.replication.method import Replication
from harness.transcript.format import TestInfo

_Found = TypeVar("_Found")
RATE = MEASURES["rate"]


@dataclass(frozen=True)
class CompareRequest:
    """What to compare by, and what to add; see `hate compare`."""

    # None for what counts in the test: the measure of its task.
    statistic: str | None = None
    # Where to set every threshold first.
    criterion: OperatingCriterion | None = None
    # On the runs that are compared, or on other runs of the same algorithms.
    development: Sequence[Run] = ()
    margin: float | None = None
    # Columns to break the comparison down by, each by itself.
    by: tuple[str, ...] = ()
    items: bool = False
    resources: bool = True
    # The name of the run that all others are compared with.
    baseline: str | None = None
    multiplicity: Multiplicity = Multiplicity.HOLM
    design: DesignOptions = field(default_factory=DesignOptions)
    replication: Replication = field(default_factory=Replication)
    # Compare only the cases that all runs have.
    intersect: bool = False
    # Accept incomplete transcripts.
    partial: bool = False

    @property
    def operating(self) -> OperatingRequest | None:
        """How thresholds are set; None if the runs' own outcomes count."""
        return None if self.criterion is None else OperatingRequest(self.criterion, self.development, self.design)


def compare_runs(runs: Sequence[Run], request: CompareRequest) -> Comparison:
    """Compare runs on the same cases."""
    aligned = align(runs, intersect=request.intersect, partial=request.partial)
    return compare_aligned(aligned, take_sample(aligned, request.design), request)


def compare_aligned(aligned: AlignedRuns, sampling: Sampling, request: CompareRequest) -> Comparison:
    """The same for aligned runs; at an operating point, all outcomes are decided again first."""
    found, why = by_main_measure(
        request,
        aligned.headers[0].test,
        lambda name: _compare_by(name, aligned, sampling, request),
        lambda comparison: any(run.value is not None for run in comparison.runs),
    )
    return replace(found, cautions=[*found.cautions, why]) if why else found


def by_main_measure(
    request: CompareRequest, test: TestInfo, compare: Callable[[str], _Found], has_value: Callable[[_Found], bool]
) -> tuple[_Found, str]:
    """A comparison by the measure that was asked for, else by what counts in the test.

    If no run has that, by the rate, with a sentence that says so.
    """
    # Decisions at an operating point have a rate.
    main = RATE.name if request.criterion is not None else test.main_measure
    if request.statistic is not None or main == RATE.name:
        return compare(request.statistic or main), ""
    try:
        found = compare(main)
        if has_value(found):
            return found, ""
        why = f"none of these runs has the {main} that counts in {test.name}"
    except HateError as error:
        # If something else is wrong, the next line raises it again.
        why = f"the {main} that counts in {test.name} cannot be computed ({error})"
    return compare(RATE.name), f"The rate of success is compared: {why}."


def _compare_by(name: str, aligned: AlignedRuns, sampling: Sampling, request: CompareRequest) -> Comparison:
    baseline = _baseline(aligned.names, request.baseline)
    measure, operating = measure_at(request.operating, name, aligned, sampling)
    recorded = Measurement(measure, aligned, sampling, request.replication)
    study = recorded if operating is None else replace(recorded, aligned=operating.aligned)
    try:
        comparison = _compare(study, baseline, request.multiplicity)
    except ValueError as error:
        # The statistics reject the sample, for example because half of the units have no weight.
        raise TranscriptError(f"{aligned.headers[0].test.name}: {error}") from None
    comparison = _with_details(replace(comparison, operating=operating), study, request)
    comparison = replace(comparison, agreement=agreement(aligned, sampling, request.replication))
    if not request.resources:
        return comparison
    return replace(
        comparison,
        seconds=resources("seconds", recorded, comparison.places),
        memory=resources("memory", recorded, comparison.places),
    )


def _baseline(names: Sequence[str], name: str | None) -> int | None:
    if name is None:
        return None
    if name not in names:
        raise UsageError(f"--baseline {name}: not among these transcripts; {nearest(name, names)}")
    return list(names).index(name)


def _compare(study: Measurement, baseline: int | None, multiplicity: Multiplicity) -> Comparison:
    """All pairs, or one run with all the others, by a measure; McNemar's test is always about success."""
    aligned, sampling, measure = study.aligned, study.sampling, study.measure
    if multiplicity is Multiplicity.MAX_T and not sampling.known and measure is RATE:
        raise UsageError(
            "--multiplicity max-t needs estimates by design: name a --psu or a --stratum, or choose another correction"
        )
    rates = replace(study, measure=RATE).runs() if sampling.known else None
    values = rates if measure is RATE else study.runs()
    tables = pair_tables(aligned)
    pairs = make_pairs(study, tables, PairedValues(rates, values, baseline, multiplicity))
    runs = [_summary(study, values, number) for number in range(len(aligned.names))]
    groups, letters = ([], [""] * len(runs)) if baseline is not None else _letters(study, runs, pairs)
    votes = aligned.success.sum(axis=0)
    return Comparison(
        aligned=aligned,
        sampling=sampling,
        replication=study.replication,
        measure=measure,
        values=values,
        multiplicity=multiplicity,
        baseline=baseline,
        runs=runs,
        pairs=pairs,
        better=_better(tables),
        cochran=cochran_q(aligned.success),
        wald=None if values is None else values.equality(),
        groups=groups,
        letters=letters,
        oracle=float((votes > 0).mean()),
        majority=float((2 * votes > len(runs)).mean()) if len(runs) > 2 else None,
        cautions=_cautions(aligned),
    )


def _cautions(aligned: AlignedRuns) -> list[str]:
    try:
        return aligned.headers[0].test.find_task().cautions(aligned)
    except TranscriptError:  # an imported transcript, without the task or without its details
        return []


def _summary(study: Measurement, values: Cells | None, number: int) -> RunSummary:
    counts = study.aligned.counts[number]
    interval = wilson(counts.successes, counts.tests, confidence=study.replication.confidence)
    one = None if values is None else values.one(number)
    value = counts.rate if values is None else None if one is None else one.value
    left_out = values.without_number(number) if values is not None and study.measure.of_numbers else 0
    return RunSummary(study.aligned.names[number], counts.rate, interval, one, value, left_out)


def _letters(
    study: Measurement, runs: Sequence[RunSummary], pairs: Sequence[Pair]
) -> tuple[list[list[str]], list[str]]:
    """Sets of algorithms that cannot be told apart, the best first, and the letters of each algorithm."""
    names, alpha = study.aligned.names, 1 - study.replication.confidence
    distinct: np.ndarray[tuple[int, ...], np.dtype[np.bool_]] = distinct_matrix(
        len(names), [pair.a for pair in pairs], [pair.b for pair in pairs], [p.p_decisive <= alpha for p in pairs]
    )
    display = letter_display(distinct, order=best_first(runs, study.measure))
    return [[names[i] for i in group] for group in display.groups], list(display.letters)


def _better(tables: PairTables) -> list[list[int | None]]:
    counts = tables.better().tolist()
    return [[None if i == j else count for j, count in enumerate(row)] for i, row in enumerate(counts)]


def _with_details(comparison: Comparison, study: Measurement, request: CompareRequest) -> Comparison:
    """Add what was requested: a margin, groups, items."""
    margins = items = None
    if request.margin is not None:
        check_margin(comparison.measure, request.margin)
        # 1 - 0.95 is not 0.05 in binary.
        low, high = comparison.measure.bounds
        margin = Margin(
            request.margin, round(comparison.alpha, 12), comparison.measure.larger_is_better is not False, high - low
        )
        margins = margin.tests(comparison.pairs, comparison.sampling.sample)
    breakdowns = [break_down(study, comparison.places, by) for by in dict.fromkeys(request.by)]
    if request.items:
        items = analyse_items(study, [number for number, run in enumerate(comparison.runs) if run.value is not None])
    wins = win_rates(study, comparison.places, comparison.multiplicity)
    return replace(comparison, margins=margins, breakdowns=breakdowns, items=items, wins=wins)


def resources(name: str, study: Measurement, places: Sequence[tuple[int, int]]) -> ResourceEstimates | None:
    """Seconds or memory. If the design gives no error for a mean, only the resources are left out."""
    if all(np.isnan(getattr(run, name)).all() for run in study.aligned.runs):
        return None
    try:
        cells = replace(study, measure=MEASURES[name]).runs()
    except (UsageError, ValueError):
        return None
    if not cells.place:
        return None
    runs = [cells.one(run) for run in range(len(study.aligned.names))]
    return ResourceEstimates(runs, cells.ratios(places))

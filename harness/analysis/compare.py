"""Compare runs, on the same cases or on different ones: every pair, and the extras that were requested."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from harness.analysis.align import AlignedRuns, Run, align
from harness.analysis.breakdown import break_down
from harness.analysis.cells import Measurement, replication_of
from harness.analysis.comparison import Comparison, RunSummary, best_first
from harness.analysis.item_analysis import analyse_items
from harness.analysis.operating_point import OperatingResult, decided_at, measure_at
from harness.analysis.pairs import (
    Pair,
    check_margin,
    chosen_tables,
    make_pairs,
    pair_tables,
    run_pairs,
    win_rates,
    with_margins,
)
from harness.analysis.sampling import take_sample
from harness.analysis.unpaired import align_alone, by_group, comparable, unpaired_cautions, unpaired_pairs
from harness.analysis.value_errors import agreement
from harness.errors import HateError, TranscriptError, UsageError
from harness.measures import MEASURES
from harness.options.comparing import CompareOptions
from harness.params import nearest
from harness.stats.arrays import IntArray
from harness.stats.cochran import cochran_q
from harness.stats.estimate import Estimate
from harness.stats.multiplicity import Multiplicity, distinct_matrix, letter_display
from harness.stats.replication.method import Replication
from harness.transcript.columns import OUTCOMES, Coded, Columns
from harness.transcript.format import AlgorithmInfo, Header, TestInfo

RATE = MEASURES["rate"]
# Cases of a table that is typed.
MAX_TYPED = 10_000_000
# The outcomes of a positive case, by whether it succeeded.
_OUTCOME = [[outcome.value for outcome in OUTCOMES].index(name) for name in ("FN", "TP")]


def compare_runs(
    runs: Sequence[Run], options: CompareOptions, *, development: Sequence[Run] = (), resources: bool = True
) -> Comparison:
    """Compare runs on the same cases, or each on its own if they are unpaired; see `compare_aligned`."""
    if not options.unpaired:
        aligned = align(runs, intersect=options.intersect, partial=options.partial)
        return compare_aligned(aligned, options, development=development, resources=resources)
    if Multiplicity(options.multiplicity) is Multiplicity.MAX_T:
        raise UsageError("--multiplicity max-t needs runs on the same cases; choose holm, hochberg or bh")
    alone = align_alone(runs, partial=options.partial)
    return _compare(alone, options, development, replication_of(options), resources=False)


def compare_aligned(
    aligned: AlignedRuns,
    options: CompareOptions,
    *,
    development: Sequence[Run] = (),
    replication: Replication | None = None,
    resources: bool = True,
) -> Comparison:
    """Compare aligned runs; at an operating point, all outcomes are decided again first.

    `development` are runs of the same algorithms on other cases, on which thresholds are set. `replication` is how
    errors are estimated, if that is more than options can say. `resources` adds times and memory.
    """
    return _compare([aligned], options, development, replication or replication_of(options), resources=resources)


def _compare(
    samples: Sequence[AlignedRuns],
    options: CompareOptions,
    development: Sequence[Run],
    replication: Replication,
    *,
    resources: bool,
) -> Comparison:
    """By the measure that was asked for, else by what counts in the test; if no run has that, by the rate."""
    sampled = [(aligned, take_sample(aligned, options)) for aligned in samples]

    def compare(name: str) -> Comparison:
        recorded = [
            Measurement(measure_at(name, aligned, options, development), aligned, sampling, replication)
            for aligned, sampling in sampled
        ]
        recorded = comparable(recorded) if options.unpaired else recorded
        operating = [decided_at(aligned, sampling, options, development) for aligned, sampling in sampled]
        return _compare_by(recorded, operating, options, resources=resources)

    test = samples[0].headers[0].test
    # Decisions at an operating point have a rate.
    main = test.main_measure if options.at is None else RATE.name
    if options.statistic is not None or main == RATE.name:
        return compare(options.statistic or main)
    try:
        comparison = compare(main)
        if any(run.value is not None for run in comparison.runs):
            return comparison
        why = f"none of these runs has the {main} that counts in {test.name}"
    except HateError as error:
        # If something else is wrong, the next line raises it again.
        why = f"the {main} that counts in {test.name} cannot be computed ({error})"
    comparison = compare(RATE.name)
    return replace(comparison, cautions=[*comparison.cautions, f"The rate of success is compared: {why}."])


def _compare_by(
    recorded: Sequence[Measurement],
    operating: Sequence[OperatingResult | None],
    options: CompareOptions,
    *,
    resources: bool,
) -> Comparison:
    """By one measure: the runs as they were recorded, and as they were decided again at an operating point."""
    measurements = [
        measurement if again is None else replace(measurement, aligned=again.aligned)
        for measurement, again in zip(recorded, operating, strict=True)
    ]
    multiplicity = Multiplicity(options.multiplicity)
    if options.unpaired:
        runs = [
            RunSummary.of(measurement, 0, measurement.runs(), at)
            for measurement, at in zip(measurements, operating, strict=True)
        ]
        comparison = Comparison(
            measurements,
            multiplicity,
            runs,
            unpaired_pairs(runs, multiplicity),
            cautions=unpaired_cautions(measurements),
        )
    else:
        try:
            comparison = _paired(measurements[0], recorded[0], operating[0], options, resources=resources)
        except ValueError as error:
            # The statistics reject the sample, for example because half of the units have no weight.
            raise TranscriptError(f"{measurements[0].aligned.headers[0].test.name}: {error}") from None
    measurement, further, pairs = measurements[0], list(comparison.further), comparison.pairs
    if (margin := options.margin) is not None:
        check_margin(comparison.measure, margin)
        pairs = with_margins(
            pairs, [run.estimate for run in comparison.runs], measurement, margin, paired=comparison.paired
        )
        further.append("equivalence")
    columns = dict.fromkeys(options.by)
    if options.unpaired:
        breakdowns = [by_group(measurements, by) for by in columns]
    else:
        breakdowns = [break_down(measurement, comparison.run_pairs, by) for by in columns]
    items = None
    if options.items:
        items = analyse_items(
            measurement, [number for number, run in enumerate(comparison.runs) if run.value is not None]
        )
    return replace(comparison, pairs=pairs, further=further, breakdowns=breakdowns, items=items)


def _baseline(names: Sequence[str], name: str | None) -> int | None:
    if name is None:
        return None
    if name not in names:
        raise UsageError(f"--baseline {name}: not among these transcripts; {nearest(name, names)}")
    return list(names).index(name)


def _paired(
    measurement: Measurement,
    recorded: Measurement,
    operating: OperatingResult | None,
    options: CompareOptions,
    *,
    resources: bool,
) -> Comparison:
    """All pairs, or one run with all the others, by a measure; McNemar's test is always about success."""
    aligned, sampling, measure = measurement.aligned, measurement.sampling, measurement.measure
    multiplicity, baseline = Multiplicity(options.multiplicity), _baseline(aligned.names, options.baseline)
    if multiplicity is Multiplicity.MAX_T and not sampling.known and measure is RATE:
        raise UsageError(
            "--multiplicity max-t needs estimates by design: name a --psu or a --stratum, or choose another correction"
        )
    rates = replace(measurement, measure=RATE).runs() if sampling.known else None
    values = rates if measure is RATE else measurement.runs()
    tables = pair_tables(aligned)
    chosen = chosen_tables(tables, baseline)
    numbers = run_pairs(chosen)
    costs = {name: cost for name in ("seconds", "memory") if resources and (cost := costs_of(name, recorded, numbers))}
    more: dict[str, Sequence[Any]] = {name: cost.pairs for name, cost in costs.items()}
    if (wins := win_rates(measurement, numbers, multiplicity)) is not None:
        more["win_rate"] = wins
    pairs = make_pairs(chosen, rates, values, multiplicity, measurement.replication.confidence, more)
    runs = [RunSummary.of(measurement, number, values, operating) for number in range(len(aligned.names))]
    groups, letters = ([], [""] * len(runs)) if baseline is not None else _letter_groups(measurement, runs, pairs)
    seconds, memory = (costs[name].runs if name in costs else [None] * len(runs) for name in ("seconds", "memory"))
    runs = [
        replace(run, letters=shared, seconds=time, memory=size)
        for run, shared, time, size in zip(runs, letters, seconds, memory, strict=True)
    ]
    votes, weights = aligned.success.sum(axis=0), sampling.sample.weights
    return Comparison(
        [measurement],
        multiplicity,
        runs,
        pairs,
        baseline=baseline,
        better=[
            [None if i == j else count for j, count in enumerate(row)] for i, row in enumerate(tables.better().tolist())
        ],
        cochran=cochran_q(aligned.success),
        wald=None if values is None else values.equality(),
        groups=groups,
        oracle=float(np.average(votes > 0, weights=weights)),
        majority=float(np.average(2 * votes > len(runs), weights=weights)) if len(runs) > 2 else None,
        cautions=_cautions(aligned),
        further=list(more),
        agreement=agreement(recorded.aligned, sampling, measurement.replication),
    )


def _cautions(aligned: AlignedRuns) -> list[str]:
    try:
        return aligned.headers[0].test.find_task().cautions(aligned)
    except TranscriptError:  # an imported transcript, without the task or without its details
        return []


def _letter_groups(
    measurement: Measurement, runs: Sequence[RunSummary], pairs: Sequence[Pair]
) -> tuple[list[list[str]], list[str]]:
    """Sets of algorithms that cannot be told apart, the best first, and the letters of each algorithm."""
    names, alpha = measurement.aligned.names, 1 - measurement.replication.confidence
    distinct: np.ndarray[tuple[int, ...], np.dtype[np.bool_]] = distinct_matrix(
        len(names), [pair.a for pair in pairs], [pair.b for pair in pairs], [p.p_decisive <= alpha for p in pairs]
    )
    display = letter_display(distinct, order=best_first(runs, measurement.measure))
    return [[names[i] for i in group] for group in display.groups], list(display.letters)


class AnswerCosts(NamedTuple):
    """The mean of every run that has seconds or memory, and the ratios of the pairs."""

    runs: list[Estimate | None]
    pairs: list[Estimate | None]


def costs_of(name: str, measurement: Measurement, pairs: Sequence[tuple[int, int]]) -> AnswerCosts | None:
    """Seconds or memory. If the design gives no error for a mean, only the costs are left out."""
    if all(np.isnan(getattr(run, name)).all() for run in measurement.aligned.runs):
        return None
    try:
        cells = replace(measurement, measure=MEASURES[name]).runs()
    except (UsageError, ValueError):
        return None
    if not cells.index:
        return None
    return AnswerCosts([cells.estimate(run) for run in range(len(measurement.aligned.names))], cells.ratios(pairs))


# Two runs from a 2 x 2 table that somebody typed, such as one in a paper


def runs_of_table(words: Sequence[str]) -> list[Run]:
    """Cases on which both failed, only A succeeded, only B succeeded, and both succeeded, in this order."""
    for word in words:
        if not (word.isascii() and word.isdigit()):
            what = f"'{word}' is not a count of cases; write four whole numbers, such as 58 31 9 902"
            raise UsageError(f"--table: {what}")
    counts = [int(word) for word in words]
    if len(counts) != 4:
        raise UsageError(
            f"--table: {len(counts)} numbers; expected four: both failed, only A right, only B right, both"
        )
    if not 0 < sum(counts) <= MAX_TYPED:
        raise UsageError(f"--table: {sum(counts):,} cases; expected 1 to {MAX_TYPED:,}")
    a = np.repeat([0, 1, 0, 1], counts)
    b = np.repeat([0, 0, 1, 1], counts)
    ids = [str(number) for number in range(a.size)]
    return [_run_of_success(name, success, ids) for name, success in (("A", a), ("B", b))]


def _run_of_success(name: str, success: IntArray, ids: list[str]) -> Run:
    n = success.size
    header = Header(
        hate="transcript",
        format=1,
        test=TestInfo("typed", "table", "", cases=n),
        algorithm=AlgorithmInfo(name),
    )
    nothing, absent = np.full(n, np.nan), Coded(np.full(n, -1, np.int32), [])
    columns = Columns(
        header=header,
        complete=True,
        ids=ids,
        outcome=np.array(_OUTCOME, dtype=np.int8)[success],
        score=nothing,
        seconds=nothing,
        memory=nothing,
        rank=nothing,
        repeat=np.ones(n, dtype=np.int32),
        expect=absent,
        truth=absent,
        actual=absent,
        error=absent,
        stratum=absent,
        psu=absent,
    )
    return Run(columns, name, name)

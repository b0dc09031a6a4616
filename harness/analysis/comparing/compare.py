"""Compare: McNemar and replication for every pair, with what follows from them."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from harness.analysis.comparing.align import Aligned
from harness.analysis.comparing.cells import Cells, measure_runs
from harness.analysis.comparing.comparison import Comparison, Pair, RunSummary, best_first
from harness.analysis.comparing.sampling import Sampling
from harness.errors import UsageError
from harness.measures import MEASURES, Measure
from harness.stats.cochran import cochran_q
from harness.stats.differences import paired_differences
from harness.stats.estimate import Estimate, t_p_values
from harness.stats.letters import distinct_matrix, letter_display
from harness.stats.multiplicity import Multiplicity, adjusted, max_t
from harness.stats.paired import McNemars, PairTables, mcnemar_all, pairwise_tables
from harness.stats.rates import Interval, wilson
from harness.stats.replication.plan import Plan

RATE = MEASURES["rate"]


def compare(
    aligned: Aligned,
    sampling: Sampling,
    plan: Plan,
    *,
    baseline: int | None = None,
    measure: Measure = RATE,
    multiplicity: Multiplicity = Multiplicity.HOLM,
) -> Comparison:
    """Compare all pairs, or one with all the others, by a measure; McNemar's test is always about success."""
    if multiplicity is Multiplicity.MAX_T and not sampling.known and measure is RATE:
        raise UsageError(
            "--multiplicity max-t works on estimates by design: name a --psu or a --stratum, or choose another"
        )
    tables = _chosen(pairwise_tables(aligned.success), baseline)
    rates = measure_runs(RATE, aligned, sampling.sample, plan) if sampling.known else None
    measured = rates if measure is RATE else measure_runs(measure, aligned, sampling.sample, plan)
    places = list(zip(tables.first.tolist(), tables.second.tolist(), strict=True))
    gaps = None if measured is None else _differences(measured, places, multiplicity, plan)
    of_rates = None if rates is None else gaps if measured is rates else rates.differences(places)
    pairs = _pairs(tables, gaps, of_rates, plan, multiplicity, beyond=measure is not RATE)
    runs = [_summary(aligned, measured, plan, number) for number in range(len(aligned.names))]
    order = best_first(runs, larger_is_better=measure.larger_is_better)
    groups, letters = ([], [""] * len(runs)) if baseline is not None else _groups(aligned.names, pairs, order, plan)
    votes = aligned.success.sum(axis=0)
    return Comparison(
        aligned=aligned,
        sampling=sampling,
        plan=plan,
        runs=runs,
        better=_better(aligned),
        cochran=cochran_q(aligned.success),
        wald=None if measured is None else measured.equality(),
        pairs=pairs,
        groups=groups,
        letters=letters,
        oracle=float((votes > 0).mean()),
        majority=float((2 * votes > len(runs)).mean()) if len(runs) > 2 else None,
        measure=measure,
        measured=measured,
        multiplicity=multiplicity,
        baseline=baseline,
    )


def _chosen(tables: PairTables, baseline: int | None) -> PairTables:
    if baseline is None:
        return tables
    keep = (tables.first == baseline) | (tables.second == baseline)
    return PairTables(*(getattr(tables, name)[keep] for name in PairTables.__dataclass_fields__))


def _better(aligned: Aligned) -> list[list[int | None]]:
    wins = aligned.success.astype(np.float64) @ (~aligned.success).astype(np.float64).T
    counts = np.rint(wins).astype(int).tolist()
    return [[None if i == j else count for j, count in enumerate(row)] for i, row in enumerate(counts)]


def _summary(aligned: Aligned, measured: Cells | None, plan: Plan, number: int) -> RunSummary:
    counts = aligned.counts[number]
    interval, rate = wilson(counts.successes, counts.tests, confidence=plan.confidence), counts.rate
    one = None if measured is None else measured.one(number)
    value = rate if measured is None else None if one is None else one.value
    return RunSummary(aligned.names[number], rate, interval, one, value)


def _differences(
    measured: Cells, places: Sequence[tuple[int, int]], multiplicity: Multiplicity, plan: Plan
) -> list[Estimate | None]:
    """What is compared of every pair, by the design."""
    if multiplicity is Multiplicity.MAX_T:
        return _max_t(measured.differences(places), places, measured, plan)
    return measured.differences(places, lambda p_values: adjusted(p_values, multiplicity))


def _max_t(
    found: Sequence[Estimate | None], places: Sequence[tuple[int, int]], measured: Cells, plan: Plan
) -> list[Estimate | None]:
    """P-values and intervals that hold for all pairs at once; with a baseline that is Dunnett's test.

    The largest t gives a confidence for each pair, and the interval is made at that as any other is. Pairs without
    variance have no t: Bonferroni's correction holds for them.
    """
    together, result = measured.found, list(found)
    known = {k: one for k, one in enumerate(found) if one is not None}
    if together is None or not known:
        return result
    at = {k: [measured.place[run] for run in places[k]] for k in known}
    varying = {k: one for k, one in known.items() if one.se > 0 and one.interval is not None}
    p_values = {k: min(1.0, len(known) * one.p_value) for k, one in known.items() if one.p_value is not None}
    levels = dict.fromkeys(known, 1 - (1 - plan.confidence) / len(known))
    if varying:
        df = min(one.df for one in varying.values())
        largest = max_t(
            together.covariance, [at[k] for k in varying], [one.value / one.se for one in varying.values()], df=df,
            confidence=plan.confidence, rng=np.random.default_rng(plan.seed),
        )  # fmt: skip
        p_values |= zip(varying, largest.p_values.tolist(), strict=True)
        levels |= dict.fromkeys(varying, 1 - float(t_p_values(largest.critical, 1.0, df)))
    for level in set(levels.values()):
        chosen = [k for k in known if levels[k] == level]
        wider = together.at(level).differences([at[k][0] for k in chosen], [at[k][1] for k in chosen])
        for k, wide in zip(chosen, wider, strict=True):
            result[k] = replace(known[k], p_adjusted=p_values.get(k), interval=wide.interval)
    return result


def _pairs(
    tables: PairTables,
    gaps: Sequence[Estimate | None] | None,
    of_rates: Sequence[Estimate | None] | None,
    plan: Plan,
    multiplicity: Multiplicity,
    *,
    beyond: bool,
) -> list[Pair]:
    effects = [None] * len(tables) if of_rates is None else [_effect(one) for one in of_rates]
    tests = mcnemar_all(tables.n_sf, tables.n_fs, design_effect=np.array([effect or 1.0 for effect in effects]))
    estimates, intervals = paired_differences(tables, confidence=plan.confidence)
    corrected = adjusted(tests.p_exact, Multiplicity.HOLM if multiplicity is Multiplicity.MAX_T else multiplicity)
    return [
        Pair(
            a=int(tables.first[k]),
            b=int(tables.second[k]),
            n_ff=int(tables.n_ff[k]),
            n_sf=int(tables.n_sf[k]),
            n_fs=int(tables.n_fs[k]),
            n_ss=int(tables.n_ss[k]),
            p_adjusted=float(corrected[k]),
            difference=float(estimates[k]),
            interval=Interval(float(intervals.low[k]), float(intervals.high[k])),
            effect=effects[k],
            replication=None if gaps is None else gaps[k],
            beyond=beyond,
            **named,
        )
        for k, named in enumerate(_of_tests(tests))
    ]


def _effect(found: Estimate | None) -> float | None:
    """A design effect that McNemar's z can be divided by; None where none is known."""
    return found.design_effect if found is not None and found.design_effect else None


def _of_tests(tests: McNemars) -> list[dict[str, Any]]:
    """McNemar's test of every pair, by the names that a pair has for it; None where a number is none."""
    names = [name for name in McNemars.__dataclass_fields__ if name != "better"]
    columns = [getattr(tests, name).tolist() for name in names]
    return [
        {name: None if value != value else value for name, value in zip(names, row, strict=True)}
        for row in zip(*columns, strict=True)
    ]


def _groups(
    names: Sequence[str], pairs: Sequence[Pair], order: Sequence[int], plan: Plan
) -> tuple[list[list[str]], list[str]]:
    """Sets of algorithms that cannot be told apart, the best first."""
    alpha = 1 - plan.confidence
    distinct: np.ndarray[tuple[int, ...], np.dtype[np.bool_]] = distinct_matrix(
        len(names), [pair.a for pair in pairs], [pair.b for pair in pairs], [p.p_decisive <= alpha for p in pairs]
    )
    display = letter_display(distinct, order=list(order))
    return [[names[i] for i in group] for group in display.groups], list(display.letters)

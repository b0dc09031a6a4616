"""Compare: McNemar and replication for every pair, with what follows from them."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from harness.analysis.comparing.align import Aligned
from harness.analysis.comparing.comparison import Comparison, Pair, RunSummary, best_first
from harness.analysis.comparing.measured import Measured, measure
from harness.analysis.comparing.replicated import Replicated, with_holm
from harness.analysis.comparing.sampling import Sampling
from harness.analysis.comparing.statistics import Form
from harness.stats.clustering import intraclass_correlation, intraclass_of_differences
from harness.stats.cochran import WaldTest, cochran_q, equal_rates
from harness.stats.differences import paired_differences
from harness.stats.letters import distinct_matrix, letter_display
from harness.stats.multiplicity import holm
from harness.stats.paired import McNemars, PairTables, mcnemar_all, pairwise_tables
from harness.stats.rates import Interval, wilson
from harness.stats.replication.estimate import Estimate, replicate
from harness.stats.replication.intervals import t_interval, t_p_value
from harness.stats.replication.joint import JointRates, joint_rates
from harness.stats.replication.linearised import independent_variance
from harness.stats.replication.plan import Plan
from harness.stats.replication.statistic import difference, rate


def compare(
    aligned: Aligned, sampling: Sampling, plan: Plan, *, baseline: int | None = None, form: Form | None = None
) -> Comparison:
    """Compare all pairs, or one with all the others; by another statistic than the rate of success where one is given.

    McNemar's test is always about success.
    """
    tables = _chosen(pairwise_tables(aligned.success), baseline)
    replication = _replicated_pairs(aligned, sampling, plan, tables) if sampling.known else None
    pairs = _pairs(tables, replication, plan.confidence)
    runs = [_summary(aligned, sampling, plan, number) for number in range(len(aligned.names))]
    measured = None if form is None else measure(form, len(runs), sampling.sample, plan)
    if form is not None:
        pairs, runs = _beyond(pairs, runs, measured)
    better_first = form is None or form.larger_is_better
    groups, letters = _groups(aligned.names, runs, pairs, alpha=1 - plan.confidence, larger_is_better=better_first)
    votes = aligned.success.sum(axis=0)
    return Comparison(
        aligned=aligned,
        sampling=sampling,
        plan=plan,
        runs=runs,
        better=_better(aligned),
        cochran=cochran_q(aligned.success),
        wald=_wald(aligned, sampling, plan) if form is None else measured.wald() if measured else None,
        pairs=pairs,
        groups=groups,
        letters=letters,
        oracle=float((votes > 0).mean()),
        majority=float((2 * votes > len(runs)).mean()) if len(runs) > 2 else None,
        form=form,
        measured=measured,
    )


def _beyond(
    pairs: Sequence[Pair], runs: Sequence[RunSummary], measured: Measured | None
) -> tuple[list[Pair], list[RunSummary]]:
    """Pairs and runs with replication of another statistic."""
    own = [None if measured is None else measured.run(i) for i in range(len(runs))]
    found = [None if measured is None else measured.pair(pair.a, pair.b) for pair in pairs]
    adjusted = iter(with_holm([one for one in found if one is not None]))
    replications = [None if one is None else next(adjusted) for one in found]
    return (
        [replace(p, replication=one, beyond=True) for p, one in zip(pairs, replications, strict=True)],
        [replace(r, replication=o, value=o.estimate if o else None) for r, o in zip(runs, own, strict=True)],
    )


def _wald(aligned: Aligned, sampling: Sampling, plan: Plan) -> WaldTest | None:
    """Whether any two of three or more rates differ, as the design has it."""
    if not sampling.known or len(aligned.names) < 3:
        return None
    joint = joint_rates(sampling.sample, aligned.success.T, plan)
    return equal_rates(joint.estimates, joint.covariance, df=joint.df)


def _chosen(tables: PairTables, baseline: int | None) -> PairTables:
    if baseline is None:
        return tables
    keep = (tables.first == baseline) | (tables.second == baseline)
    return PairTables(*(getattr(tables, name)[keep] for name in PairTables.__dataclass_fields__))


def _better(aligned: Aligned) -> list[list[int | None]]:
    wins = aligned.success.astype(np.float64) @ (~aligned.success).astype(np.float64).T
    counts = np.rint(wins).astype(int).tolist()
    return [[None if i == j else count for j, count in enumerate(row)] for i, row in enumerate(counts)]


def _summary(aligned: Aligned, sampling: Sampling, plan: Plan, number: int) -> RunSummary:
    success = aligned.success[number]
    successes = int(success.sum())
    replication = None
    if sampling.known:
        found = replicate(sampling.sample, rate(success), plan)
        icc = intraclass_correlation(success, sampling.sample.unit_of_case).icc if sampling.psu else math.nan
        replication = _replicated(found, icc)
    interval = wilson(successes, aligned.n, confidence=plan.confidence)
    value = successes / aligned.n if replication is None else replication.estimate
    return RunSummary(aligned.names[number], successes / aligned.n, interval, replication, value)


def _replicated(found: Estimate, icc: float) -> Replicated:
    return Replicated(
        method=str(found.method),
        estimate=found.estimate,
        se=found.se,
        df=found.df,
        interval=found.interval,
        p_value=found.p_value,
        p_adjusted=None,
        design_effect=found.design_effect,
        icc=None if math.isnan(icc) else icc,
        replicates=found.replicates,
        groupings=found.groupings,
        fay=found.fay,
    )


def _replicated_pairs(aligned: Aligned, sampling: Sampling, plan: Plan, tables: PairTables) -> list[Replicated]:
    """Replication of every difference. One covariance serves all pairs: a difference of rates is linear in them."""
    sample = sampling.sample
    joint = joint_rates(sample, aligned.success.T, plan)
    iccs = intraclass_of_differences(aligned.success, sample.unit_of_case) if sampling.psu else None
    own = plan.df == "satterthwaite"
    found = []
    for i, j in zip(tables.first.tolist(), tables.second.tolist(), strict=True):
        variance = float(joint.covariance[i, i] + joint.covariance[j, j] - 2 * joint.covariance[i, j])
        icc = math.nan if iccs is None else float(iccs[i, j])
        if own or variance <= 1e-24:
            # No variance: there is no t interval, and `replicate` knows what can be said instead.
            estimate = replicate(sample, difference(aligned.success[i], aligned.success[j]), plan)
            found.append(_replicated(estimate, icc))
        else:
            found.append(_from_joint(aligned, sampling, plan, joint, (i, j, variance, icc)))
    return with_holm(found)


def _from_joint(
    aligned: Aligned, sampling: Sampling, plan: Plan, joint: JointRates, pair: tuple[int, int, float, float]
) -> Replicated:
    i, j, variance, icc = pair
    estimate, se = float(joint.estimates[i] - joint.estimates[j]), math.sqrt(variance)
    independent = _independent(aligned, sampling, i, j)
    return Replicated(
        method=str(joint.method),
        estimate=estimate,
        se=se,
        df=joint.df,
        interval=t_interval(estimate, se, joint.df, bounds=(-1.0, 1.0), confidence=plan.confidence),
        p_value=t_p_value(estimate, se, joint.df),
        p_adjusted=None,
        design_effect=variance / independent if independent > 0 else None,
        icc=None if math.isnan(icc) else icc,
        replicates=joint.replicates,
        groupings=joint.groupings,
        fay=plan.fay or 0.0,
    )


def _independent(aligned: Aligned, sampling: Sampling, i: int, j: int) -> float:
    """The variance of the difference if all cases were independent."""
    if sampling.weights != "cases":
        return independent_variance(sampling.sample, difference(aligned.success[i], aligned.success[j]))
    n = aligned.n
    discordant = int((aligned.success[i] != aligned.success[j]).sum())
    gap = (int(aligned.success[i].sum()) - int(aligned.success[j].sum())) / n
    return (discordant / n - gap * gap) / (n - 1) if n > 1 else 0.0


def _pairs(tables: PairTables, replication: list[Replicated] | None, confidence: float) -> list[Pair]:
    effects = np.array([_effect(one) for one in replication]) if replication is not None else np.ones(len(tables))
    tests = mcnemar_all(tables.n_sf, tables.n_fs, design_effect=effects)
    estimates, intervals = paired_differences(tables, confidence=confidence)
    adjusted = holm(tests.p_exact)
    return [
        Pair(
            a=int(tables.first[k]),
            b=int(tables.second[k]),
            n_ff=int(tables.n_ff[k]),
            n_sf=int(tables.n_sf[k]),
            n_fs=int(tables.n_fs[k]),
            n_ss=int(tables.n_ss[k]),
            p_adjusted=float(adjusted[k]),
            difference=float(estimates[k]),
            interval=Interval(float(intervals.low[k]), float(intervals.high[k])),
            replication=None if replication is None else replication[k],
            **_of_tests(tests, k),
        )
        for k in range(len(tables))
    ]


def _effect(found: Replicated) -> float:
    """A design effect that McNemar's z can be divided by; 1 where none is known."""
    return found.design_effect if found.design_effect else 1.0


def _of_tests(tests: McNemars, k: int) -> dict[str, Any]:
    values = {name: getattr(tests, name)[k].item() for name in McNemars.__dataclass_fields__ if name != "better"}
    return {name: None if isinstance(v, float) and math.isnan(v) else v for name, v in values.items()}


def _groups(
    names: Sequence[str], runs: Sequence[RunSummary], pairs: Sequence[Pair], *, alpha: float, larger_is_better: bool
) -> tuple[list[list[str]], list[str]]:
    """Sets of algorithms that cannot be told apart, the best first."""
    distinct: np.ndarray[tuple[int, ...], np.dtype[np.bool_]] = distinct_matrix(
        len(names), [pair.a for pair in pairs], [pair.b for pair in pairs], [p.p_decisive <= alpha for p in pairs]
    )
    display = letter_display(distinct, order=best_first(runs, larger_is_better=larger_is_better))
    return [[names[i] for i in group] for group in display.groups], list(display.letters)

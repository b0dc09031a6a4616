"""Compare: McNemar and replication for every pair, with what follows from them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from harness.analysis.comparing.align import Aligned, FloatArray
from harness.analysis.comparing.replicated import Replicated, with_holm
from harness.analysis.comparing.sampling import Sampling
from harness.stats.clustering import intraclass_correlation, intraclass_of_differences
from harness.stats.cochran import CochranQ, WaldTest, cochran_q, equal_rates
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


@dataclass(frozen=True)
class RunSummary:
    """One algorithm by itself."""

    name: str
    rate: float
    interval: Interval
    replication: Replicated | None


@dataclass(frozen=True)
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
    replication: Replicated | None

    @property
    def better(self) -> int | None:
        """The one with more successes where the other failed; None on a tie."""
        return None if self.n_sf == self.n_fs else self.a if self.n_sf > self.n_fs else self.b

    @property
    def p_decisive(self) -> float:
        """The p-value that a verdict rests on: replication's where there is a design, corrected for many pairs."""
        adjusted = self.replication.p_adjusted if self.replication is not None else self.p_adjusted
        return self.p_adjusted if adjusted is None else adjusted


@dataclass(frozen=True)
class Comparison:
    """Everything that was found."""

    aligned: Aligned
    sampling: Sampling
    plan: Plan
    runs: list[RunSummary]
    better: list[list[int | None]]
    cochran: CochranQ
    wald: WaldTest | None
    pairs: list[Pair]
    groups: list[list[str]]
    letters: list[str]
    oracle: float
    majority: float | None = None
    notes: list[str] = field(default_factory=list)

    @property
    def alpha(self) -> float:
        """The error that is allowed."""
        return 1 - self.plan.confidence


def compare(aligned: Aligned, sampling: Sampling, plan: Plan, *, baseline: int | None = None) -> Comparison:
    """Compare all pairs, or one with all the others."""
    tables = _chosen(pairwise_tables(aligned.success), baseline)
    replication = _replicated_pairs(aligned, sampling, plan, tables) if sampling.known else None
    pairs = _pairs(tables, replication, plan.confidence)
    runs = [_summary(aligned, sampling, plan, number) for number in range(len(aligned.names))]
    groups, letters = _groups(aligned, pairs, 1 - plan.confidence)
    joint = joint_rates(sampling.sample, aligned.success.T, plan) if sampling.known and len(runs) > 2 else None
    votes = aligned.success.sum(axis=0)
    return Comparison(
        aligned=aligned,
        sampling=sampling,
        plan=plan,
        runs=runs,
        better=_better(aligned),
        cochran=cochran_q(aligned.success),
        wald=None if joint is None else equal_rates(joint.estimates, joint.covariance, df=joint.df),
        pairs=pairs,
        groups=groups,
        letters=letters,
        oracle=float((votes > 0).mean()),
        majority=float((2 * votes > len(runs)).mean()) if len(runs) > 2 else None,
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


def _summary(aligned: Aligned, sampling: Sampling, plan: Plan, number: int) -> RunSummary:
    success = aligned.success[number]
    successes = int(success.sum())
    replication = None
    if sampling.known:
        found = replicate(sampling.sample, rate(success), plan)
        icc = intraclass_correlation(success, sampling.sample.unit_of_case).icc if sampling.psu else math.nan
        replication = _replicated(found, icc)
    interval = wilson(successes, aligned.n, confidence=plan.confidence)
    return RunSummary(aligned.names[number], successes / aligned.n, interval, replication)


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


def _groups(aligned: Aligned, pairs: Sequence[Pair], alpha: float) -> tuple[list[list[str]], list[str]]:
    """Sets of algorithms that cannot be told apart, the best first."""
    m = len(aligned.names)
    distinct: np.ndarray[tuple[int, ...], np.dtype[np.bool_]] = distinct_matrix(
        m, [pair.a for pair in pairs], [pair.b for pair in pairs], [pair.p_decisive <= alpha for pair in pairs]
    )
    rates: FloatArray = aligned.success.mean(axis=1)
    display = letter_display(distinct, order=np.argsort(-rates, kind="stable").tolist())
    return [[aligned.names[i] for i in group] for group in display.groups], list(display.letters)

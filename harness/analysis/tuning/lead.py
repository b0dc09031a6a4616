"""The winner and the default on the same cases: how sure each figure is, and whether the lead is more than noise."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from harness.analysis.deciding import Answers
from harness.analysis.tuning.goals import Goal, Kind, curve_cases
from harness.params import Value
from harness.stats.best_of import best_of
from harness.stats.curves.influence import influence
from harness.stats.paired import Table, mcnemar
from harness.stats.rates import Interval, wilson
from harness.stats.replication.intervals import t_interval, t_p_value
from harness.stats.replication.linearised import stratum_variances
from harness.stats.replication.sample import Sample, unit_sums

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
ALPHA = 0.05
# Numbers (units x candidates) beyond which the choice among many is allowed for by Bonferroni instead.
MOST = 50_000_000


@dataclass(frozen=True)
class Candidate:
    """The answers of a setting on all cases, and the value of the decision parameter that is applied to them."""

    answers: Answers
    value: Value

    @property
    def positive(self) -> BoolArray:
        """Which cases are positive."""
        return np.asarray(self.answers.positive, dtype=np.bool_)

    @property
    def accepted(self) -> BoolArray:
        """Which answers are accepted."""
        limit, value = np.asarray(self.answers.limit, dtype=np.float64), float(self.value)
        return np.asarray(limit >= value if self.answers.falling else limit <= value)

    @property
    def success(self) -> BoolArray:
        """TP or TN."""
        return np.asarray(self.accepted == self.positive)


@dataclass(frozen=True)
class Figure:
    """What a setting comes to by the goal, with a Student-t interval at 95 %."""

    estimate: float
    se: float
    df: float
    interval: Interval


@dataclass(frozen=True)
class Discordant:
    """Cases on which exactly one of the two succeeded, and McNemar's exact p."""

    winner: int
    default: int
    p_exact: float


@dataclass(frozen=True)
class Lead:
    """How much better the winner is, in the goal's own unit; `p_value` as if the two had been chosen beforehand.

    `p_chosen` allows for the winner being the best of so many candidates on these very cases.
    """

    estimate: float
    se: float
    interval: Interval
    p_value: float
    p_chosen: float
    candidates: int
    discordant: Discordant | None

    @property
    def within_noise(self) -> bool:
        """Whether it could be luck."""
        return self.p_chosen > ALPHA


def figure(goal: Goal, candidate: Candidate, sample: Sample) -> Figure:
    """A setting by itself."""
    estimate, values = _linear(goal, candidate)
    se, df = _se(sample, values), float(sample.units - sample.strata)
    top = max(goal.fp, goal.fn) if goal.kind is Kind.COST else 1.0
    if se > 0 and df > 0:
        interval = t_interval(estimate, se, df, bounds=(0.0, top), confidence=1 - ALPHA)
    else:
        share = wilson(estimate / top * sample.units, sample.units)
        interval = Interval(share.low * top, share.high * top)
    return Figure(estimate, se, df, interval)


def lead(goal: Goal, candidates: Sequence[Candidate], winner: int, default: Candidate, sample: Sample) -> Lead:
    """The winner less the default, where more is better, else the default less the winner."""
    sign = 1.0 if goal.maximised else -1.0
    base, own = _linear(goal, default), _linear(goal, candidates[winner])
    gap, values = sign * (own[0] - base[0]), sign * (own[1] - base[1])
    se, df = _se(sample, values), float(sample.units - sample.strata)
    top = max(goal.fp, goal.fn) if goal.kind is Kind.COST else 1.0
    if se > 0 and df > 0:
        interval, p = t_interval(gap, se, df, bounds=(-top, top), confidence=1 - ALPHA), t_p_value(gap, se, df)
    else:
        interval, p = Interval(-top, top), 1.0
    return Lead(
        estimate=gap,
        se=se,
        interval=interval,
        p_value=p,
        p_chosen=_chosen(goal, candidates, winner, base, sample) if gap > 0 and se > 0 else 1.0,
        candidates=len(candidates),
        discordant=_discordant(candidates[winner], default) if goal.kind is Kind.RATE else None,
    )


def _se(sample: Sample, values: FloatArray) -> float:
    se = float(np.sqrt(stratum_variances(sample, unit_sums(sample, values)).sum()))
    return se if se > 1e-12 else 0.0


def _chosen(
    goal: Goal, candidates: Sequence[Candidate], winner: int, base: tuple[float, FloatArray], sample: Sample
) -> float:
    """How often the best of these would lead as clearly by luck alone."""
    sign = 1.0 if goal.maximised else -1.0
    kept = range(len(candidates)) if sample.units * len(candidates) <= MOST else [winner]
    columns = []
    for number in kept:
        estimate, values = _linear(goal, candidates[number])
        # What each unit adds to the lead; their sum is the lead itself.
        columns.append(sign * (unit_sums(sample, values - base[1]) + (estimate - base[0]) / sample.units))
    place = list(kept).index(winner)
    found = best_of(np.stack(columns, axis=1), rng=np.random.default_rng(0), best=place)
    return min(1.0, found.p_value * (len(candidates) / len(columns)))


def _discordant(winner: Candidate, default: Candidate) -> Discordant:
    table = Table.of(winner.success, default.success)
    return Discordant(table.n_sf, table.n_fs, mcnemar(table).p_exact)


def _linear(goal: Goal, candidate: Candidate) -> tuple[float, FloatArray]:
    """The goal, and what each case adds to it to first order, which sums to 0: the way to its variance."""
    if goal.of_curve:
        cases = curve_cases(candidate.answers)
        found = influence(goal.kind.value, cases)
        positives = int(cases.positive.sum())
        sizes = np.where(cases.positive, positives, len(cases.positive) - positives)
        return found.estimate, np.asarray(found.deviations / sizes)
    accepted, positive = candidate.accepted, candidate.positive
    if goal.kind is Kind.F1:
        return _linear_f1(accepted, positive)
    if goal.kind is Kind.COST:
        losses = goal.fp * (accepted & ~positive) + goal.fn * (~accepted & positive)
    else:
        losses = (accepted == positive).astype(np.float64)
    mean = float(losses.mean())
    return mean, np.asarray((losses - mean) / len(losses))


def _linear_f1(accepted: BoolArray, positive: BoolArray) -> tuple[float, FloatArray]:
    """2 TP / (2 TP + FP + FN) and its derivative along each case."""
    right, wrong = accepted & positive, accepted != positive
    below = 2 * int(right.sum()) + int(wrong.sum())
    if not below:
        return 0.0, np.zeros(len(positive))
    f1 = 2 * int(right.sum()) / below
    return f1, np.asarray((2 * (1 - f1) * right - f1 * wrong) / below)

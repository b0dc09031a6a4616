"""The winner and the default on the same cases: how sure each figure is, and whether the lead is more than noise."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from harness.analysis.deciding import Answers
from harness.analysis.tuning.goals import Goal, curve_cases
from harness.model import Outcome
from harness.params import Value
from harness.stats.best_of import best_of
from harness.stats.curves.cases import Cases
from harness.stats.estimate import Estimate
from harness.stats.paired import Table, mcnemar
from harness.stats.replication.estimates import Estimates, make_estimates
from harness.stats.replication.plan import Method, Plan
from harness.stats.replication.sample import Sample
from harness.stats.replication.statistic import influences

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
ALPHA = 0.05
# Numbers (cases x candidates) beyond which the choice among many is allowed for by Bonferroni instead.
MOST = 50_000_000
_CODES = {outcome: code for code, outcome in enumerate(Outcome)}


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
class Candidates:
    """Candidates as runs that measures can be taken of."""

    candidates: Sequence[Candidate]
    names: list[str] = field(default_factory=list)

    @property
    def positive(self) -> BoolArray:
        """Which cases are positive."""
        return self.candidates[0].positive

    @property
    def outcome(self) -> npt.NDArray[np.int8]:
        """Places among the outcomes, (m, n)."""
        accepted, positive = np.stack([one.accepted for one in self.candidates]), self.positive
        of_positive = np.where(accepted, _CODES[Outcome.TP], _CODES[Outcome.FN])
        of_negative = np.where(accepted, _CODES[Outcome.FP], _CODES[Outcome.TN])
        return np.where(positive, of_positive, of_negative).astype(np.int8)

    def curve_cases(self) -> list[Cases]:
        """The answers as a curve takes them."""
        return [curve_cases(one.answers) for one in self.candidates]

    @property
    def seconds(self) -> FloatArray:
        """Not looked at when tuning."""
        return np.full((len(self.candidates), self.positive.size), np.nan)

    memory = ranks = seconds

    def value(self, name: str) -> FloatArray:
        """Not looked at when tuning."""
        return self.seconds


@dataclass(frozen=True)
class Discordant:
    """Cases on which exactly one of the two succeeded, and McNemar's exact p."""

    winner: int
    default: int
    p_exact: float


@dataclass(frozen=True)
class Lead:
    """How much better the winner is, in the goal's own unit; its p-value is as if the two had been chosen beforehand.

    `p_chosen` allows for the winner being the best of so many candidates on these very cases.
    """

    estimate: Estimate
    p_chosen: float
    candidates: int
    discordant: Discordant | None

    @property
    def within_noise(self) -> bool:
        """Whether it could be luck."""
        return self.p_chosen > ALPHA


@dataclass(frozen=True)
class Standing:
    """The winner and the default by themselves, and the lead of the one over the other."""

    winner: Estimate
    default: Estimate
    lead: Lead


def standing(goal: Goal, candidates: Sequence[Candidate], winner: int, default: int, sample: Sample) -> Standing:
    """Compare the winner with the default: the winner less the default, or the other way where less is better."""
    both = _estimates(goal, [candidates[winner], candidates[default]], sample)
    ahead = both.difference(0, 1) if goal.maximised else both.difference(1, 0)
    luck = _p_chosen(goal, candidates, winner, default, sample) if ahead.value > 0 and ahead.se > 0 else 1.0
    # The choice is tested to one side, the lead to both: allowing for a choice never makes it surer.
    luck = max(luck, ahead.p_value or 0.0)
    rate = goal.name == "rate"
    lead = Lead(ahead, luck, len(candidates), _discordant(candidates[winner], candidates[default]) if rate else None)
    return Standing(both.one(0), both.one(1), lead)


def _estimates(goal: Goal, candidates: Sequence[Candidate], sample: Sample) -> Estimates:
    runs = Candidates(candidates)
    statistic = goal.measure.statistic(runs, [(number, None) for number in range(len(candidates))])
    return make_estimates(sample, statistic, Plan(method=Method.LINEARISED))


def _p_chosen(goal: Goal, candidates: Sequence[Candidate], winner: int, default: int, sample: Sample) -> float:
    """How often the best of these would lead as clearly by luck alone."""
    sign = 1.0 if goal.maximised else -1.0
    many = sample.cases * len(candidates) <= MOST
    kept = list(range(len(candidates))) if many else [winner]
    columns = []
    for start in range(0, len(kept), 32):
        part = [candidates[number] for number in kept[start : start + 32]]
        runs = Candidates([*part, candidates[default]])
        statistic = goal.measure.statistic(runs, [(number, None) for number in range(len(part) + 1)])
        units, values = (
            influences(sample, statistic),
            make_estimates(sample, statistic, Plan(method="linearised")).values,
        )
        if units is None:
            return 1.0
        # What each unit adds to the lead; their sum is the lead itself.
        columns.append(sign * (units[:, :-1] - units[:, -1:] + (values[:-1] - values[-1]) / sample.units))
    found = best_of(np.hstack(columns), rng=np.random.default_rng(0), best=kept.index(winner))
    return min(1.0, found.p_value * (len(candidates) / len(kept)))


def _discordant(winner: Candidate, default: Candidate) -> Discordant:
    table = Table.of(winner.success, default.success)
    return Discordant(table.n_sf, table.n_fs, mcnemar(table).p_exact)

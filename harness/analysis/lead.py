"""What a setting is tuned for, and whether the winner's lead over the default is more than noise."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from harness.analysis.decisions import AnswerLimits
from harness.analysis.sampling import estimate_json
from harness.errors import TranscriptError, UsageError
from harness.measures import Measure, Reads, find_measure, goals, is_goal
from harness.model import Counts, Outcome
from harness.params import Value
from harness.stats.arrays import BoolArray, FloatArray, IntArray
from harness.stats.attempts import Attempts
from harness.stats.curves.scores import ScoredCases, counts_of, make_scored_cases
from harness.stats.curves.summaries import SUMMARIES
from harness.stats.estimate import Estimate
from harness.stats.paired import PairTable, mcnemar
from harness.stats.replication.estimates import Estimates, make_estimates
from harness.stats.replication.evaluation import full_values
from harness.stats.replication.linearised import influences
from harness.stats.replication.method import Method, Replication
from harness.stats.replication.sample import Sample
from harness.stats.sign_flip import best_of
from harness.tasks import Task


@dataclass(frozen=True)
class Goal:
    """The measure that settings are tuned for."""

    measure: Measure

    @property
    def name(self) -> str:
        """As on the command line."""
        return self.measure.name

    @property
    def maximised(self) -> bool:
        """Whether larger is better."""
        return self.measure.larger_is_better is not False

    @property
    def of_curve(self) -> bool:
        """Whether it covers all thresholds at once, so that no threshold can be tuned for it."""
        return self.measure.reads is Reads.SCORE

    def better(self, value: float, other: float) -> bool:
        """Whether one value is better than another."""
        return self.measure.better(value, other)

    def of_counts(self, counts: Counts) -> float:
        """From the counts at one threshold; the worst possible value if they have none."""
        formula = self.measure.of_totals
        if formula is None:
            raise UsageError(f"--goal {self.name}: cannot be computed from the counts at a threshold")
        totals = np.array([counts.TP, counts.FN, counts.FP, counts.TN], dtype=np.float64)
        with np.errstate(divide="ignore", invalid="ignore"):
            value = float(formula(totals))
        return value if np.isfinite(value) else self.measure.bounds[0 if self.maximised else 1]

    def of_scores(self, answers: AnswerLimits) -> float:
        """From all thresholds."""
        counts = counts_of(curve_cases(answers))
        return SUMMARIES[self.name].of_totals(counts.tp, counts.fp)


def parse_goal(text: str, option: str = "--goal", task: Task | None = None) -> Goal:
    """A measure by name, as the task means it, that recorded answers give: rate, f1, auc, eer, or cost:fp=10,fn=1."""
    meanings = {} if task is None else task.measure_names
    measure = find_measure(text, option=option, meanings=meanings)
    # Of pixels and objects, a sweep keeps only how well each image was done as a whole.
    of_elements = task is not None and type(task).elements is not Task.elements

    def is_known(one: Measure) -> bool:
        return is_goal(one) and not (of_elements and one.reads is Reads.SCORE)

    if not is_known(measure):
        why = "not a goal" if option == "--goal" else "recorded answers alone do not give it"
        known = ", ".join(name for name in goals() if name not in meanings and is_known(find_measure(name)))
        raise UsageError(f"{option} {text}: {why}; choose from {known}, or cost:fp=10,fn=1")
    return Goal(measure)


def curve_cases(answers: AnswerLimits) -> ScoredCases:
    """The answers as a curve uses them; a TranscriptError if no curve can be made of them."""
    if answers.unscored:
        text = f"{answers.unscored:,} answers without a score: auc and eer need one; let the interface answer "
        raise TranscriptError(f"{text}(label, score), or tune for rate, f1 or cost")
    if all(answers.positive) or not any(answers.positive):
        raise TranscriptError("auc and eer need positive and negative cases; tune for rate, f1 or cost")
    return make_scored_cases(
        np.asarray(answers.limit), np.asarray(answers.positive, np.bool_), larger_is_better=answers.falling
    )


ALPHA = 0.05
# Candidates that are estimated at a time.
BLOCK = 16
# With more numbers (cases x candidates), Bonferroni allows for the choice among many.
MOST = 50_000_000
_CODES = {outcome: code for code, outcome in enumerate(Outcome)}


@dataclass(frozen=True)
class Candidate:
    """The answers of a setting on all cases, and the value of the decision parameter that is applied to them."""

    answers: AnswerLimits
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
    """Candidates as runs that measures can be computed from."""

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

    def curve_cases(self) -> list[ScoredCases]:
        """The answers as a curve uses them."""
        return [curve_cases(one.answers) for one in self.candidates]

    @property
    def seconds(self) -> FloatArray:
        """Not used in tuning."""
        return np.full((len(self.candidates), self.positive.size), np.nan)

    memory = ranks = seconds

    def value(self, name: str) -> FloatArray:
        """Not used in tuning."""
        return self.seconds

    @property
    def params(self) -> list[Mapping[str, Any]]:
        """Not used in tuning."""
        return [{} for _ in self.candidates]

    def errors(self) -> FloatArray:
        """Not used in tuning."""
        return self.seconds

    def elements(self) -> None:
        """Not used in tuning."""

    def attempts(self) -> tuple[list[Attempts], IntArray]:
        """Not used in tuning."""
        return [], np.arange(self.positive.size)

    def detail(self, name: str) -> list[list[Any]]:
        """Not used in tuning."""
        return [[None] * self.positive.size for _ in self.candidates]


@dataclass(frozen=True)
class DiscordantCases:
    """Cases on which exactly one of the two succeeded, and McNemar's exact p."""

    winner: int
    default: int
    p_exact: float


@dataclass(frozen=True)
class Lead:
    """How much better the winner is, in the goal's own unit; its p-value takes the two as chosen beforehand.

    `p_chosen` allows for the winner being the best of all candidates on these same cases.
    """

    estimate: Estimate
    p_chosen: float
    candidates: int
    discordant: DiscordantCases | None

    @property
    def within_noise(self) -> bool:
        """Whether it could be luck."""
        return self.p_chosen > ALPHA


@dataclass(frozen=True)
class WinnerComparison:
    """The winner and the default by themselves, and the winner's lead."""

    winner: Estimate
    default: Estimate
    lead: Lead


def compare_winner(
    goal: Goal, candidates: Sequence[Candidate], winner: int, default: int, sample: Sample
) -> WinnerComparison:
    """Compare the winner with the default; a lead is positive, also for a goal that is minimised."""
    both = _estimates(goal, [candidates[winner], candidates[default]], sample)
    ahead = both.difference(0, 1) if goal.maximised else both.difference(1, 0)
    luck = _p_chosen(goal, candidates, winner, default, sample) if ahead.value > 0 and ahead.se > 0 else 1.0
    # The choice has a one-sided test, the lead a two-sided one: allowing for a choice must not lower the p-value.
    luck = max(luck, ahead.p_value or 0.0)
    rate = goal.name == "rate"
    lead = Lead(ahead, luck, len(candidates), _discordant(candidates[winner], candidates[default]) if rate else None)
    return WinnerComparison(both.one(0), both.one(1), lead)


def _estimates(goal: Goal, candidates: Sequence[Candidate], sample: Sample) -> Estimates:
    runs = Candidates(candidates)
    statistic = goal.measure.statistic(runs, [(number, None) for number in range(len(candidates))])
    return make_estimates(sample, statistic, Replication(method=Method.LINEARISED))


def estimate_candidates(measure: Measure, candidates: Sequence[Candidate], sample: Sample) -> list[Estimate | None]:
    """The measure of each candidate by itself; None if one has no value, such as the precision of no answers."""
    found: list[Estimate | None] = []
    for start in range(0, len(candidates), BLOCK):
        runs = Candidates(candidates[start : start + BLOCK])
        cells: list[tuple[int, BoolArray | None]] = [(number, None) for number in range(len(runs.candidates))]
        with np.errstate(divide="ignore", invalid="ignore"):
            values = full_values(sample, measure.statistic(runs, cells))
        known = np.flatnonzero(np.isfinite(values)).tolist()
        if known:
            estimates = make_estimates(sample, measure.statistic(runs, [cells[number] for number in known]))
        places = {number: place for place, number in enumerate(known)}
        found += [estimates.one(places[number]) if number in places else None for number, _ in cells]
    return found


def _p_chosen(goal: Goal, candidates: Sequence[Candidate], winner: int, default: int, sample: Sample) -> float:
    """How often the best candidate would lead as clearly by luck alone."""
    sign = 1.0 if goal.maximised else -1.0
    many = sample.cases * len(candidates) <= MOST
    numbers = list(range(len(candidates))) if many else [winner]
    columns = []
    for start in range(0, len(numbers), 32):
        part = [candidates[number] for number in numbers[start : start + 32]]
        runs = Candidates([*part, candidates[default]])
        statistic = goal.measure.statistic(runs, [(number, None) for number in range(len(part) + 1)])
        units, values = (
            influences(sample, statistic),
            make_estimates(sample, statistic, Replication(method="linearised")).values,
        )
        if units is None:
            return 1.0
        # What each unit adds to the lead; their sum is the lead itself.
        columns.append(sign * (units[:, :-1] - units[:, -1:] + (values[:-1] - values[-1]) / sample.units))
    best = best_of(np.hstack(columns), rng=np.random.default_rng(0), best=numbers.index(winner))
    return min(1.0, best.p_value * (len(candidates) / len(numbers)))


def _discordant(winner: Candidate, default: Candidate) -> DiscordantCases:
    table = PairTable.of(winner.success, default.success)
    return DiscordantCases(table.n_sf, table.n_fs, mcnemar(table).p_exact)


def lead_json(lead: Lead) -> dict[str, Any]:
    """The JSON that the documentation promises."""
    cases = lead.discordant
    return {
        **estimate_json(lead.estimate, "se", "interval", "p_value"),
        "p_chosen": lead.p_chosen,
        "candidates": lead.candidates,
        "n_sf": None if cases is None else cases.winner,
        "n_fs": None if cases is None else cases.default,
        "p_exact": None if cases is None else cases.p_exact,
        "within_noise": lead.within_noise,
    }

"""Tuning: the optimiser that chooses settings, the settings that were tried, and whether the best of them is better."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from harness.analysis.cells import Measurement
from harness.analysis.decisions import Setting
from harness.analysis.sampling import Sampling, take_sample
from harness.analysis.settings import blocks, can_have, measure_of_settings
from harness.errors import MissingExtra, UsageError
from harness.measures import Measure, Reads, find_measure, is_goal, known_measures
from harness.options import DesignOptions
from harness.stats.arrays import FloatArray
from harness.stats.estimate import Estimate
from harness.stats.paired import PairTable, mcnemar
from harness.stats.replication.linearised import influences
from harness.stats.replication.method import Method, Replication
from harness.stats.replication.sample import Sample
from harness.stats.replication.statistic import WeightsStatistic, full_values
from harness.stats.sign_flip import best_of
from harness.tasks import Task

if TYPE_CHECKING:
    from optuna import Study
    from optuna.distributions import BaseDistribution
    from optuna.trial import Trial

ALPHA = 0.05
# With more numbers (cases x candidates), Bonferroni allows for the choice among many.
MAX_NUMBERS = 50_000_000


def parse_goal(text: str, task: Task) -> Measure:
    """What settings of this task are tuned for: rate, f1, auc, iou, or cost:fp=10,fn=1."""
    measure = measure_of_settings(text, "--goal", task)
    if not is_goal(measure):
        meant = [name for name, goal in known_measures().items() if is_goal(goal) and name not in task.measure_names]
        known = ", ".join(name for name in meant if can_have(task, find_measure(name)))
        raise UsageError(f"--goal {text}: not a goal; choose from {known}, or cost:fp=10,fn=1")
    return measure


def is_of_curve(goal: Measure) -> bool:
    """Whether it covers all thresholds at once, so that no threshold can be tuned for it."""
    return goal.reads is Reads.SCORE


# For each parameter, which of its values.
GridPoint = tuple[int, ...]


@dataclass(frozen=True)
class SearchDimension:
    """A parameter's values by number; `ordered` if neighbouring values are similar, as numbers are."""

    name: str
    count: int
    ordered: bool


class Optimiser:
    """Proposes settings of a grid, by the numbers of their values, and learns from their results."""

    def __init__(
        self, choices: Sequence[SearchDimension], *, maximise: bool, seed: int, first: GridPoint | None = None
    ) -> None:
        try:
            import optuna
        except ImportError:
            raise MissingExtra("an optimiser needs Optuna: pip install 'hate-harness[tune]'") from None
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self._choices = choices
        sampler = optuna.samplers.TPESampler(seed=seed, n_startup_trials=max(5, 2 * len(choices)))
        self._study: Study = optuna.create_study(direction="maximize" if maximise else "minimize", sampler=sampler)
        self._distributions: dict[str, BaseDistribution] = {
            choice.name: optuna.distributions.IntDistribution(0, choice.count - 1)
            if choice.ordered
            else optuna.distributions.CategoricalDistribution(tuple(range(choice.count)))
            for choice in choices
        }
        if first is not None:
            self._study.enqueue_trial(dict(zip((choice.name for choice in choices), first, strict=True)))
        self._trial: Trial | None = None

    def ask(self) -> GridPoint:
        """The next setting to try; it may have been tried before."""
        self._trial = self._study.ask(self._distributions)
        return tuple(int(self._trial.params[choice.name]) for choice in self._choices)

    def tell(self, value: float) -> None:
        """Report the value of the last proposed setting."""
        if self._trial is not None:
            self._study.tell(self._trial, value)


@dataclass(frozen=True, eq=False)
class Lead:
    """The winner, the default, and how much better the winner is in the unit of the goal.

    Its p-value takes the two as chosen beforehand; `p_chosen` allows for the winner being the best of all candidates on
    these same cases. For the rate: on how many cases only the winner succeeded (`n_sf`) and only the default (`n_fs`),
    with McNemar's exact p.
    """

    winner: Estimate
    default: Estimate
    estimate: Estimate
    p_chosen: float
    candidates: int
    n_sf: int | None = None
    n_fs: int | None = None
    p_exact: float | None = None

    @property
    def within_noise(self) -> bool:
        """Whether it could be luck."""
        return self.p_chosen > ALPHA


@dataclass(frozen=True, eq=False)
class Tuning:
    """What tuning found: settings with their values; `ranking` has the numbers of both, the best first."""

    goal: Measure
    settings: Sequence[Setting]
    values: Sequence[float]
    ranking: Sequence[int]
    default: int
    lead: Lead
    sampling: Sampling

    @property
    def winner(self) -> Setting:
        return self.settings[self.ranking[0]]

    @property
    def default_wins(self) -> bool:
        """Whether nothing tried is better than the default."""
        return self.ranking[0] == self.default


def goal_values(goal: Measure, settings: Sequence[Setting]) -> list[float]:
    """The goal of each setting; the worst possible value if one has none."""
    result, worst = [0.0] * len(settings), goal.bounds[0 if goal.larger_is_better else 1]
    for numbers, runs in blocks(settings):
        try:
            values = Measurement(goal, runs, take_sample(runs, DesignOptions()), Replication()).values()
        except UsageError as error:
            raise UsageError(str(error).replace("--statistic", "--goal", 1)) from None
        for number, value in zip(numbers, values.tolist(), strict=True):
            result[number] = value if np.isfinite(value) else worst
    return result


def rank_settings(goal: Measure, tried: Sequence[Setting], values: Sequence[float], default: int) -> Tuning:
    """Rank what was tried and compare the best with the default.

    Among equals, the default or the one tried first; among equal thresholds, the middle one.
    """
    sign = -1.0 if goal.larger_is_better else 1.0
    ranking = sorted(range(len(tried)), key=lambda number: (sign * values[number], number != default, number))
    best = ranking[0]
    if best != default:
        equal = [number for number in ranking if values[number] == values[best]]
        same_run = [number for number in equal if tried[number].answers is tried[best].answers]
        middle = same_run[(len(same_run) - 1) // 2]
        ranking.remove(middle)
        ranking.insert(0, middle)
    lead, sampling = compare_winner(goal, tried, ranking[0], default)
    return Tuning(goal, tried, values, ranking, default, lead, sampling)


def compare_winner(goal: Measure, candidates: Sequence[Setting], winner: int, default: int) -> tuple[Lead, Sampling]:
    """Compare the winner with the default; a lead is positive, also for a goal that is minimised."""
    [(_, runs)] = blocks([candidates[winner]], beside=[candidates[default]])
    sampling, statistic = take_sample(runs, DesignOptions()), goal.statistic(runs, [(0, None)])
    has_linear_form = not isinstance(statistic, WeightsStatistic) or statistic.linear is not None
    replication = Replication(method=Method.LINEARISED) if has_linear_form else Replication()
    cells = Measurement(goal, runs, sampling, replication).runs()
    ours, theirs = cells.estimate(0), cells.estimate(1)
    ahead = cells.difference(*((0, 1) if goal.larger_is_better else (1, 0)))
    if ours is None or theirs is None or ahead is None:
        raise UsageError(f"--goal: {goal.absence(runs.names[:1])}")
    p_value = ahead.p_value or 0.0
    luck = _p_chosen(goal, candidates, winner, default, sampling.sample) if ahead.value > 0 and ahead.se > 0 else 1.0
    # Without a linear form, Bonferroni allows for the choice.
    luck = min(1.0, p_value * len(candidates)) if luck is None else luck
    table = PairTable.of(runs.success[0], runs.success[1])
    of_rate = (table.n_sf, table.n_fs, mcnemar(table).p_exact) if goal.name == "rate" else (None, None, None)
    # The choice has a one-sided test, the lead a two-sided one: allowing for a choice must not lower the p-value.
    return Lead(ours, theirs, ahead, max(luck, p_value), len(candidates), *of_rate), sampling


def _p_chosen(goal: Measure, candidates: Sequence[Setting], winner: int, default: int, sample: Sample) -> float | None:
    """How often the best candidate would lead as clearly by luck alone; None if the goal has no linear form."""
    sign = 1.0 if goal.larger_is_better else -1.0
    all_at_once = sample.cases * len(candidates) <= MAX_NUMBERS
    numbers = list(range(len(candidates))) if all_at_once else [winner]
    leads: dict[int, FloatArray] = {}
    for block, runs in blocks([candidates[number] for number in numbers], beside=[candidates[default]]):
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            values = full_values(sample, goal.statistic(runs, [(run, None) for run in range(len(runs.names))]))
        # A candidate without a value leads by nothing.
        known = np.flatnonzero(np.isfinite(values)).tolist()
        units = influences(sample, goal.statistic(runs, [(run, None) for run in known]))
        if units is None:
            return None
        # What each unit adds to the lead; their sum is the lead itself.
        for column, run in enumerate(known[:-1]):
            lead = units[:, column] - units[:, -1] + (values[run] - values[-1]) / sample.units
            leads[numbers[block[run]]] = sign * lead
    best = best_of(np.stack([*leads.values()], axis=1), rng=np.random.default_rng(0), best=list(leads).index(winner))
    return best.p_value if all_at_once else min(1.0, best.p_value * len(candidates))

"""Tuning: the optimiser that chooses settings, the settings that were tried, and the best of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from harness.analysis.decisions import AnswerLimits
from harness.analysis.lead import Candidate, Goal, Lead, WinnerComparison, compare_winner, lead_json
from harness.analysis.sampling import estimate_json
from harness.errors import MissingExtra
from harness.model import Counts
from harness.params import Value
from harness.stats.estimate import Estimate
from harness.stats.replication.sample import Sample, make_sample
from harness.transcript.columns import Coded, read_columns

if TYPE_CHECKING:
    from optuna import Study
    from optuna.distributions import BaseDistribution
    from optuna.trial import Trial


Places = tuple[int, ...]


@dataclass(frozen=True)
class SearchDimension:
    """A parameter's values by number; `ordered` if neighbouring values are similar, as numbers are."""

    name: str
    count: int
    ordered: bool


class Optimiser:
    """Proposes settings of a grid, by the places of their values, and learns from their results."""

    def __init__(
        self, choices: Sequence[SearchDimension], *, maximise: bool, seed: int, first: Places | None = None
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
            one.name: optuna.distributions.IntDistribution(0, one.count - 1)
            if one.ordered
            else optuna.distributions.CategoricalDistribution(tuple(range(one.count)))
            for one in choices
        }
        if first is not None:
            self._study.enqueue_trial(dict(zip((one.name for one in choices), first, strict=True)))
        self._trial: Trial | None = None

    def ask(self) -> Places:
        """The next setting to try; it may have been tried before."""
        self._trial = self._study.ask(self._distributions)
        return tuple(int(self._trial.params[one.name]) for one in self._choices)

    def tell(self, value: float) -> None:
        """Report the value of the last proposed setting."""
        if self._trial is not None:
            self._study.tell(self._trial, value)


@dataclass(frozen=True)
class TunedSetting:
    """A setting of all parameters, its result, and where its answers are."""

    params: Mapping[str, Value]
    counts: Counts
    value: float
    candidate: Candidate
    transcripts: Sequence[Path]


@dataclass(frozen=True)
class Tuning:
    """What tuning found; `ranking` has the places of `settings`, the best first."""

    goal: Goal
    settings: Sequence[TunedSetting]
    ranking: Sequence[int]
    default: int
    comparison: WinnerComparison
    sample: Sample

    @property
    def lead(self) -> Lead:
        """How much better the best is than the default."""
        return self.comparison.lead

    @property
    def winner(self) -> TunedSetting:
        """The best."""
        return self.settings[self.ranking[0]]

    @property
    def default_wins(self) -> bool:
        """Whether nothing tried is better than the default."""
        return self.ranking[0] == self.default


def try_setting(
    goal: Goal,
    params: Mapping[str, Value],
    answers: AnswerLimits,
    deciding: tuple[str, Sequence[Value]],
    paths: Sequence[Path],
) -> list[TunedSetting]:
    """An algorithm setting with each of these values of the decision parameter, which need no further run."""
    name, values = deciding
    curve = goal.of_scores(answers) if goal.of_curve else None
    return [
        TunedSetting(
            params={**params, name: value},
            counts=counts,
            value=goal.of_counts(counts) if curve is None else curve,
            candidate=Candidate(answers, value),
            transcripts=paths,
        )
        for value, counts in zip(values, answers.counts(values), strict=True)
    ]


def rank_settings(goal: Goal, tried: Sequence[TunedSetting], default: int) -> Tuning:
    """Rank what was tried and compare the best with the default."""
    ranking = _ranked(goal, tried, default)
    sample = read_sample(tried[default].transcripts)
    candidates = [one.candidate for one in tried]
    return Tuning(
        goal=goal,
        settings=tried,
        ranking=ranking,
        default=default,
        comparison=compare_winner(goal, candidates, ranking[0], default, sample),
        sample=sample,
    )


def _ranked(goal: Goal, tried: Sequence[TunedSetting], default: int) -> list[int]:
    """The best first. Among equals, the default or the one tried first; among equal thresholds, the middle one."""
    sign = -1.0 if goal.maximised else 1.0
    ranking = sorted(range(len(tried)), key=lambda place: (sign * tried[place].value, place != default, place))
    best = tried[ranking[0]]
    if ranking[0] != default:
        answers = best.candidate.answers
        equal = [place for place in ranking if tried[place].value == best.value]
        same_run = [place for place in equal if tried[place].candidate.answers is answers]
        middle = same_run[(len(same_run) - 1) // 2]
        ranking.remove(middle)
        ranking.insert(0, middle)
    return ranking


def read_sample(paths: Sequence[Path]) -> Sample:
    """How the cases of these transcripts, which are parts of one, were sampled."""
    parts = [read_columns(path) for path in paths]
    count = sum(len(part.ids) for part in parts)
    strata, units = (_labels([getattr(part, kind) for part in parts]) for kind in ("stratum", "psu"))
    if units is None and any((part.repeat > 1).any() for part in parts):
        units = [case_id for part in parts for case_id in part.ids]
    return make_sample(count, strata=strata, units=units)


def _labels(columns: Sequence[Coded]) -> list[str] | None:
    """The group of each case; None if the cases have no groups."""
    if any((column.codes < 0).any() for column in columns):
        return None
    return [label for column in columns for label in np.array([*column.labels], dtype=object)[column.codes]]


def tuning_json(tuning: Tuning) -> dict[str, Any]:
    """The JSON that the documentation promises."""
    return {
        "goal": tuning.goal.name,
        "winner": _setting_json(tuning.winner, tuning.comparison.winner),
        "default": _setting_json(tuning.settings[tuning.default], tuning.comparison.default),
        "lead": None if tuning.default_wins else lead_json(tuning.lead),
        "strata": tuning.sample.strata,
        "units": tuning.sample.units,
        "transcripts": [str(path) for path in tuning.winner.transcripts],
    }


def _setting_json(setting: TunedSetting, one: Estimate) -> dict[str, Any]:
    return {"params": dict(setting.params), **estimate_json(one, "se", "interval", value="value")}

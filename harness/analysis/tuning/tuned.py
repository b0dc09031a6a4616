"""The settings that were tried, the best of them, and how it compares with the default."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from harness.analysis.as_json import interval_json
from harness.analysis.deciding import Answers
from harness.analysis.tuning.goals import Goal
from harness.analysis.tuning.lead import Candidate, Lead, Standing, standing
from harness.model import Counts
from harness.params import Value
from harness.stats.estimate import Estimate
from harness.stats.replication.sample import Sample, make_sample
from harness.transcript.columns import Coded, read_columns


@dataclass(frozen=True)
class Tried:
    """A setting of all parameters, what it came to, and where its answers are."""

    params: Mapping[str, Value]
    counts: Counts
    value: float
    candidate: Candidate
    transcripts: Sequence[Path]


@dataclass(frozen=True)
class Tuned:
    """What tuning found; `ranking` has the places of `tried`, the best first."""

    goal: Goal
    tried: Sequence[Tried]
    ranking: Sequence[int]
    default: int
    standing: Standing
    sample: Sample

    @property
    def lead(self) -> Lead:
        """How much better the best is than the default."""
        return self.standing.lead

    @property
    def winner(self) -> Tried:
        """The best."""
        return self.tried[self.ranking[0]]

    @property
    def default_wins(self) -> bool:
        """Whether nothing tried is better than the default."""
        return self.ranking[0] == self.default


def try_setting(
    goal: Goal,
    params: Mapping[str, Value],
    answers: Answers,
    deciding: tuple[str, Sequence[Value]],
    paths: Sequence[Path],
) -> list[Tried]:
    """An algorithm setting with each of these values of the decision parameter, which cost nothing."""
    name, values = deciding
    curve = goal.of_scores(answers) if goal.of_curve else None
    return [
        Tried(
            params={**params, name: value},
            counts=counts,
            value=goal.of_counts(counts) if curve is None else curve,
            candidate=Candidate(answers, value),
            transcripts=paths,
        )
        for value, counts in zip(values, answers.counts(values), strict=True)
    ]


def judge(goal: Goal, tried: Sequence[Tried], default: int) -> Tuned:
    """Rank what was tried and compare the best with the default."""
    ranking = _ranked(goal, tried, default)
    sample = read_sample(tried[default].transcripts)
    candidates = [one.candidate for one in tried]
    return Tuned(
        goal=goal,
        tried=tried,
        ranking=ranking,
        default=default,
        standing=standing(goal, candidates, ranking[0], default, sample),
        sample=sample,
    )


def _ranked(goal: Goal, tried: Sequence[Tried], default: int) -> list[int]:
    """The best first. Of equals the default, else what was tried first; of equal thresholds the one in the middle."""
    sign = -1.0 if goal.maximised else 1.0
    ranking = sorted(range(len(tried)), key=lambda place: (sign * tried[place].value, place != default, place))
    best = tried[ranking[0]]
    if ranking[0] != default:
        answers = best.candidate.answers
        equal = [place for place in ranking if tried[place].value == best.value]
        alike = [place for place in equal if tried[place].candidate.answers is answers]
        middle = alike[(len(alike) - 1) // 2]
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
    """The group of each case; None where the cases have no groups."""
    if any((column.codes < 0).any() for column in columns):
        return None
    return [label for column in columns for label in np.array([*column.labels], dtype=object)[column.codes]]


def as_json(found: Tuned) -> dict[str, Any]:
    """What was found, in the words of the documentation."""
    one, discordant = found.lead, found.lead.discordant
    return {
        "goal": found.goal.name,
        "winner": _figure(found.winner, found.standing.winner),
        "default": _figure(found.tried[found.default], found.standing.default),
        "lead": None
        if found.default_wins
        else {
            "estimate": one.estimate.value,
            "se": one.estimate.se,
            "interval": interval_json(one.estimate.interval),
            "p_value": one.estimate.p_value,
            "p_chosen": one.p_chosen,
            "candidates": one.candidates,
            "n_sf": None if discordant is None else discordant.winner,
            "n_fs": None if discordant is None else discordant.default,
            "p_exact": None if discordant is None else discordant.p_exact,
            "within_noise": one.within_noise,
        },
        "strata": found.sample.strata,
        "units": found.sample.units,
        "transcripts": [str(path) for path in found.winner.transcripts],
    }


def _figure(tried: Tried, of: Estimate) -> dict[str, Any]:
    return {
        "params": dict(tried.params),
        "value": of.value,
        "se": of.se,
        "interval": interval_json(of.interval),
    }

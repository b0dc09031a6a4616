"""Runs of one test fused into one: votes, means of scores, or weights that were learnt on other cases.

The fused answer depends on what the programs said, and on nothing that they were not told. Weights are learnt on runs
of other cases, or by folds of units: each case is fused by weights from units other than its own.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import numpy as np

from harness.analysis.align import AlignedRuns, Run, align
from harness.analysis.fusion_answers import ProgramAnswers, program_answers
from harness.analysis.fusion_weights import LearntWeights, learn_candidates, learn_scores
from harness.analysis.sampling import take_sample
from harness.errors import TranscriptError, UsageError
from harness.options import DesignOptions
from harness.stats.arrays import FloatArray, IntArray
from harness.stats.fusion import Normaliser, best_label, by_median, by_rank, by_scale, count_votes, fold_units


class FusionRule(StrEnum):
    """How several answers become one."""

    MAJORITY = "majority"
    MEAN = "mean"
    RANKS = "ranks"
    LOGISTIC = "logistic"


@dataclass(frozen=True)
class FuseRequest:
    """What to do; see `hate fuse`."""

    rule: FusionRule = FusionRule.MAJORITY
    # In a tie the answer of the first run that is in it, instead of a refusal.
    first_in_ties: bool = False
    threshold: float | None = None
    # Runs of the same algorithms on other cases, in the same order.
    learn: Sequence[Run] = ()
    folds: int | None = None
    seed: int = 0
    psu: tuple[str, ...] | None = None


@dataclass(frozen=True)
class FusedAnswers:
    """An answer to each case as a program would give it, and the threshold for its score."""

    aligned: AlignedRuns
    answers: list[Any]
    threshold: float
    # Cases on which every run has an error.
    failed: list[bool]
    # What was learnt, for the header.
    learnt: dict[str, Any] = field(default_factory=dict)
    notes: Sequence[str] = ()


def fuse_runs(runs: Sequence[Run], request: FuseRequest) -> FusedAnswers:
    """Fuse runs on the same cases."""
    _check_request(runs, request)
    aligned = align(runs)
    programs = program_answers(aligned)
    fused = (_fuse_labels if programs.labelled else _fuse_scores)(aligned, programs, request)
    sign = 1.0 if programs.larger_is_better else -1.0
    answers = [None if np.isnan(score) else [*label, float(sign * score)] for label, score in fused.pairs()]
    threshold = fused.threshold if request.threshold is None else sign * request.threshold
    return FusedAnswers(
        aligned=aligned,
        answers=[one if one is None or programs.labelled else one[-1] for one in answers],
        threshold=float(sign * threshold),
        failed=[bool(one) for one in np.all(programs.error, axis=0)],
        learnt={} if fused.learnt is None else fused.learnt.to_json(),
        notes=() if fused.learnt is None else fused.learnt.notes(),
    )


def _check_request(runs: Sequence[Run], request: FuseRequest) -> None:
    if len(runs) < 2:
        raise UsageError(f"{runs[0].source}: one transcript is nothing to fuse; name at least two")
    learns = bool(request.learn) + (request.folds is not None)
    if request.rule is not FusionRule.LOGISTIC and learns:
        raise UsageError(f"--rule {request.rule} learns nothing: leave out --learn and --folds, or say --rule logistic")
    if request.rule is FusionRule.LOGISTIC and learns != 1:
        raise UsageError(
            "--rule logistic learns its weights on cases other than those that it fuses: either --learn FILE for each "
            "transcript, in their order, or --folds 10"
        )
    if request.learn:
        _check_learning(runs, request.learn)


def _check_learning(runs: Sequence[Run], learn: Sequence[Run]) -> None:
    """The same algorithms in the same order, and no case or unit of the test."""
    if len(learn) != len(runs):
        raise UsageError(f"--learn: {len(learn)} transcripts to learn from, {len(runs)} to fuse; name one for each")
    for run, other in zip(runs, learn, strict=True):
        names = [one.columns.header.algorithm.name for one in (run, other)]
        if names[0] != names[1]:
            raise UsageError(
                f"--learn {other.source}: of {names[1]}, where {run.source} is of {names[0]}; name them in one order"
            )
    test, training = (one.columns.header.test for one in (runs[0], learn[0]))
    if test.name != training.name:
        return
    for what in ("case", "unit"):
        shared = _groups(runs[0], what) & _groups(learn[0], what)
        if shared:
            raise UsageError(
                f"--learn {learn[0].source}: {what} '{min(shared)}' is among those to be fused; weights are learnt on "
                "others: --folds 10 does so within one test"
            )


def _groups(run: Run, what: str) -> set[str]:
    return set(run.columns.ids if what == "case" else run.columns.psu.labels)


@dataclass(frozen=True, eq=False)
class _Fused:
    """A score for each case, larger being better, not a number for a refusal; in a label test, a label too."""

    score: FloatArray
    threshold: float
    labels: Sequence[str] | None = None
    learnt: LearntWeights | None = None

    def pairs(self) -> list[tuple[list[str], float]]:
        names = [[]] * len(self.score) if self.labels is None else [[label] for label in self.labels]
        return list(zip(names, self.score.tolist(), strict=True))


def _fuse_scores(aligned: AlignedRuns, programs: ProgramAnswers, request: FuseRequest) -> _Fused:
    """Fuse the scores of a test that verifies claims; a program that refuses has its worst score."""
    refused = ~programs.answered.any(axis=0)
    learnt = None
    if request.rule is FusionRule.MAJORITY:
        weights = _vote_weights(len(programs.threshold), request)
        score, threshold = weights @ programs.accepted, 0.5
        if not request.first_in_ties:
            threshold = (len(weights) // 2 + 1) / len(weights)
    elif request.rule is FusionRule.LOGISTIC:
        learnt = learn_scores(programs, *_learning(aligned, request))
        score, threshold = learnt.score, 0.0
    else:
        scales = [_score_scale(request.rule)(row) for row in programs.score]
        filled = programs.with_worst()
        score = np.mean([scale(row) for scale, row in zip(scales, filled, strict=True)], axis=0)
        threshold = _mean_threshold(scales, programs)
    return _Fused(np.where(refused, np.nan, score), threshold, learnt=learnt)


def _vote_weights(programs: int, request: FuseRequest) -> FloatArray:
    """Equal votes; if the first one decides ties, it counts half a vote more, which changes nothing else."""
    votes = np.ones(programs)
    votes[0] += 0.5 * request.first_in_ties
    return np.asarray(votes / votes.sum())


def _score_scale(rule: FusionRule) -> Any:
    return by_rank if rule is FusionRule.RANKS else by_median


def _mean_threshold(scales: Sequence[Normaliser], programs: ProgramAnswers) -> float:
    """Where the runs' own thresholds lie on the common scale, on average."""
    return float(np.mean([scale(np.array([x]))[0] for scale, x in zip(scales, programs.threshold, strict=True)]))


def _fuse_labels(aligned: AlignedRuns, programs: ProgramAnswers, request: FuseRequest) -> _Fused:
    """Fuse labels; the score is the lead of the best over the second, or the log-odds that it is right."""
    learnt, threshold = None, 0.0
    labels = programs.label
    if request.rule is FusionRule.MAJORITY:
        # Refusing is a vote, too.
        labels = np.where(programs.passes, labels, len(programs.names))
        labels = np.where(programs.error, len(programs.names), labels)
        votes = np.repeat(_vote_weights(len(labels), request)[:, None], labels.shape[1], axis=1)
        won = count_votes(labels, votes)
        score = won.lead
    elif request.rule is FusionRule.LOGISTIC:
        learnt = learn_candidates(programs, *_learning(aligned, request))
        won = best_label(labels, learnt.score)
        score = learnt.score[won.program, np.arange(labels.shape[1])]
        if aligned.positive.all():
            # There is nothing to gain from a refusal.
            threshold = min(0.0, float(np.floor(np.nanmin(np.where(np.isfinite(score), score, np.nan), initial=0.0))))
    else:
        programs.require_scores()
        scales = [_lead_scale(request.rule)(row) for row in programs.score]
        evidence = np.stack([scale(row) for scale, row in zip(scales, programs.score, strict=True)])
        won = count_votes(labels, np.nan_to_num(evidence) / len(labels))
        score, threshold = won.lead, _mean_threshold(scales, programs)
    names = [*programs.names, ""]
    chosen = labels[won.program, np.arange(labels.shape[1])]
    refused = (chosen < 0) | (chosen == len(programs.names)) | (won.tied & (not request.first_in_ties))
    return _Fused(np.where(refused, np.nan, score), threshold, [names[code] for code in chosen], learnt)


def _lead_scale(rule: FusionRule) -> Any:
    return by_rank if rule is FusionRule.RANKS else by_scale


def _learning(aligned: AlignedRuns, request: FuseRequest) -> tuple[ProgramAnswers | None, IntArray | None]:
    """What weights are learnt on: answers to other cases, or the fold of each case."""
    if request.learn:
        other = program_answers(align(request.learn))
        if other.labelled != aligned.headers[0].test.find_task().answers_classes:
            raise TranscriptError(f"--learn {request.learn[0].source}: of another task than what is fused")
        return other, None
    units = take_sample(aligned, DesignOptions(stratum=("none",), psu=request.psu)).sample.unit_of_case
    if request.folds is None:
        raise UsageError("--rule logistic needs --learn or --folds")
    try:
        return None, fold_units(units, request.folds, rng=np.random.default_rng(request.seed))
    except ValueError as error:
        raise UsageError(f"--folds {request.folds}: {error}") from None

"""Runs of one test fused into one: votes, means of scores, or weights that were learnt on other cases.

The fused answer depends on what the programs said, and on nothing that they were not told. Weights are learnt on runs
of other cases, or by folds of units: each case is fused by weights from other units.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from harness.analysis.align import ACCEPTED, AlignedRuns, Run, align
from harness.analysis.sampling import take_sample
from harness.errors import TranscriptError, UsageError
from harness.options import DesignOptions
from harness.options.comparing import FuseOptions, FusionRule
from harness.stats.arrays import BoolArray, FloatArray, IntArray
from harness.stats.fusion import (
    LogisticModel,
    Normaliser,
    Winners,
    best_label,
    by_median,
    by_rank,
    by_scale,
    count_votes,
    fit_logistic,
    fold_units,
)
from harness.transcript.columns import Coded


@dataclass(frozen=True, eq=False)
class ProgramAnswers:
    """Answers of m programs to n cases; (m, n) arrays, unless said otherwise."""

    runs: Sequence[str]
    ids: Sequence[str]
    # Whether answers are labels; if not, they are scores of a claim.
    labelled: bool
    larger_is_better: bool
    # All labels that occur; `label` has their numbers, -1 for no answer.
    names: Sequence[str]
    label: IntArray
    # Larger is better, also for a distance, which is negative here; not a number if there is none.
    score: FloatArray
    error: BoolArray
    answered: BoolArray
    # Whether the answer passes the threshold of its program, (m,).
    threshold: FloatArray
    passes: BoolArray
    accepted: BoolArray
    # (n,): whether the claim is true, and the numbers of the claim and of the real class, -1 if unknown.
    positive: BoolArray
    claim: IntArray
    real: IntArray

    def with_worst(self) -> FloatArray:
        """The scores; where a program refused or failed, its worst one."""
        worst = np.nanmin(self.score, axis=1)
        return np.asarray(np.where(np.isnan(self.score), worst[:, None], self.score))

    def require_scores(self) -> None:
        """A TranscriptError if an answer has no score."""
        lacking = self.answered & np.isnan(self.score)
        for name, row in zip(self.runs, lacking, strict=True):
            if row.any():
                case = self.ids[int(row.argmax())]
                raise TranscriptError(f"{name}: no score in the answer to case '{case}'; --rule majority needs none")
        for name, row in zip(self.runs, self.score, strict=True):
            if np.isnan(row).all():
                raise TranscriptError(f"{name}: no answer at all; leave it out")


def _program_answers(aligned: AlignedRuns) -> ProgramAnswers:
    """The answers of aligned runs; a TranscriptError if this task's answers cannot be fused."""
    task = aligned.headers[0].test.find_task()
    if not (task.answers_classes or task.shows_claim) or "threshold" not in task.decisions:
        raise TranscriptError(
            f"{aligned.names[0]}: answers of task '{task.name}' are neither labels nor scores of a claim; only those "
            "can be fused"
        )
    _check_same_answers(aligned)
    rules = aligned.headers[0].test.rules
    sign = 1.0 if rules.larger_is_better else -1.0
    names, label = _labels([run.actual for run in aligned.runs], aligned.orders)
    code = {name: number for number, name in enumerate(names)}
    score = np.where(np.isnan(aligned.score), np.nan, sign * aligned.score)
    error = np.stack([run.error.codes[order] >= 0 for run, order in zip(aligned.runs, aligned.orders, strict=True)])
    answered = ~error & ((label >= 0) if task.answers_classes else ~np.isnan(score))
    default = task.decisions["threshold"].default
    declared = [params.get("threshold") for params in aligned.params]
    threshold = np.array([sign * float(default if value is None else value) for value in declared])
    answers = ProgramAnswers(
        runs=aligned.names,
        ids=aligned.ids,
        labelled=task.answers_classes,
        larger_is_better=rules.larger_is_better,
        names=names,
        label=np.where(answered, label, -1),
        score=np.where(answered, score, np.nan),
        error=error,
        answered=answered,
        threshold=threshold,
        passes=answered & ~(score < threshold[:, None]),
        accepted=ACCEPTED[aligned.outcome] & ~error,
        positive=aligned.positive,
        claim=_codes(aligned.recorded("expect"), code),
        real=_codes(aligned.recorded("truth"), code),
    )
    _check_decisions(aligned, answers)
    if not task.answers_classes:
        answers.require_scores()
    return answers


def _check_same_answers(aligned: AlignedRuns) -> None:
    for name, run in zip(aligned.names, aligned.runs, strict=True):
        if len(run.ids) != aligned.n:
            raise TranscriptError(
                f"{name}: {len(run.ids):,} answers, others have {aligned.n:,}; fuse runs with equally many answers "
                "to each case"
            )


def _labels(columns: Sequence[Coded], orders: Sequence[IntArray]) -> tuple[list[str], IntArray]:
    """All labels, and (m, n) numbers of those that were answered."""
    names = list(dict.fromkeys(label for column in columns for label in column.labels))
    code = {name: number for number, name in enumerate(names)}
    rows = []
    for column, order in zip(columns, orders, strict=True):
        table = np.array([*(code[label] for label in column.labels), -1], dtype=np.int64)
        rows.append(table[column.codes[order]])
    return names, np.stack(rows)


def _codes(column: Coded | None, code: dict[str, int]) -> IntArray:
    """A column in the numbers of the labels: -1 if a case has none, -2 for a class that nobody answered."""
    if column is None:
        return np.empty(0, dtype=np.int64)
    table = np.array([*(code.get(label, -2) if label else -1 for label in column.labels), -1], dtype=np.int64)
    return np.asarray(table[column.codes])


def _check_decisions(aligned: AlignedRuns, answers: ProgramAnswers) -> None:
    """Other tools may have judged answers in their own way; a fused answer could not be judged like that."""
    accepted = answers.passes
    if answers.labelled:
        no_claim = (answers.claim == -1) & ~answers.positive
        accepted = accepted & ((answers.label == answers.claim) | no_claim)
    wrong = ~answers.error & (accepted != answers.accepted)
    for name, row in zip(aligned.names, wrong, strict=True):
        if row.any():
            case = aligned.ids[int(row.argmax())]
            raise TranscriptError(
                f"{name}: the outcome of case '{case}' does not follow from its answer and the threshold, as when "
                "another tool judged it; such answers cannot be fused"
            )


# Weights by logistic regression


@dataclass(frozen=True, eq=False)
class LearntWeights:
    """Log-odds: of a true claim for each case (n,), or of a right label for each program's label (m, n).

    One model, or one for each fold.
    """

    score: FloatArray
    models: Sequence[LogisticModel]

    def to_json(self) -> dict[str, Any]:
        """For the header: the weights of each model."""
        return {"models": [{"intercept": model.intercept, "weights": model.weights.tolist()} for model in self.models]}

    def notes(self) -> list[str]:
        """What a reader should know about the weights."""
        if not any(model.shrunk for model in self.models):
            return []
        return ["the cases to learn from are separated without an error, or runs are alike: weights were shrunk"]


# The cases to learn from as rows of numbers, and whether the event happened.
Rows = tuple[FloatArray, BoolArray]


def _learn_scores(programs: ProgramAnswers, other: ProgramAnswers | None, fold: IntArray | None) -> LearntWeights:
    """The log-odds that a claim is true, from all scores; a program that refuses has its worst score."""
    numbers = programs.with_worst().T
    if other is not None:
        model = _fit(other.with_worst().T, other.positive)
        # A refusal is as bad as the worst score that the program was seen to give.
        worst = np.nanmin(other.score, axis=1)
        filled = np.where(np.isnan(programs.score), worst[:, None], programs.score)
        return LearntWeights(model.log_odds(filled.T), [model])
    return _by_folds(fold, lambda learn: (numbers[learn], programs.positive[learn]), lambda use: numbers[use])


def _learn_candidates(programs: ProgramAnswers, other: ProgramAnswers | None, fold: IntArray | None) -> LearntWeights:
    """The log-odds that a label is right, from who gave it and with what lead: (m, n), for each program's label."""
    shape = programs.label.shape
    if other is not None:
        model = _fit(*_learning_rows(other, np.ones(other.label.shape[1], dtype=np.bool_)))
        scores = model.log_odds(_candidates(programs).reshape(-1, 2 * shape[0])).reshape(shape)
        return LearntWeights(scores, [model])
    numbers = _candidates(programs)
    learnt = _by_folds(
        fold,
        lambda learn: _learning_rows(programs, learn),
        lambda use: numbers[:, use].reshape(-1, 2 * shape[0]),
        rows=shape[0],
    )
    return LearntWeights(learnt.score.reshape(shape), learnt.models)


def _by_folds(
    fold: IntArray | None,
    learn: Callable[[BoolArray], Rows],
    use: Callable[[BoolArray], FloatArray],
    rows: int = 1,
) -> LearntWeights:
    """Each fold is fused by weights that were learnt on the others."""
    if fold is None:
        raise UsageError("--rule logistic needs --learn or --folds")
    score, models = np.full((rows, fold.size), np.nan), []
    for number in range(int(fold.max()) + 1):
        inside = fold == number
        models.append(_fit(*learn(~inside)))
        score[:, inside] = models[-1].log_odds(use(inside)).reshape(rows, -1)
    return LearntWeights(score[0] if rows == 1 else score, models)


def _candidates(programs: ProgramAnswers) -> FloatArray:
    """Numbers (m, n, 2 m) of each program's label: which programs gave it, and the leads of those."""
    said = (programs.label[:, None, :] == programs.label[None, :, :]) & (programs.label >= 0)[:, None, :]
    lead = np.nan_to_num(programs.score)[None, :, :] * said
    return np.concatenate([said, lead], axis=1, dtype=np.float64).transpose(0, 2, 1)


def _learning_rows(programs: ProgramAnswers, among: BoolArray) -> Rows:
    """Each label once a case, where it is known whether it is right: the real class, or else a false claim."""
    label = programs.label
    new = np.stack([(label[:k] != label[k]).all(axis=0) for k in range(len(label))]) & (label >= 0)
    refuted = ~programs.positive & (label == programs.claim)
    known = new & among & ((programs.real != -1) | refuted)
    return _candidates(programs)[known], (label == programs.real)[known]


def _fit(numbers: FloatArray, event: BoolArray) -> LogisticModel:
    try:
        return fit_logistic(numbers, event)
    except ValueError as error:
        raise UsageError(f"--rule logistic: {error}") from None


# The runs as one


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


def fuse_runs(runs: Sequence[Run], options: FuseOptions, learn: Sequence[Run] = ()) -> FusedAnswers:
    """Fuse runs on the same cases; `learn` are runs of the same algorithms on other cases, in the same order."""
    _check_request(runs, options, learn)
    aligned = align(runs)
    programs = _program_answers(aligned)
    learning = _learning(aligned, options, learn) if options.rule == FusionRule.LOGISTIC else (None, None)
    fused = (_fuse_labels if programs.labelled else _fuse_scores)(programs, options, learning)
    sign = 1.0 if programs.larger_is_better else -1.0
    answers = [None if np.isnan(score) else [*label, float(sign * score)] for label, score in fused.pairs()]
    threshold = fused.threshold if options.threshold is None else sign * options.threshold
    return FusedAnswers(
        aligned=aligned,
        answers=[answer if answer is None or programs.labelled else answer[-1] for answer in answers],
        threshold=float(sign * threshold),
        failed=np.all(programs.error, axis=0).tolist(),
        learnt={} if fused.learnt is None else fused.learnt.to_json(),
        notes=() if fused.learnt is None else fused.learnt.notes(),
    )


def _check_request(runs: Sequence[Run], options: FuseOptions, learn: Sequence[Run]) -> None:
    if len(runs) < 2:
        raise UsageError(f"{runs[0].source}: one transcript is nothing to fuse; name at least two")
    for run in [*runs, *learn]:
        if not run.columns.complete:
            raise TranscriptError(f"{run.source}: incomplete; finish it with --resume first")
    learns = bool(learn) + (options.folds is not None)
    if options.rule != FusionRule.LOGISTIC and learns:
        raise UsageError(f"--rule {options.rule} learns nothing: leave out --learn and --folds, or say --rule logistic")
    if options.rule == FusionRule.LOGISTIC and learns != 1:
        raise UsageError(
            "--rule logistic learns its weights on cases other than those that it fuses: either --learn FILE for each "
            "transcript, in their order, or --folds 10"
        )
    if learn:
        _check_learning(runs, learn)


def _check_learning(runs: Sequence[Run], learn: Sequence[Run]) -> None:
    """The same algorithms in the same order, and no case or unit of the test."""
    if len(learn) != len(runs):
        raise UsageError(f"--learn: {len(learn)} transcripts to learn from, {len(runs)} to fuse; name one for each")
    for run, other in zip(runs, learn, strict=True):
        names = [each.columns.header.algorithm.name for each in (run, other)]
        if names[0] != names[1]:
            raise UsageError(
                f"--learn {other.source}: of {names[1]}, where {run.source} is of {names[0]}; name them in one order"
            )
    test, training = (run.columns.header.test for run in (runs[0], learn[0]))
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


# What weights are learnt on: answers to other cases, or the fold of each case.
_Learning = tuple[ProgramAnswers | None, IntArray | None]


def _fuse_scores(programs: ProgramAnswers, options: FuseOptions, learning: _Learning) -> _Fused:
    """Fuse the scores of a test that verifies claims; a program that refuses has its worst score."""
    refused = ~programs.answered.any(axis=0)
    learnt = None
    if options.rule == FusionRule.MAJORITY:
        votes = _votes(len(programs.threshold), options)
        # Whole and half votes add up exactly: a threshold that is a number of them is reached by as many.
        score, threshold = votes @ programs.accepted / votes.sum(), 0.5
        if options.ties != "first":
            threshold = (len(votes) // 2 + 1) / len(votes)
    elif options.rule == FusionRule.LOGISTIC:
        learnt = _learn_scores(programs, *learning)
        score, threshold = learnt.score, 0.0
    else:
        make = by_rank if options.rule == FusionRule.RANKS else by_median
        fused = np.mean(_scaled(programs, make, programs.with_worst()), axis=0)
        score, threshold = fused[:-1], float(fused[-1])
    return _Fused(np.where(refused, np.nan, score), threshold, learnt=learnt)


def _votes(programs: int, options: FuseOptions) -> FloatArray:
    """Equal votes; if the first one decides ties, it counts half a vote more, which changes nothing else."""
    votes = np.ones(programs)
    votes[0] += 0.5 * (options.ties == "first")
    return votes


def _scaled(programs: ProgramAnswers, make: Callable[[FloatArray], Normaliser], score: FloatArray) -> FloatArray:
    """Scores on a common scale, and in one more column the thresholds, which are fused as the scores of a case are.

    A case in which all scores are at their thresholds is then at the fused one, whatever the rounding.
    """
    rows = zip(programs.score, np.column_stack([score, programs.threshold]), strict=True)
    return np.stack([make(row)(filled) for row, filled in rows])


def _fuse_labels(programs: ProgramAnswers, options: FuseOptions, learning: _Learning) -> _Fused:
    """Fuse labels; the score is the lead of the best over the second, or the log-odds that it is right."""
    learnt, threshold = None, 0.0
    labels = programs.label
    if options.rule == FusionRule.MAJORITY:
        # Refusing is a vote, too.
        labels = np.where(programs.passes, labels, len(programs.names))
        labels = np.where(programs.error, len(programs.names), labels)
        votes = _votes(len(labels), options)
        votes = np.repeat((votes / votes.sum())[:, None], labels.shape[1], axis=1)
        won = count_votes(labels, votes)
        score = won.lead
    elif options.rule == FusionRule.LOGISTIC:
        learnt = _learn_candidates(programs, *learning)
        won = best_label(labels, learnt.score)
        score = learnt.score[won.program, np.arange(labels.shape[1])]
        if programs.positive.all():
            # There is nothing to gain from a refusal.
            threshold = min(0.0, float(np.floor(np.nanmin(np.where(np.isfinite(score), score, np.nan), initial=0.0))))
    else:
        programs.require_scores()
        make = by_rank if options.rule == FusionRule.RANKS else by_scale
        evidence = np.nan_to_num(_scaled(programs, make, programs.score)) / len(labels)
        # At their thresholds all say the same.
        won = count_votes(np.column_stack([labels, np.zeros(len(labels), dtype=labels.dtype)]), evidence)
        threshold = float(won.lead[-1])
        won = Winners(won.program[:-1], won.lead[:-1], won.tied[:-1])
        score = won.lead
    names = [*programs.names, ""]
    chosen = labels[won.program, np.arange(labels.shape[1])]
    refused = (chosen < 0) | (chosen == len(programs.names)) | (won.tied & (options.ties != "first"))
    return _Fused(np.where(refused, np.nan, score), threshold, [names[code] for code in chosen], learnt)


def _learning(aligned: AlignedRuns, options: FuseOptions, learn: Sequence[Run]) -> _Learning:
    if learn:
        other = _program_answers(align(learn))
        if other.labelled != aligned.headers[0].test.find_task().answers_classes:
            raise TranscriptError(f"--learn {learn[0].source}: of another task than what is fused")
        return other, None
    units = take_sample(aligned, DesignOptions(stratum=("none",), psu=options.psu)).sample.unit_of_case
    try:
        return None, fold_units(units, options.folds or 0, rng=np.random.default_rng(options.seed))
    except ValueError as error:
        raise UsageError(f"--folds {options.folds}: {error}") from None

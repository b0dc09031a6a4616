"""What several programs answered to the same cases, as arrays that can be fused: labels, scores, decisions."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from harness.analysis.align import AlignedRuns
from harness.errors import TranscriptError
from harness.stats.arrays import BoolArray, FloatArray, IntArray
from harness.tasks.task import Task
from harness.transcript.columns import OUTCOMES, Coded


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
    # Whether the answer passes the program's own threshold, (m,).
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


def program_answers(aligned: AlignedRuns) -> ProgramAnswers:
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
    threshold = np.array([sign * _threshold(task, params) for params in aligned.params])
    by_code = np.array([outcome.value in ("TP", "FP") for outcome in OUTCOMES])
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
        accepted=by_code[aligned.outcome] & ~error,
        positive=aligned.positive,
        claim=_codes(aligned.column("expect"), code),
        real=_codes(aligned.column("truth"), code),
    )
    _check_decisions(aligned, answers)
    if not task.answers_classes:
        answers.require_scores()
    return answers


def _threshold(task: Task, params: object) -> float:
    chosen = params.get("threshold") if isinstance(params, dict) else None
    return float(task.decisions["threshold"].default if chosen is None else chosen)


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

"""Confusion matrices: what was there, and what the program said."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from harness.analysis.comparing.align import Run, align
from harness.analysis.comparing.sampling import take_sample
from harness.analysis.confusing.answers import Answers, IntArray, Truths, all_labels, find_answers, find_truths
from harness.analysis.confusing.answers import Choice as Choice
from harness.analysis.confusing.rates import ClassRate, Rates
from harness.errors import TranscriptError

# Answers in free text are no classes, and their matrix would fill the memory.
MOST_LABELS = 2000


@dataclass(frozen=True)
class Confused:
    """Two classes and how often the one was taken for the other, as a share of its cases too."""

    truth: str
    answer: str
    count: int
    share: float


@dataclass(frozen=True, eq=False)
class Confusion:
    """One transcript: rows truth, columns the answer, the last one for refusals and errors."""

    name: str
    labels: list[str]
    matrix: npt.NDArray[np.intp]
    errors: int
    below: int
    left_out: int
    recall: list[ClassRate]
    precision: list[ClassRate]
    method: str
    target: str

    @property
    def pairs(self) -> list[Confused]:
        """Wrong answers, the most frequent first."""
        sums = self.matrix.sum(axis=1)
        found = [
            Confused(self.labels[i], self.labels[j], int(self.matrix[i, j]), float(self.matrix[i, j] / sums[i]))
            for i, j in np.argwhere(self.matrix[:, :-1] > 0).tolist()
            if i != j
        ]
        return sorted(found, key=lambda pair: (-pair.count, -pair.share, pair.truth, pair.answer))


def confusions(runs: Sequence[Run], choice: Choice) -> list[Confusion]:
    """The matrices of transcripts of one test, all with the same labels."""
    for run in runs:
        task = run.columns.header.test.task
        if task != "label":
            raise TranscriptError(f"{run.source}: a {task} test; a confusion matrix needs labels, of a label test")
    aligned = align(runs, intersect=choice.intersect, partial=choice.partial)
    truths = find_truths(aligned, choice)
    if not truths.known.any():
        raise TranscriptError(f"{runs[0].source}: no case whose class is known; a confusion matrix needs truth")
    answers = [find_answers(run, order, choice) for run, order in zip(runs, aligned.orders, strict=True)]
    labels = all_labels([column[truths.known] for column in (truths.label, *(answer.label for answer in answers))])
    if len(labels) > MOST_LABELS:
        raise TranscriptError(
            f"{runs[0].source}: {len(labels):,} different labels; "
            f"a confusion matrix is for classes, {MOST_LABELS:,} at most"
        )
    # One case is a matrix, but no sample.
    sampling = take_sample(aligned, choice.design) if aligned.n > 1 else None
    return [
        _confusion(name, labels, truths, answer, Rates(sampling, choice, len(labels), _copies(order)))
        for name, answer, order in zip(aligned.names, answers, aligned.orders, strict=True)
    ]


def _copies(order: IntArray) -> int:
    """How often each answer of a run was matched: more than once where others have more answers a case."""
    return len(order) // len(np.unique(order))


def _confusion(name: str, labels: list[str], truths: Truths, answers: Answers, rates: Rates) -> Confusion:
    code = {label: number for number, label in enumerate(labels)}
    refusal, known = len(labels), truths.known
    rows = np.array([code.get(one, -1) for one in truths.label.tolist()])
    columns = np.array([code.get(one, refusal) for one in answers.label.tolist()])
    flat = rows[known] * (refusal + 1) + columns[known]
    matrix = np.bincount(flat, minlength=refusal * (refusal + 1)).reshape(refusal, refusal + 1)
    of_class = [known & (rows == k) for k in range(refusal)]
    refused = [bool(of.any() and truths.refuse[of].all()) for of in of_class]
    recall = [rates.of(of, columns == (refusal if refused[k] else k)) for k, of in enumerate(of_class)]
    precision = [rates.of(known & (columns == k), rows == k) for k in range(refusal)]
    return Confusion(
        name=name,
        labels=labels,
        matrix=matrix // rates.copies,
        errors=rates.count(answers.error & known),
        below=rates.count(answers.below & known),
        left_out=rates.count(~known),
        recall=recall,
        precision=precision,
        method=rates.method,
        target=rates.target,
    )


def difference(a: Confusion, b: Confusion) -> npt.NDArray[np.intp]:
    """The first matrix less the second."""
    return np.asarray(a.matrix - b.matrix)

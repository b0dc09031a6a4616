"""Confusion matrices: the true classes, and what the program answered."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from harness.analysis.align import AlignedRuns, Run, align
from harness.analysis.matching import copies
from harness.analysis.sampling import Sampling, interval_json, take_sample
from harness.errors import TranscriptError
from harness.files.conditions import sort_key
from harness.options import DesignOptions
from harness.params import Value
from harness.stats.arrays import BoolArray, IntArray
from harness.stats.estimate import Estimate
from harness.stats.replication.estimates import make_estimate
from harness.stats.replication.method import Replication
from harness.stats.replication.statistic import shares
from harness.transcript.columns import Columns

TextArray = npt.NDArray[np.object_]
NOTHING = "(none)"


@dataclass(frozen=True)
class ConfusionRequest:
    """Which records count, and how answers are read."""

    threshold: float | None = None
    positives: bool = False
    intersect: bool = False
    partial: bool = False
    confidence: float = 0.95
    design: DesignOptions = field(default_factory=DesignOptions)


@dataclass(frozen=True, eq=False)
class TrueClasses:
    """The class of each case, whether it is known (and counts), and whether refusing is the right answer."""

    label: TextArray
    known: BoolArray
    refuse: BoolArray


def find_classes(aligned: AlignedRuns, request: ConfusionRequest) -> TrueClasses:
    """The true classes. A case with no claim and no truth has a class of its own."""
    column, expect = aligned.column("truth"), aligned.column("expect")
    if column is None or expect is None:
        raise TranscriptError(f"{aligned.names[0]}: no truth and no claims; a confusion matrix needs them")
    truth = np.array([*column.labels, ""], dtype=object)[column.codes]
    claimless = np.asarray(np.array([*expect.labels, ""], dtype=object)[expect.codes] == "", dtype=np.bool_)
    truth = np.where((truth == "") & claimless, NOTHING, truth)
    known = np.asarray(truth != "", dtype=np.bool_)
    return TrueClasses(truth, known & aligned.positive if request.positives else known, claimless & ~aligned.positive)


@dataclass(frozen=True, eq=False)
class AnswerLabels:
    """What one program answered to each case: "" for a refusal, an error, or a label below the threshold."""

    label: TextArray
    error: BoolArray
    below: BoolArray


def find_answers(run: Run, order: IntArray, request: ConfusionRequest) -> AnswerLabels:
    """The answers of one run, in the order of the aligned cases."""
    columns = run.columns
    error = columns.error.codes[order] >= 0
    label = np.array([*columns.actual.labels, ""], dtype=object)[columns.actual.codes[order]]
    threshold = _threshold(columns, request)
    # An answer without a score, which is not a number, is below no threshold.
    below = np.asarray((columns.score[order] < threshold) & ~error & (label != ""), dtype=np.bool_)
    return AnswerLabels(np.where(error | below, "", label), error, below)


def _threshold(columns: Columns, request: ConfusionRequest) -> float:
    if request.threshold is not None:
        return request.threshold
    declared: Value | None = columns.header.params.get("threshold")
    return float(declared) if isinstance(declared, (int, float)) else -np.inf


def all_labels(columns: Sequence[TextArray]) -> list[str]:
    """All classes and answers: numbers in numeric order, and `NOTHING` last."""
    labels = {str(label) for column in columns for label in set(column.tolist())} - {"", NOTHING}
    ordered = sorted(labels, key=lambda label: (*sort_key(label), label))
    return [*ordered, NOTHING] if any((column == NOTHING).any() for column in columns) else ordered


# With more classes times cases there are no intervals: they would take minutes.
MOST_ESTIMATED = 50_000_000


# Counts; weights if pixels have them.
Matrix = npt.NDArray[np.intp] | npt.NDArray[np.float64]


@dataclass(frozen=True)
class ClassRate:
    """One class: over how many cases a rate is computed, and the rate; None without cases."""

    cases: int | float
    estimate: Estimate | None


class ClassRates:
    """Rates within a class. The sample has each record `copies` times; without a sample there are no intervals."""

    def __init__(self, sampling: Sampling | None, request: ConfusionRequest, classes: int, copies: int = 1) -> None:
        self.copies = copies
        self._replication = Replication(confidence=request.confidence)
        self._sample = None if sampling is None else sampling.sample
        self._affordable = sampling is not None and classes * sampling.sample.cases <= MOST_ESTIMATED
        self.method = "wilson" if self._affordable else "none"
        self.target, self.stratum = "new independent cases", None if sampling is None else sampling.stratum
        if sampling is not None and sampling.known and self._affordable:
            self.method, self.target = "brr" if sampling.stratum else "jackknife", sampling.target

    def of(self, within: BoolArray, success: BoolArray) -> ClassRate:
        """The share of successes among some of the cases."""
        cases = self.count(within)
        weights = within.astype(np.float64) if self._sample is None else self._sample.weights * within
        if not weights.any():
            return ClassRate(cases, None)
        if self._sample is None:
            return ClassRate(cases, Estimate(float(weights @ success / weights.sum()), np.nan, np.nan, None))
        return ClassRate(cases, make_estimate(self._sample, shares([success & within], [within]), self._replication))

    def by_class(self, codes: IntArray, success: BoolArray, classes: int) -> list[ClassRate]:
        """The share of successes within each class; -1 for cases that count for none."""
        if self._affordable:
            return [self.of(codes == k, success) for k in range(classes)]
        # All classes at once: a mask for each of very many would fill the memory.
        inside = codes >= 0
        weights = np.ones(len(codes)) if self._sample is None else self._sample.weights
        cases = np.bincount(codes[inside], minlength=classes) // self.copies
        totals, hits = (
            np.bincount(codes[inside], weights=part[inside], minlength=classes) for part in (weights, weights * success)
        )
        return [
            ClassRate(count, Estimate(hit / total, np.nan, np.nan, None) if total > 0 else None)
            for count, total, hit in zip(cases.tolist(), totals.tolist(), hits.tolist(), strict=True)
        ]

    def count(self, cases: BoolArray) -> int:
        """How many records these are."""
        return int(np.count_nonzero(cases)) // self.copies


# Free-text answers are not classes, and their matrix would fill the memory.
MOST_LABELS = 2000


@dataclass(frozen=True)
class ConfusedPair:
    """Two classes and how often the first was mistaken for the second, also as a share of its cases."""

    truth: str
    answer: str
    count: int | float
    share: float


@dataclass(frozen=True, eq=False)
class Confusion:
    """One transcript: rows truth, columns the answer, the last one for refusals and errors."""

    name: str
    labels: list[str]
    matrix: Matrix
    errors: int
    below: int
    left_out: int
    recall: list[ClassRate]
    precision: list[ClassRate]
    method: str
    target: str
    # The column of the strata that `target` names.
    stratum: str | None
    # What is counted; and of each class what truth and answer have in common, as a share of what either has.
    words: str = "cases"
    iou: list[ClassRate] | None = None

    @property
    def pairs(self) -> list[ConfusedPair]:
        """Wrong answers, the most frequent first."""
        sums = self.matrix.sum(axis=1)
        pairs = [
            ConfusedPair(self.labels[i], self.labels[j], self.matrix[i, j].item(), float(self.matrix[i, j] / sums[i]))
            for i, j in np.argwhere(self.matrix[:, :-1] > 0).tolist()
            if i != j
        ]
        return sorted(pairs, key=lambda pair: (-pair.count, -pair.share, pair.truth, pair.answer))


def confusions(runs: Sequence[Run], request: ConfusionRequest) -> list[Confusion]:
    """The matrices of transcripts of one test, all with the same labels."""
    from harness.analysis.element_confusion import element_confusions, find_elements

    if (elements := find_elements(runs, request)) is not None:
        return element_confusions(runs, elements, request)
    for run in runs:
        test = run.columns.header.test
        if not test.find_task(run.source).answers_classes:
            raise TranscriptError(
                f"{run.source}: a {test.task} test; a confusion matrix needs the labels of a label test; "
                "`hate rate T --statistic tpr,fpr` counts both kinds of error"
            )
    aligned = align(runs, intersect=request.intersect, partial=request.partial)
    truths = find_classes(aligned, request)
    if not truths.known.any():
        raise TranscriptError(f"{runs[0].source}: no case whose class is known; a confusion matrix needs truth")
    answers = [find_answers(run, order, request) for run, order in zip(runs, aligned.orders, strict=True)]
    labels = all_labels([column[truths.known] for column in (truths.label, *(answer.label for answer in answers))])
    if len(labels) > MOST_LABELS:
        raise TranscriptError(
            f"{runs[0].source}: {len(labels):,} different labels; "
            f"a confusion matrix is for classes, at most {MOST_LABELS:,}"
        )
    # One case gives a matrix, but is not a sample.
    sampling = take_sample(aligned, request.design) if aligned.n > 1 else None
    rates = [ClassRates(sampling, request, len(labels), copies(order)) for order in aligned.orders]
    return [
        # A run whose answers are matched several times has one a case.
        _confusion(name, aligned.counted if one.copies == 1 else "cases", labels, truths, answer, one)
        for name, answer, one in zip(aligned.names, answers, rates, strict=True)
    ]


def _confusion(
    name: str, words: str, labels: list[str], truths: TrueClasses, answers: AnswerLabels, rates: ClassRates
) -> Confusion:
    code = {label: number for number, label in enumerate(labels)}
    refusal, known = len(labels), truths.known
    rows = np.array([code.get(one, -1) for one in truths.label.tolist()])
    columns = np.array([code.get(one, refusal) for one in answers.label.tolist()])
    flat = rows[known] * (refusal + 1) + columns[known]
    matrix = np.bincount(flat, minlength=refusal * (refusal + 1)).reshape(refusal, refusal + 1)
    # Where all cases of a class should be refused, a refusal is the right answer.
    of_class, refuse = (np.bincount(rows[cases], minlength=refusal) for cases in (known, known & truths.refuse))
    right = np.where((of_class > 0) & (of_class == refuse), refusal, np.arange(refusal))
    recall = rates.by_class(np.where(known, rows, -1), columns == right[rows], refusal)
    precision = rates.by_class(np.where(known & (columns < refusal), columns, -1), rows == columns, refusal)
    return Confusion(
        name=name,
        labels=labels,
        words=words,
        matrix=matrix // rates.copies,
        errors=rates.count(answers.error & known),
        below=rates.count(answers.below & known),
        left_out=rates.count(~known),
        recall=recall,
        precision=precision,
        method=rates.method,
        target=rates.target,
        stratum=rates.stratum,
    )


def matrix_difference(a: Confusion, b: Confusion) -> Matrix:
    """The first matrix minus the second."""
    return np.asarray(a.matrix - b.matrix)


def confusion_json(matrices: Sequence[Confusion]) -> dict[str, Any]:
    """The JSON that the documentation promises; `matrix` is that of the first transcript."""
    payload: dict[str, Any] = {
        "labels": matrices[0].labels,
        "matrix": matrices[0].matrix.tolist(),
        "transcripts": [_confusion_json(one) for one in matrices],
    }
    if len(matrices) == 2:
        names = {"a": matrices[0].name, "b": matrices[1].name}
        payload["difference"] = {**names, "matrix": matrix_difference(matrices[0], matrices[1]).tolist()}
    return payload


def _confusion_json(confusion: Confusion) -> dict[str, Any]:
    # What the counts, `cases` among them, are counts of.
    counted: dict[str, Any] = {} if confusion.words == "cases" else {"counted": confusion.words}
    if confusion.iou is not None:
        counted["iou"] = [_rate(label, one) for label, one in zip(confusion.labels, confusion.iou, strict=True)]
    return {
        "name": confusion.name,
        "matrix": confusion.matrix.tolist(),
        "errors": confusion.errors,
        "below_threshold": confusion.below,
        "left_out": confusion.left_out,
        "recall": [_rate(label, one) for label, one in zip(confusion.labels, confusion.recall, strict=True)],
        "precision": [_rate(label, one) for label, one in zip(confusion.labels, confusion.precision, strict=True)],
        "method": confusion.method,
        "target": confusion.target,
        "confused": [
            {"truth": pair.truth, "answer": pair.answer, "count": pair.count, "share": pair.share}
            for pair in confusion.pairs
        ],
        **counted,
    }


def _rate(label: str, one: ClassRate) -> dict[str, Any]:
    rate = None if one.estimate is None else one.estimate.value
    interval = None if one.estimate is None else interval_json(one.estimate.interval)
    return {"label": label, "cases": one.cases, "rate": rate, "interval": interval}

"""Confusion matrices: the true classes of cases, or of what they consist of, and what the program answered."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from harness.analysis.align import AlignedRuns, Run, align
from harness.analysis.matching import copy_count
from harness.analysis.sampling import Sampling, take_sample
from harness.errors import TranscriptError
from harness.files.conditions import sort_key
from harness.options.comparing import ConfusionOptions
from harness.stats.arrays import BoolArray, FloatArray, IntArray
from harness.stats.rates import Interval
from harness.stats.replication.estimates import make_estimate
from harness.stats.replication.method import Replication
from harness.stats.replication.statistic import ratio, shares
from harness.tasks.task import AnswerError, ElementConfusion

TextArray = npt.NDArray[np.object_]
NOTHING = "(none)"


@dataclass(frozen=True, eq=False)
class TrueClasses:
    """The class of each case, whether it is known (and counts), and whether refusing is the right answer."""

    label: TextArray
    known: BoolArray
    refuse: BoolArray


def find_classes(aligned: AlignedRuns, options: ConfusionOptions) -> TrueClasses:
    """The true classes. A case with no claim and no truth has a class of its own."""
    column, expect = aligned.recorded("truth"), aligned.recorded("expect")
    if column is None or expect is None:
        raise TranscriptError(f"{aligned.names[0]}: no truth and no claims; a confusion matrix needs them")
    truth = np.array([*column.labels, ""], dtype=object)[column.codes]
    claimless = np.asarray(np.array([*expect.labels, ""], dtype=object)[expect.codes] == "", dtype=np.bool_)
    truth = np.where((truth == "") & claimless, NOTHING, truth)
    known = np.asarray(truth != "", dtype=np.bool_)
    return TrueClasses(truth, known & aligned.positive if options.positives else known, claimless & ~aligned.positive)


@dataclass(frozen=True, eq=False)
class AnswerLabels:
    """What one program answered to each case: "" for a refusal, an error, or a label below the threshold."""

    label: TextArray
    error: BoolArray
    below: BoolArray


def find_answers(run: Run, order: IntArray, options: ConfusionOptions) -> AnswerLabels:
    """The answers of one run, in the order of the aligned cases."""
    columns = run.columns
    error = columns.error.codes[order] >= 0
    label = np.array([*columns.actual.labels, ""], dtype=object)[columns.actual.codes[order]]
    threshold = options.threshold
    if threshold is None:
        declared = columns.header.params.get("threshold")
        threshold = float(declared) if isinstance(declared, (int, float)) else -np.inf
    # An answer without a score, which is not a number, is below no threshold.
    below = np.asarray((columns.score[order] < threshold) & ~error & (label != ""), dtype=np.bool_)
    return AnswerLabels(np.where(error | below, "", label), error, below)


def all_labels(columns: Sequence[TextArray]) -> list[str]:
    """All classes and answers: numbers in numeric order, and `NOTHING` last."""
    labels = {str(label) for column in columns for label in set(column.tolist())} - {"", NOTHING}
    ordered = sorted(labels, key=lambda label: (*sort_key(label), label))
    return [*ordered, NOTHING] if any((column == NOTHING).any() for column in columns) else ordered


# With more classes times cases there are no intervals: they would take minutes.
MAX_ESTIMATED = 50_000_000


# Counts; weights if pixels have them.
Matrix = npt.NDArray[np.intp] | npt.NDArray[np.float64]


@dataclass(frozen=True)
class ClassRate:
    """One class: over how many cases a rate is computed, and the rate; None without cases."""

    label: str
    cases: int | float
    rate: float | None = None
    interval: Interval | None = None


class ClassRates:
    """Rates within a class. The sample has each record `copies` times; without a sample there are no intervals."""

    def __init__(self, sampling: Sampling | None, confidence: float, labels: Sequence[str], copies: int) -> None:
        self.copies = copies
        self._labels, self._replication = labels, Replication(confidence=confidence)
        self._sample = None if sampling is None else sampling.sample
        self._affordable = sampling is not None and len(labels) * sampling.sample.cases <= MAX_ESTIMATED
        self.method = "wilson" if self._affordable else "none"
        self.target = "new independent cases"
        if sampling is not None and sampling.known and self._affordable:
            self.method, self.target = "brr" if sampling.stratum else "jackknife", sampling.target

    def by_class(self, codes: IntArray, success: BoolArray) -> list[ClassRate]:
        """The share of successes within each class; -1 for cases that count for none."""
        if self._sample is not None and self._affordable:
            rates = []
            for number, label in enumerate(self._labels):
                within = codes == number
                rate = ClassRate(label, self.count(within))
                if (self._sample.weights * within).any():
                    statistic = shares([success & within], [within])
                    estimate = make_estimate(self._sample, statistic, self._replication)
                    rate = replace(rate, rate=estimate.value, interval=estimate.interval)
                rates.append(rate)
            return rates
        # All classes at once: a mask for each of very many would fill the memory.
        inside, classes = codes >= 0, len(self._labels)
        weights = np.ones(len(codes)) if self._sample is None else self._sample.weights
        cases = np.bincount(codes[inside], minlength=classes) // self.copies
        totals, hits = (
            np.bincount(codes[inside], weights=part[inside], minlength=classes) for part in (weights, weights * success)
        )
        return [
            ClassRate(label, count, hit / total if total > 0 else None)
            for label, count, total, hit in zip(
                self._labels, cases.tolist(), totals.tolist(), hits.tolist(), strict=True
            )
        ]

    def count(self, cases: BoolArray) -> int:
        """How many records these are."""
        return int(np.count_nonzero(cases)) // self.copies


# Free-text answers are not classes, and their matrix would fill the memory.
MAX_LABELS = 2000


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
    below_threshold: int
    left_out: int
    recall: list[ClassRate]
    precision: list[ClassRate]
    method: str
    target: str
    # The column of the strata that `target` names.
    stratum: str | None
    # What the shares follow, and the counts do not.
    weights: str = "cases"
    # What is counted; and of each class what truth and answer have in common, as a share of what either has.
    words: str = "cases"
    iou: list[ClassRate] | None = None

    @property
    def confused(self) -> list[ConfusedPair]:
        """Wrong answers, the most frequent first."""
        sums = self.matrix.sum(axis=1)
        pairs = [
            ConfusedPair(self.labels[i], self.labels[j], self.matrix[i, j].item(), float(self.matrix[i, j] / sums[i]))
            for i, j in np.argwhere(self.matrix[:, :-1] > 0).tolist()
            if i != j
        ]
        return sorted(pairs, key=lambda pair: (-pair.count, -pair.share, pair.truth, pair.answer))


def confusions(runs: Sequence[Run], options: ConfusionOptions) -> list[Confusion]:
    """The matrices of transcripts of one test, all with the same labels."""
    if (elements := _element_classes(runs, options)) is not None:
        aligned = align(runs, intersect=options.intersect, partial=options.partial)
        sampling = take_sample(aligned, options) if aligned.n > 1 else None
        return [
            _element_confusion(aligned, number, of_run, sampling, options) for number, of_run in enumerate(elements)
        ]
    for run in runs:
        test = run.columns.header.test
        if not test.find_task(run.source).answers_classes:
            raise TranscriptError(
                f"{run.source}: a {test.task} test; a confusion matrix needs the labels of a label test; "
                "`hate rate T --statistic tpr,fpr` counts both kinds of error"
            )
    aligned = align(runs, intersect=options.intersect, partial=options.partial)
    truths = find_classes(aligned, options)
    if not truths.known.any():
        raise TranscriptError(f"{runs[0].source}: no case whose class is known; a confusion matrix needs truth")
    answers = [find_answers(run, order, options) for run, order in zip(runs, aligned.orders, strict=True)]
    labels = all_labels([column[truths.known] for column in (truths.label, *(answer.label for answer in answers))])
    if len(labels) > MAX_LABELS:
        raise TranscriptError(
            f"{runs[0].source}: {len(labels):,} different labels; "
            f"a confusion matrix is for classes, at most {MAX_LABELS:,}"
        )
    # One case gives a matrix, but is not a sample.
    sampling = take_sample(aligned, options) if aligned.n > 1 else None
    return [
        _confusion(aligned, number, labels, truths, answer, sampling, options) for number, answer in enumerate(answers)
    ]


def _confusion(
    aligned: AlignedRuns,
    number: int,
    labels: list[str],
    truths: TrueClasses,
    answers: AnswerLabels,
    sampling: Sampling | None,
    options: ConfusionOptions,
) -> Confusion:
    rates = ClassRates(sampling, options.confidence, labels, copy_count(aligned.orders[number]))
    code = {label: number for number, label in enumerate(labels)}
    refusal, known = len(labels), truths.known
    rows = np.array([code.get(label, -1) for label in truths.label.tolist()])
    columns = np.array([code.get(label, refusal) for label in answers.label.tolist()])
    flat = rows[known] * (refusal + 1) + columns[known]
    matrix = np.bincount(flat, minlength=refusal * (refusal + 1)).reshape(refusal, refusal + 1)
    # Where all cases of a class should be refused, a refusal is the right answer.
    of_class, refuse = (np.bincount(rows[cases], minlength=refusal) for cases in (known, known & truths.refuse))
    right = np.where((of_class > 0) & (of_class == refuse), refusal, np.arange(refusal))
    recall = rates.by_class(np.where(known, rows, -1), columns == right[rows])
    precision = rates.by_class(np.where(known & (columns < refusal), columns, -1), rows == columns)
    return Confusion(
        name=aligned.names[number],
        labels=labels,
        # A run whose answers are matched several times has one a case.
        words=aligned.counted if rates.copies == 1 else "cases",
        matrix=matrix // rates.copies,
        errors=rates.count(answers.error & known),
        below_threshold=rates.count(answers.below & known),
        left_out=rates.count(~known),
        recall=recall,
        precision=precision,
        method=rates.method,
        target=rates.target,
        stratum=None if sampling is None else sampling.stratum,
        weights="cases" if sampling is None else sampling.weights,
    )


def matrix_difference(a: Confusion, b: Confusion) -> Matrix:
    """The first matrix minus the second."""
    return np.asarray(a.matrix - b.matrix)


def _element_classes(runs: Sequence[Run], options: ConfusionOptions) -> list[ElementConfusion] | None:
    """The classes of what the cases of every run consist of, such as pixels; None if the task has none."""
    elements = []
    for run in runs:
        header = run.columns.header
        params = dict(header.params) | ({} if options.threshold is None else {"threshold": options.threshold})
        try:
            of_run = header.test.find_task(run.source).confusion(run.columns, header.test.rules, params)
        except AnswerError as error:
            raise TranscriptError(f"{run.source}: {error}") from None
        if of_run is None:
            return None
        elements.append(of_run)
    return elements


def _element_confusion(
    aligned: AlignedRuns, number: int, elements: ElementConfusion, sampling: Sampling | None, options: ConfusionOptions
) -> Confusion:
    """Every element counts, and the cases are the sample: rates are ratios of sums over the cases."""
    run, order, name = aligned.runs[number], aligned.orders[number], aligned.names[number]
    inside = aligned.positive if options.positives else np.ones(aligned.n, dtype=np.bool_)
    kept = np.isin(elements.case, order[inside])
    if not kept.any():
        raise TranscriptError(f"{name}: no {elements.words} are recorded; a confusion matrix needs them")
    replication, records = Replication(confidence=options.confidence), int(order.max()) + 1
    methods: list[str] = []

    def by_case(which: BoolArray) -> FloatArray:
        counted = which & (elements.case < records)
        sums = np.bincount(elements.case[counted], weights=elements.weight[counted], minlength=records)
        return np.asarray(sums[order] * inside)

    def rate(label: str, within: BoolArray, right: BoolArray) -> ClassRate:
        above, below = by_case(within & right), by_case(within)
        total = float(below.sum())
        if not total:
            return ClassRate(label, 0)
        count = int(total) if total.is_integer() else total
        if sampling is None:
            return ClassRate(label, count, float(above.sum() / total))
        counted = inside[:, None].astype(np.float64)
        statistic = ratio(above, below, bounds=(0.0, 1.0), counted=counted)
        estimate = make_estimate(sampling.sample, statistic, replication)
        methods.append(estimate.method)
        return ClassRate(label, count, estimate.value, estimate.interval)

    truth, answer, kinds = elements.truth, elements.answer, list(enumerate(elements.labels))
    recall = [rate(label, truth == k, answer == k) for k, label in kinds]
    precision = [rate(label, answer == k, truth == k) for k, label in kinds]
    iou = [rate(label, (truth == k) | (answer == k), truth == answer) for k, label in kinds]
    return Confusion(
        name=name,
        labels=elements.labels,
        matrix=_element_matrix(elements, kept),
        errors=int(np.count_nonzero((run.error.codes[order] >= 0) & inside)),
        below_threshold=0,
        left_out=int(np.count_nonzero(~inside)),
        recall=recall,
        precision=precision,
        method=methods[-1] if methods else "none",
        target="new independent cases" if sampling is None else sampling.target,
        stratum=None if sampling is None else sampling.stratum,
        weights="cases" if sampling is None else sampling.weights,
        words=elements.words,
        iou=iou,
    )


def _element_matrix(elements: ElementConfusion, kept: BoolArray) -> Matrix:
    """Rows truth, columns the answer, the last one for errors; whole numbers unless pixels have weights."""
    kinds = len(elements.labels)
    answer = np.where(elements.answer < 0, kinds, elements.answer)
    cells = (elements.truth * (kinds + 1) + answer)[kept]
    sums = np.bincount(cells, weights=elements.weight[kept], minlength=kinds * (kinds + 1)).reshape(kinds, kinds + 1)
    whole = np.rint(sums)
    return whole.astype(np.intp) if np.array_equal(sums, whole) else sums

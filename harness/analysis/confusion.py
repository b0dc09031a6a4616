"""Confusion matrices: what was there, and what the program said."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from harness.analysis.comparing.align import Aligned, Run, align
from harness.analysis.comparing.sampling import DesignOptions, Sampling, take_sample
from harness.errors import TranscriptError
from harness.params import Value
from harness.stats.rates import Interval, wilson
from harness.stats.replication.estimate import replicate
from harness.stats.replication.plan import Plan
from harness.stats.replication.statistic import rate
from harness.transcript.columns import Columns

IntArray = npt.NDArray[np.intp]
BoolArray = npt.NDArray[np.bool_]
NOTHING = "(none)"
# Classes times cases beyond which intervals are Wilson's: replication would take minutes.
MOST_REPLICATED = 50_000_000


@dataclass(frozen=True)
class Choice:
    """Which records count, and how an answer is taken."""

    threshold: float | None = None
    positives: bool = False
    intersect: bool = False
    partial: bool = False
    confidence: float = 0.95
    design: DesignOptions = field(default_factory=DesignOptions)


@dataclass(frozen=True)
class ClassRate:
    """One class: a rate with its interval; no rate where there is nothing to take it over."""

    cases: int
    rate: float | None
    interval: Interval | None


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
    truths = _truths(aligned, choice)
    if not truths.known.any():
        raise TranscriptError(f"{runs[0].source}: no case whose class is known; a confusion matrix needs truth")
    answers = [_answers(run, order, choice) for run, order in zip(runs, _orders(aligned, runs), strict=True)]
    labels = _labels([column[truths.known] for column in (truths.label, *(answer.label for answer in answers))])
    # One case is a matrix, but no sample.
    sampling = take_sample(aligned, choice.design) if aligned.n > 1 else None
    return [
        _confusion(name, labels, truths, answer, _Rates(sampling, choice, len(labels)))
        for name, answer in zip(aligned.names, answers, strict=True)
    ]


@dataclass(frozen=True, eq=False)
class _Answers:
    """What one program said of each case: "" for a refusal, an error, or a label below the threshold."""

    label: npt.NDArray[np.object_]
    error: BoolArray
    below: BoolArray


@dataclass(frozen=True, eq=False)
class _Truths:
    """The class of each case, whether it is known (and counts), and whether the right answer is to refuse."""

    label: npt.NDArray[np.object_]
    known: BoolArray
    refuse: BoolArray


def _truths(aligned: Aligned, choice: Choice) -> _Truths:
    """A case that claims nothing and shows nothing known has a class of its own."""
    column, expect = aligned.column("truth"), aligned.column("expect")
    if column is None or expect is None:
        raise TranscriptError(f"{aligned.names[0]}: no truth and no claims; a confusion matrix needs them")
    truth = np.array([*column.labels, ""], dtype=object)[column.codes]
    claimless = np.asarray(np.array([*expect.labels, ""], dtype=object)[expect.codes] == "", dtype=np.bool_)
    truth = np.where((truth == "") & claimless, NOTHING, truth)
    known = np.asarray(truth != "", dtype=np.bool_)
    return _Truths(truth, known & aligned.positive if choice.positives else known, claimless & ~aligned.positive)


def _orders(aligned: Aligned, runs: Sequence[Run]) -> list[IntArray]:
    """Where the aligned cases are in each run."""
    orders = []
    for run in runs:
        if run.columns.ids == aligned.ids:
            orders.append(np.arange(aligned.n))
            continue
        place = {
            (case, turn): number
            for number, (case, turn) in enumerate(zip(run.columns.ids, run.columns.repeat.tolist(), strict=True))
        }
        turns = aligned.cases.repeat[aligned.order].tolist()
        wanted = zip(aligned.ids, turns, strict=True)
        orders.append(np.fromiter((place[key] for key in wanted), np.intp, aligned.n))
    return orders


def _answers(run: Run, order: IntArray, choice: Choice) -> _Answers:
    columns = run.columns
    error = columns.error.codes[order] >= 0
    label = np.array([*columns.actual.labels, ""], dtype=object)[columns.actual.codes[order]]
    threshold = _threshold(columns, choice)
    # Not a number, where an answer has no score, is below no threshold.
    below = np.asarray((columns.score[order] < threshold) & ~error & (label != ""), dtype=np.bool_)
    return _Answers(np.where(error | below, "", label), error, below)


def _threshold(columns: Columns, choice: Choice) -> float:
    if choice.threshold is not None:
        return choice.threshold
    declared: Value | None = columns.header.params.get("threshold")
    return float(declared) if isinstance(declared, (int, float)) else -np.inf


def _labels(columns: Sequence[npt.NDArray[np.object_]]) -> list[str]:
    """All classes and answers: numbers as numbers, and nothing last."""
    found = {str(label) for column in columns for label in np.unique(column.astype(str)).tolist()} - {"", NOTHING}
    ordered = sorted(found, key=_natural)
    return [*ordered, NOTHING] if any((column == NOTHING).any() for column in columns) else ordered


def _natural(label: str) -> tuple[int, float, str]:
    try:
        return 0, float(label), label
    except ValueError:
        return 1, 0.0, label


def _confusion(name: str, labels: list[str], truths: _Truths, answers: _Answers, rates: "_Rates") -> Confusion:
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
        matrix=matrix,
        errors=int(np.count_nonzero(answers.error & known)),
        below=int(np.count_nonzero(answers.below & known)),
        left_out=int(np.count_nonzero(~known)),
        recall=recall,
        precision=precision,
        method=rates.method,
        target=rates.target,
    )


class _Rates:
    """Rates within a class, with the interval that fits the design."""

    def __init__(self, sampling: Sampling | None, choice: Choice, classes: int) -> None:
        self._plan = Plan(confidence=choice.confidence)
        self._sample = None
        self.method, self.target = "wilson", "new independent cases"
        if sampling is not None and sampling.known and classes * sampling.sample.cases <= MOST_REPLICATED:
            self._sample = sampling.sample
            self.method, self.target = "brr" if sampling.stratum else "jackknife", sampling.target

    def of(self, within: BoolArray, success: BoolArray) -> ClassRate:
        cases, hits = int(np.count_nonzero(within)), int(np.count_nonzero(within & success))
        if not cases:
            return ClassRate(0, None, None)
        interval = wilson(hits, cases, confidence=self._plan.confidence)
        if self._sample is not None and 0 < hits < cases:
            try:
                found = replicate(self._sample, rate(success & within, within=within), self._plan)
                return ClassRate(cases, found.estimate, found.interval)
            except ValueError:
                # Units of so few that no variance can be had.
                return ClassRate(cases, hits / cases, interval)
        return ClassRate(cases, hits / cases, interval)


def difference(a: Confusion, b: Confusion) -> npt.NDArray[np.intp]:
    """The first matrix less the second."""
    return np.asarray(a.matrix - b.matrix)


def as_json(found: Sequence[Confusion]) -> dict[str, Any]:
    """Under the names that the documentation promises; of several transcripts, `matrix` is the first one's."""
    payload: dict[str, Any] = {
        "labels": found[0].labels,
        "matrix": found[0].matrix.tolist(),
        "transcripts": [_one(one) for one in found],
    }
    if len(found) == 2:
        names = {"a": found[0].name, "b": found[1].name}
        payload["difference"] = {**names, "matrix": difference(found[0], found[1]).tolist()}
    return payload


def _one(found: Confusion) -> dict[str, Any]:
    return {
        "name": found.name,
        "matrix": found.matrix.tolist(),
        "errors": found.errors,
        "below_threshold": found.below,
        "left_out": found.left_out,
        "recall": [_rate(label, one) for label, one in zip(found.labels, found.recall, strict=True)],
        "precision": [_rate(label, one) for label, one in zip(found.labels, found.precision, strict=True)],
        "method": found.method,
        "target": found.target,
        "confused": [
            {"truth": pair.truth, "answer": pair.answer, "count": pair.count, "share": pair.share}
            for pair in found.pairs
        ],
    }


def _rate(label: str, one: ClassRate) -> dict[str, Any]:
    interval = None if one.interval is None else [one.interval.low, one.interval.high]
    return {"label": label, "cases": one.cases, "rate": one.rate, "interval": interval}

"""Confusion matrices of what the cases consist of, such as pixels: every pixel counts, and images are the sample."""

from collections.abc import Sequence

import numpy as np

from harness.analysis.align import AlignedRuns, Run, align
from harness.analysis.confusion import ClassRate, Confusion, ConfusionRequest, Matrix
from harness.analysis.sampling import Sampling, take_sample
from harness.errors import TranscriptError
from harness.stats.arrays import BoolArray, FloatArray, IntArray
from harness.stats.estimate import Estimate
from harness.stats.replication.estimates import make_estimate
from harness.stats.replication.method import Replication
from harness.stats.replication.statistic import ratio
from harness.tasks.task import AnswerError, ElementConfusion


def find_elements(runs: Sequence[Run], request: ConfusionRequest) -> list[ElementConfusion] | None:
    """The classes of the elements of every run; None if the task has none."""
    found = []
    for run in runs:
        header = run.columns.header
        params = dict(header.params) | ({} if request.threshold is None else {"threshold": request.threshold})
        try:
            one = header.test.find_task(run.source).confusion(run.columns, header.test.rules, params)
        except AnswerError as error:
            raise TranscriptError(f"{run.source}: {error}") from None
        if one is None:
            return None
        found.append(one)
    return found


def element_confusions(
    runs: Sequence[Run], elements: Sequence[ElementConfusion], request: ConfusionRequest
) -> list[Confusion]:
    """The matrices of transcripts of one test."""
    aligned = align(runs, intersect=request.intersect, partial=request.partial)
    sampling = take_sample(aligned, request.design) if aligned.n > 1 else None
    return [_confusion(aligned, number, one, sampling, request) for number, one in enumerate(elements)]


def _confusion(
    aligned: AlignedRuns, number: int, elements: ElementConfusion, sampling: Sampling | None, request: ConfusionRequest
) -> Confusion:
    run, order, kinds = aligned.runs[number], aligned.orders[number], len(elements.labels)
    inside = aligned.positive if request.positives else np.ones(aligned.n, dtype=np.bool_)
    kept = np.isin(elements.case, order[inside])
    if not kept.any():
        raise TranscriptError(
            f"{aligned.names[number]}: no {elements.words} are recorded; a confusion matrix needs them"
        )
    rates = _ElementRates(elements, order, inside, sampling, request)
    own = range(kinds)
    return Confusion(
        name=aligned.names[number],
        labels=elements.labels,
        matrix=_matrix(elements, kept),
        errors=int(np.count_nonzero((run.error.codes[order] >= 0) & inside)),
        below=0,
        left_out=int(np.count_nonzero(~inside)),
        recall=[rates.of(elements.truth == k, elements.answer == k) for k in own],
        precision=[rates.of(elements.answer == k, elements.truth == k) for k in own],
        method=rates.method,
        target="new independent cases" if sampling is None else sampling.target,
        stratum=None if sampling is None else sampling.stratum,
        words=elements.words,
        iou=[rates.of((elements.truth == k) | (elements.answer == k), elements.truth == elements.answer) for k in own],
    )


def _matrix(elements: ElementConfusion, kept: BoolArray) -> Matrix:
    """Rows truth, columns the answer, the last one for errors; whole numbers unless pixels have weights."""
    kinds = len(elements.labels)
    answer = np.where(elements.answer < 0, kinds, elements.answer)
    places = (elements.truth * (kinds + 1) + answer)[kept]
    sums = np.bincount(places, weights=elements.weight[kept], minlength=kinds * (kinds + 1)).reshape(kinds, kinds + 1)
    whole = np.rint(sums)
    return whole.astype(np.intp) if np.array_equal(sums, whole) else sums


class _ElementRates:
    """Ratios of sums over the cases, with errors by design."""

    def __init__(
        self,
        elements: ElementConfusion,
        order: IntArray,
        inside: BoolArray,
        sampling: Sampling | None,
        request: ConfusionRequest,
    ) -> None:
        self._elements, self._order, self._inside = elements, order, inside
        self._sample = None if sampling is None else sampling.sample
        self._replication = Replication(confidence=request.confidence)
        self.method = "none"

    def of(self, within: BoolArray, right: BoolArray) -> ClassRate:
        """The share of right elements among some of them."""
        above, below = self._by_case(within & right), self._by_case(within)
        total = float(below.sum())
        if not total:
            return ClassRate(0, None)
        count = int(total) if total.is_integer() else total
        if self._sample is None:
            return ClassRate(count, Estimate(float(above.sum() / total), np.nan, np.nan, None))
        counted = self._inside[:, None].astype(np.float64)
        estimate = make_estimate(
            self._sample, ratio(above, below, bounds=(0.0, 1.0), counted=counted), self._replication
        )
        self.method = estimate.method
        return ClassRate(count, estimate)

    def _by_case(self, which: BoolArray) -> FloatArray:
        elements, records = self._elements, int(self._order.max()) + 1
        kept = which & (elements.case < records)
        sums = np.bincount(elements.case[kept], weights=elements.weight[kept], minlength=records)
        return np.asarray(sums[self._order] * self._inside)

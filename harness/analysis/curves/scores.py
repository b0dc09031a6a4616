"""The scores of a transcript as a curve uses them: what a wrong label, a refusal and an error do to a score."""

from dataclasses import dataclass

import numpy as np

from harness.errors import TranscriptError
from harness.model import ErrorRule
from harness.stats.arrays import BoolArray, FloatArray, IntArray
from harness.stats.curves.scores import make_scored_cases
from harness.stats.curves.summaries import ScoredElements
from harness.tasks.task import AnswerError, Elements
from harness.transcript.columns import Columns


@dataclass(frozen=True, eq=False)
class CurveScores:
    """One score per record; infinite if no threshold, or every threshold, accepts it."""

    scores: FloatArray
    positive: BoolArray
    larger_is_better: bool

    @property
    def never(self) -> BoolArray:
        """Records that no finite threshold accepts."""
        return np.asarray(self.scores == (-np.inf if self.larger_is_better else np.inf))

    @property
    def always(self) -> BoolArray:
        """Records that every finite threshold accepts."""
        return np.asarray(self.scores == (np.inf if self.larger_is_better else -np.inf))


def curve_elements(columns: Columns, source: str) -> Elements | None:
    """What the cases of a transcript consist of, for tasks whose curves are over pixels or objects."""
    test = columns.header.test
    try:
        return test.find_task(source).elements(columns, test.rules, columns.header.params)
    except AnswerError as error:
        raise TranscriptError(f"{source}: {error}") from None


def scored_elements(elements: Elements, order: IntArray | None = None) -> ScoredElements:
    """The elements as curves use them; `order` says where the records of the cases are, if they were matched."""
    at, case = np.arange(elements.case.size), elements.case
    if order is not None:
        # The elements of the matched records, and the number of the case that each then belongs to.
        by_record = np.argsort(case, kind="stable")
        sizes = np.bincount(case, minlength=int(order.max(initial=-1)) + 1)
        starts, sizes = (np.cumsum(sizes) - sizes)[order], sizes[order]
        within = np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        at, case = by_record[np.repeat(starts, sizes) + within], np.repeat(np.arange(order.size), sizes)
    scored = make_scored_cases(elements.score[at], elements.positive[at], weights=elements.weight[at])
    return ScoredElements(scored, case)


def curve_scores(columns: Columns, source: str) -> CurveScores:
    """The scores of a transcript; a TranscriptError if no curve can be made of them.

    The task says which scores count; no threshold accepts any other. An error is a failure at every threshold, or a
    refusal if the test says so.
    """
    test = columns.header.test
    rule = test.find_task(source).curve(columns, test.rules, columns.header.params)
    # An answer without a score passes every threshold: no curve can be made of it.
    lacking = rule.needed & np.isnan(columns.score)
    count = int(np.count_nonzero(lacking))
    if count:
        first = columns.ids[int(lacking.argmax())]
        more = f" and {count - 1:,} more" if count > 1 else ""
        remedy = "a curve needs one: let the interface answer (label, score)"
        raise TranscriptError(f"{source}: no score in the answer to case '{first}'{more}; {remedy}")
    never, always = (-np.inf, np.inf) if rule.larger_is_better else (np.inf, -np.inf)
    scores = np.where(rule.counts, columns.score, never)
    if test.errors != ErrorRule.REFUSE:
        scores[(columns.error.codes >= 0) & ~columns.positive] = always
    positives = int(np.count_nonzero(columns.positive))
    for count, kind in ((positives, "positive"), (columns.positive.size - positives, "negative")):
        if not count:
            raise TranscriptError(f"{source}: no {kind} case; a curve needs positive and negative cases")
    return CurveScores(scores, columns.positive, rule.larger_is_better)

"""Cases that are worth looking at: those that runs fail on, and those on which they differ."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from harness.analysis.align import AlignedRuns
from harness.stats.arrays import BoolArray, FloatArray, IntArray
from harness.transcript.columns import OUTCOMES, Coded


@dataclass(frozen=True)
class RecordedReply:
    """What a run answered to a case; of several answers the first, with the share of them that were right."""

    outcome: str
    answer: str
    error: str
    score: float | None
    right: float


@dataclass(frozen=True)
class NotableCase:
    """A case as it was recorded, with the reply of every run."""

    id: str
    positive: bool
    expect: str
    truth: str
    replies: list[RecordedReply]


@dataclass(frozen=True)
class NotableCases:
    """Some of the cases of a kind, and how many there are."""

    cases: list[NotableCase]
    count: int


class CasesById:
    """Aligned records by the id of their case: with several answers to a case, it has several records."""

    def __init__(self, aligned: AlignedRuns) -> None:
        self._aligned = aligned
        _, first, self._case = np.unique(np.array(aligned.ids, dtype=object), return_index=True, return_inverse=True)
        # Cases in the order of the test, each by its first record.
        self._order = np.argsort(first)
        self._first: IntArray = first[self._order]
        sizes = np.bincount(self._case)[self._order]
        self._share: FloatArray = np.stack(
            [np.bincount(self._case, weights=of_run)[self._order] / sizes for of_run in aligned.success]
        )

    def failed(self, most: int) -> NotableCases:
        """Cases that no answer of any run solved."""
        failed = np.flatnonzero(self._share.max(axis=0) == 0)
        return self._chosen(_spread(failed, most), failed.size)

    def unsteady(self, most: int) -> NotableCases:
        """Cases that some answers of a run solved and others did not, the hardest first."""
        solved = self._share.mean(axis=0)
        varies = np.flatnonzero(((self._share > 0) & (self._share < 1)).any(axis=0))
        hardest = varies[np.argsort(solved[varies], kind="stable")]
        return self._chosen(hardest[:most], varies.size)

    def differing(self, most: int) -> NotableCases:
        """Cases that some runs solved and others did not: as evenly as possible of each way to differ."""
        solved: BoolArray = self._share >= 0.5
        differs = np.flatnonzero(solved.any(axis=0) & ~solved.all(axis=0))
        _, way = np.unique(solved[:, differs], axis=1, return_inverse=True)
        # The first of each way to differ, then the second of each, and so on.
        turn = np.zeros(differs.size, dtype=np.intp)
        for number in range(int(way.max()) + 1 if way.size else 0):
            same = np.flatnonzero(way.ravel() == number)
            turn[_spread(same, most)] = np.arange(1, min(same.size, most) + 1)
        picked = np.flatnonzero(turn)
        return self._chosen(np.sort(differs[picked[np.argsort(turn[picked], kind="stable")[:most]]]), differs.size)

    def _chosen(self, indices: Iterable[int], count: int) -> NotableCases:
        return NotableCases([self._notable(int(index)) for index in indices], int(count))

    def _notable(self, index: int) -> NotableCase:
        record, cases = int(self._first[index]), self._aligned.cases
        row = int(self._aligned.order[record])
        replies = [self._reply(run, record, float(share)) for run, share in enumerate(self._share[:, index])]
        return NotableCase(
            id=self._aligned.ids[record],
            positive=bool(self._aligned.positive[record]),
            expect=_text(cases.expect, row),
            truth=_text(cases.truth, row),
            replies=replies,
        )

    def _reply(self, run: int, record: int, share: float) -> RecordedReply:
        columns, row = self._aligned.runs[run], int(self._aligned.orders[run][record])
        score = float(columns.score[row])
        return RecordedReply(
            outcome=OUTCOMES[int(columns.outcome[row])].value,
            answer=_text(columns.actual, row),
            error=_text(columns.error, row),
            score=None if np.isnan(score) else score,
            right=share,
        )


def _text(column: Coded, row: int) -> str:
    code = int(column.codes[row])
    return "" if code < 0 else column.labels[code]


def _spread(indices: IntArray, most: int) -> IntArray:
    """At most so many of them, evenly spread."""
    if indices.size <= most:
        return indices
    return indices[np.linspace(0, indices.size - 1, most).round().astype(np.intp)]

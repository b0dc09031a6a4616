"""A measure of several cells, each a run on some of its cases, estimated together."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeVar

import numpy as np

from harness.analysis.align import AlignedRuns
from harness.analysis.sampling import Sampling
from harness.errors import UsageError
from harness.measures import Measure, Reads
from harness.options import ReplicationOptions
from harness.stats.arrays import BoolArray, FloatArray
from harness.stats.cochran import WaldTest
from harness.stats.estimate import Estimate
from harness.stats.replication.estimates import Estimates, make_estimates
from harness.stats.replication.method import Replication
from harness.stats.replication.statistic import Statistic, full_values, row_weights
from harness.stats.sign_flip import SignFlip

if TYPE_CHECKING:
    from harness.measures.measure import Cell

_Result = TypeVar("_Result")


@dataclass(frozen=True, eq=False)
class Cells:
    """The estimates of the cells that have a value; `index` is a cell's number among them."""

    estimates: Estimates | None
    index: dict[int, int]

    def estimate(self, cell: int) -> Estimate | None:
        """A cell by itself; None if it has no value."""
        return None if self.estimates is None or cell not in self.index else self.estimates.estimate(self.index[cell])

    def difference(self, a: int, b: int) -> Estimate | None:
        """One cell minus another; None if one has no value."""
        return self.differences([(a, b)])[0]

    def differences(
        self, pairs: Sequence[tuple[int, int]], adjust: Callable[[FloatArray], FloatArray] | None = None
    ) -> list[Estimate | None]:
        """The first cell of each pair minus the second; `adjust` corrects the p-values for their number."""
        return self._of_known(pairs, lambda known, first, second: known.differences(first, second, adjust))

    def simultaneous_differences(self, pairs: Sequence[tuple[int, int]]) -> list[Estimate | None]:
        """The same with p-values and intervals that hold for all pairs at once, by the largest t."""
        return self._of_known(pairs, lambda known, first, second: known.simultaneous_differences(first, second))

    def exchanges(self, pairs: Sequence[tuple[int, int]]) -> list[SignFlip | None]:
        """Whether the two cells of each pair, which are of the same cases, could have changed places in any unit."""
        return self._of_known(pairs, lambda known, first, second: known.exchanges(first, second))

    def without_number(self, cell: int) -> int:
        """How many cases do not count for a cell of all cases, because their records lack what the measure needs."""
        if self.estimates is None or cell not in self.index:
            return 0
        evidence = self.estimates.evidence
        counted = evidence.statistic.counted
        if counted is None:
            return 0
        lacking = counted[:, min(self.index[cell], counted.shape[1] - 1)] == 0
        return int(row_weights(evidence.statistic, np.ones(evidence.sample.cases)) @ lacking)

    def _of_known(
        self,
        pairs: Sequence[tuple[int, int]],
        estimate: Callable[[Estimates, list[int], list[int]], Sequence[_Result | None]],
    ) -> list[_Result | None]:
        """What is found for the pairs whose cells both have a value, None for the others."""
        known = [pair for pair in pairs if pair[0] in self.index and pair[1] in self.index]
        if self.estimates is None or not known:
            return [None] * len(pairs)
        first, second = ([self.index[pair[side]] for pair in known] for side in (0, 1))
        by_pair = dict(zip(known, estimate(self.estimates, first, second), strict=True))
        return [by_pair.get(pair) for pair in pairs]

    def ratios(self, pairs: Sequence[tuple[int, int]]) -> list[Estimate | None]:
        """The first cell of each pair over the second; None if one has no value above 0."""
        return self._of_known(pairs, lambda known, first, second: known.ratios(first, second))

    def equality(self) -> WaldTest | None:
        """Whether any two of three or more cells differ."""
        return self.estimates.equality() if self.estimates is not None and len(self.index) > 2 else None


@dataclass(frozen=True)
class Measurement:
    """A measure of aligned runs: how their cases were sampled, and how errors are computed."""

    measure: Measure
    aligned: AlignedRuns
    sampling: Sampling
    replication: Replication

    def runs(self) -> Cells:
        """Every run, on all cases."""
        return self.cells([(run, None) for run in range(len(self.aligned.names))])

    def cells(self, cells: Sequence["Cell"]) -> Cells:
        """All cells that have a value of the measure; a UsageError if these runs cannot have one."""
        try:
            statistic, values = self._evaluated(cells)
            known = np.flatnonzero(np.isfinite(values)).tolist()
            if not known:
                return Cells(None, {})
            if len(known) < len(cells):
                statistic = self.measure.statistic(self.aligned, [cells[i] for i in known])
            estimates = make_estimates(self.sampling.sample, statistic, self.replication)
        except ValueError as error:
            raise UsageError(f"--statistic {self.measure.name}: {error}") from None
        return Cells(estimates, {cell: number for number, cell in enumerate(known)})

    def values(self) -> FloatArray:
        """Every run, on all cases, without errors; not a number if one has no value."""
        try:
            return self._evaluated([(run, None) for run in range(len(self.aligned.names))])[1]
        except ValueError as error:
            raise UsageError(f"--statistic {self.measure.name}: {error}") from None

    def _evaluated(self, cells: Sequence["Cell"]) -> tuple[Statistic, FloatArray]:
        measure = self.measure
        # A curve over pixels has both classes in every image.
        if not (Reads.SCORE in measure.reads and self.aligned.elements is not None):
            check_classes(f"--statistic {measure.name}", measure.classes, self.aligned.positive)
        statistic = measure.statistic(self.aligned, cells)
        # The squares of recorded numbers may overflow; such a measure has no value, or no error.
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return statistic, full_values(self.sampling.sample, statistic)


@dataclass(eq=False)
class GroupCells:
    """The cells of runs in groups of cases, by numbers of runs and groups; the cells asked for last are kept."""

    measurement: Measurement
    members: Sequence[BoolArray]
    _last: tuple[tuple[Sequence[int], Sequence[int]], Cells | None] | None = None

    def of(self, runs: Sequence[int], groups: Sequence[int]) -> Cells | None:
        """Every run in every group, run by run; None unless all of them have a value."""
        key = (tuple(runs), tuple(groups))
        if self._last is None or self._last[0] != key:
            try:
                cells = self.measurement.cells([(run, self.members[group]) for run in runs for group in groups])
            except UsageError:
                cells = Cells(None, {})
            self._last = (key, cells if len(cells.index) == len(runs) * len(groups) else None)
        return self._last[1]


def replication_of(options: ReplicationOptions) -> Replication:
    """How errors are estimated, in the words of the statistics."""
    if options.fay is not None and options.method not in ("auto", "brr", "fay"):
        raise UsageError(f"--fay is a factor of BRR, which --method {options.method} is not; leave one of them out")
    method = {"fay": "brr", "linear": "linearised"}.get(options.method, options.method)
    fay = 0.5 if options.method == "fay" and options.fay is None else options.fay
    df: Literal["design", "satterthwaite"] = "satterthwaite" if options.df == "satterthwaite" else "design"
    return Replication(method=method, fay=fay, df=df, confidence=options.confidence, seed=options.seed)


def check_classes(what: str, classes: Sequence[str], positive: BoolArray) -> None:
    """A UsageError if the test lacks cases of a class that is needed."""
    present = {"positive": positive.any(), "negative": not positive.all()}
    for kind in classes:
        if not present[kind]:
            raise UsageError(f"{what} needs {kind} cases; this test has none")

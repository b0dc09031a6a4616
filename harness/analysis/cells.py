"""A measure of several cells, runs and parts of their cases, estimated together."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from harness.analysis.align import AlignedRuns
from harness.analysis.sampling import Sampling
from harness.errors import UsageError
from harness.measures import Measure
from harness.stats.arrays import BoolArray, FloatArray
from harness.stats.cochran import WaldTest
from harness.stats.estimate import Estimate
from harness.stats.replication.estimates import Estimates, make_estimates
from harness.stats.replication.method import Replication
from harness.stats.replication.statistic import full_values

# A run by its number, and which of the cases count; all of them where nothing is said.
Cell = tuple[int, BoolArray | None]


@dataclass(frozen=True, eq=False)
class Cells:
    """The estimates of the cells that have a value; `place` is where a cell stands among them."""

    found: Estimates | None
    place: dict[int, int]

    def one(self, cell: int) -> Estimate | None:
        """A cell by itself; None where it has no value."""
        return None if self.found is None or cell not in self.place else self.found.one(self.place[cell])

    def difference(self, a: int, b: int) -> Estimate | None:
        """One cell less another; None where one has no value."""
        return self.differences([(a, b)])[0]

    def differences(
        self, pairs: Sequence[tuple[int, int]], adjust: Callable[[FloatArray], FloatArray] | None = None
    ) -> list[Estimate | None]:
        """Cells less others; `adjust` corrects their p-values for many."""
        return self._of_known(pairs, lambda found, first, second: found.differences(first, second, adjust))

    def simultaneous_differences(self, pairs: Sequence[tuple[int, int]]) -> list[Estimate | None]:
        """Cells less others, with p-values and intervals that hold for all pairs at once, by the largest t."""
        return self._of_known(pairs, lambda found, first, second: found.simultaneous_differences(first, second))

    def _of_known(
        self,
        pairs: Sequence[tuple[int, int]],
        estimate: Callable[[Estimates, list[int], list[int]], list[Estimate]],
    ) -> list[Estimate | None]:
        """Estimates of the pairs of which both cells have a value, None for the others."""
        known = [pair for pair in pairs if pair[0] in self.place and pair[1] in self.place]
        if self.found is None or not known:
            return [None] * len(pairs)
        first, second = ([self.place[pair[side]] for pair in known] for side in (0, 1))
        estimates = dict(zip(known, estimate(self.found, first, second), strict=True))
        return [estimates.get(pair) for pair in pairs]

    def ratio(self, a: int, b: int) -> Estimate | None:
        """One cell over another; None where one has no value above 0."""
        if self.found is None or a not in self.place or b not in self.place:
            return None
        return self.found.ratio(self.place[a], self.place[b])

    def equality(self) -> WaldTest | None:
        """Whether any two of three or more cells differ."""
        return self.found.equality() if self.found is not None and len(self.place) > 2 else None


@dataclass(frozen=True)
class Measurement:
    """A measure of aligned runs: how their cases were sampled, and how errors are found."""

    measure: Measure
    aligned: AlignedRuns
    sampling: Sampling
    replication: Replication

    def runs(self) -> Cells:
        """Every run, on all cases."""
        return self.cells([(run, None) for run in range(len(self.aligned.names))])

    def cells(self, cells: Sequence[Cell]) -> Cells:
        """All cells that have a value of the measure; a UsageError where these runs cannot have it."""
        measure, sample = self.measure, self.sampling.sample
        check_classes(f"--statistic {measure.name}", measure.classes, self.aligned.positive)
        # Records may hold numbers whose squares are none; such a measure has no value, or no error.
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            values = full_values(sample, measure.statistic(self.aligned, cells))
        having = np.flatnonzero(np.isfinite(values)).tolist()
        if not having:
            return Cells(None, {})
        try:
            statistic = measure.statistic(self.aligned, [cells[i] for i in having])
            found = make_estimates(sample, statistic, self.replication)
        except ValueError as error:
            raise UsageError(f"--statistic {measure.name}: {error}") from None
        return Cells(found, {cell: place for place, cell in enumerate(having)})


def check_classes(what: str, classes: Sequence[str], positive: BoolArray) -> None:
    """A UsageError where the test lacks cases of a class that is needed."""
    there = {"positive": positive.any(), "negative": not positive.all()}
    for kind in classes:
        if not there[kind]:
            raise UsageError(f"{what} needs {kind} cases; this test has none")

"""What a measure is: a number of a run, with its name, its words and how it is made. Nothing here imports numpy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Flag, auto
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from harness.stats.arrays import BoolArray, FloatArray
    from harness.stats.curves.scores import ScoredCases
    from harness.stats.replication.statistic import Statistic

    # A run by its number, and which of the cases count; all of them where nothing is said.
    Cell = tuple[int, BoolArray | None]


class Reads(Flag):
    """What a measure needs of a record."""

    OUTCOME = auto()
    SCORE = auto()
    RANK = auto()
    COST = auto()
    VALUES = auto()


class Runs(Protocol):
    """Runs on the same n cases, as far as measures look at them; (m, n) arrays have a row a run."""

    @property
    def names(self) -> list[str]:
        """What the runs are called."""

    @property
    def positive(self) -> BoolArray:
        """Whether a case is a positive one."""

    @property
    def outcome(self) -> npt.NDArray[np.int8]:
        """Places among the outcomes, (m, n)."""

    @property
    def seconds(self) -> FloatArray:
        """Seconds an answer took, (m, n); not a number where they were not recorded."""

    @property
    def memory(self) -> FloatArray:
        """Bytes a program took, (m, n); not a number where they were not recorded."""

    @property
    def ranks(self) -> FloatArray:
        """The rank of the right one, (m, n); not a number where there is none."""

    def curve_cases(self) -> list[ScoredCases]:
        """The scores of every run, ready for curves."""

    def value(self, name: str) -> FloatArray:
        """A further number of the records by name, (m, n)."""


@dataclass(frozen=True)
class Measure:
    """A number of a run.

    `statistic` makes it of runs for some cells, all in one go, so that their differences have an error. `classes`: what
    cases a test must have for it; `needs`: without what answers a run has no value of it. `of_totals` is the formula
    over the totals TP, FN, FP and TN (..., 4) where outcomes are all that it looks at. `unit`: what it is counted in.
    A `share` of cases differs by so many points.
    """

    name: str
    words: str
    statistic: Callable[[Runs, Sequence[Cell]], Statistic]
    larger_is_better: bool = True
    bounds: tuple[float, float] = (0.0, 1.0)
    reads: Reads = Reads.OUTCOME
    classes: tuple[str, ...] = ()
    needs: str = ""
    unit: str = ""
    share: bool = False
    of_totals: Callable[[Any], Any] | None = None

    def better(self, value: float, other: float) -> bool:
        """Whether one value is better than another."""
        return value > other if self.larger_is_better else value < other

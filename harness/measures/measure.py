"""The definition of a measure: a number of a run, with its name and how to compute it. Nothing here imports numpy."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Flag, auto
from math import isclose
from typing import TYPE_CHECKING, Any, Protocol

from harness.errors import UsageError
from harness.model import join_names

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from harness.stats.arrays import BoolArray, FloatArray, IntArray
    from harness.stats.attempts import Attempts
    from harness.stats.curves.scores import ScoredCases
    from harness.stats.curves.summaries import ScoredElements
    from harness.stats.replication.statistic import Statistic

    # A run by its number, and which of the cases count; None if all do.
    Cell = tuple[int, BoolArray | None]


class Reads(Flag):
    """What a measure needs from a record."""

    OUTCOME = auto()
    SCORE = auto()
    RANK = auto()
    RESOURCES = auto()
    VALUES = auto()
    NUMBERS = auto()
    BOXES = auto()
    PIXELS = auto()


class Runs(Protocol):
    """Runs on the same n cases, as far as measures need them; (m, n) arrays have a row per run."""

    @property
    def names(self) -> list[str]:
        """The names of the runs."""

    @property
    def positive(self) -> BoolArray:
        """Whether a case is positive."""

    @property
    def outcome(self) -> npt.NDArray[np.int8]:
        """Indices of the outcomes, (m, n)."""

    @property
    def seconds(self) -> FloatArray:
        """Seconds that an answer took, (m, n); NaN if not recorded."""

    @property
    def memory(self) -> FloatArray:
        """Bytes of memory that a program used, (m, n); NaN if not recorded."""

    @property
    def ranks(self) -> FloatArray:
        """The rank of the right identity, (m, n); NaN if there is none."""

    @property
    def params(self) -> list[Mapping[str, Any]]:
        """The parameters of every run."""

    def detail(self, name: str) -> list[list[Any]]:
        """What tasks record under `pixels` or `boxes`, for each run and case; None for a record without it."""

    @property
    def errors(self) -> FloatArray:
        """The answer minus the truth, (m, n); NaN unless both are numbers."""

    def curve_cases(self) -> list[ScoredCases]:
        """The scores of every run, ready for curves."""

    @property
    def elements(self) -> list[ScoredElements] | None:
        """What the cases consist of, such as pixels, with scores; None for tasks whose curves are over cases."""

    def attempts(self) -> tuple[list[Attempts], IntArray]:
        """The answers of every run by case, before runs were matched; and the number of each record's case."""

    def value(self, name: str) -> FloatArray:
        """An additional number of the records, by name, (m, n)."""


@dataclass(frozen=True)
class Measure:
    """A number of a run.

    statistic         computes it from runs for several cells at once, so that their differences have an error
    larger_is_better  None if nobody has said: then no value is better than another
    reads             what it needs of a record
    classes           the classes of cases that a test must have for it
    needs             what a run must contain to have a value, in words
    unit              the unit of the number
    share             whether it is a share of cases; differences of shares are given in points
    ideal             the best value, if neither more nor less is better; then `larger_is_better` says nothing
    tunable           whether settings can be tuned for it; not if the best of them may have no value
    answers           how many answers to every case it takes
    of_totals         the formula over the totals TP, FN, FP and TN (..., 4), if it depends on outcomes only
    """

    name: str
    words: str
    statistic: Callable[[Runs, Sequence[Cell]], Statistic]
    larger_is_better: bool | None = True
    bounds: tuple[float, float] = (0.0, 1.0)
    reads: Reads = Reads.OUTCOME
    classes: tuple[str, ...] = ()
    needs: str = ""
    unit: str = ""
    share: bool = False
    ideal: float | None = None
    tunable: bool = True
    answers: int = 1
    of_totals: Callable[[Any], Any] | None = None

    @property
    def of_numbers(self) -> bool:
        """Whether it is about numbers that a record may lack: cases without one are left out."""
        return self.reads in (Reads.VALUES, Reads.NUMBERS)

    @property
    def directed(self) -> bool:
        """Whether it is known which of two values is the better one."""
        return self.ideal is not None or self.larger_is_better is not None

    def absence(self, names: Sequence[str]) -> str:
        """A sentence about runs that have no value of it."""
        has = "has" if len(names) == 1 else "have"
        needs = f": it needs {self.needs}" if self.needs else ""
        return f"{join_names(names)} {has} no {self.name}{needs}."

    def better(self, value: float, other: float) -> bool:
        """Whether one value is known to be better than another."""
        return self.directed and bool(self.merit(value) > self.merit(other))

    def lead(self, value: float, other: float) -> float:
        """By how much one value is better than another; 0 for values on either side of the ideal.

        There the difference of the two says nothing about which is nearer. 0 also if nobody has said what is better,
        or if they differ by a rounding error.
        """
        if not self.directed or isclose(value, other, rel_tol=1e-12, abs_tol=1e-15):
            return 0.0
        if self.ideal is not None and (value - self.ideal) * (other - self.ideal) < 0:
            return 0.0
        return float(self.merit(value) - self.merit(other))

    def merit(self, value: Any) -> Any:
        """A number, or an array of them, such that more is better; the value itself if nobody has said what is."""
        if self.ideal is not None:
            return -abs(value - self.ideal)
        return -value if self.larger_is_better is False else value


@dataclass(frozen=True)
class MeasureFamily:
    """Measures whose names have parameters, such as rank5.

    pattern   what all of a name must match
    make      the measure of a match; a UsageError that begins with what was asked for, if its parameters are wrong
    examples  names as they are shown to users
    """

    pattern: re.Pattern[str]
    make: Callable[[re.Match[str], str], Measure]
    examples: tuple[str, ...] = ()


def named_numbers(text: str, defaults: Mapping[str, float], example: str, asked: str) -> dict[str, float]:
    """Numbers by name, as in fp=10,fn=1, over their defaults."""
    numbers = dict(defaults)
    for part in filter(None, text.split(",")):
        key, _, number = part.partition("=")
        try:
            numbers[key.strip()] = float(number)
        except ValueError:
            raise UsageError(f"{asked}: '{number}' is not a number; write {example}") from None
    if set(numbers) != set(defaults):
        raise UsageError(f"{asked}: write {example}, with numbers of 0 or more")
    return numbers

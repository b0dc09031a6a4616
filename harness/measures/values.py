"""Means and ratios of recorded numbers: what answers cost, errors of numbers, and additional values of the records."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from harness.errors import UsageError
from harness.measures.measure import Measure, Reads, Runs

if TYPE_CHECKING:
    from harness.measures.measure import Cell
    from harness.stats.arrays import FloatArray
    from harness.stats.replication.statistic import Statistic

    Numbers = Callable[[Runs], FloatArray]

__all__ = ["MEASURES", "VALUES", "check_directed", "mean_of_value", "ratio_of_values"]

# The prefix of an additional value whose name is also a measure's.
VALUES = "values."


def _ratio(
    above: Numbers, below: Numbers | None, bounds: tuple[float, float]
) -> Callable[[Runs, Sequence[Cell]], Statistic]:
    """One total over another, of the cases that have both numbers; the mean of one without another."""

    def statistic(runs: Runs, cells: Sequence[Cell]) -> Statistic:
        import numpy as np

        from harness.stats.replication.statistic import Ratio, columns_from, ratio

        numerator = above(runs)
        if below is None and all(inside is None for _, inside in cells) and np.isfinite(numerator).all():
            # All cases count for all cells.
            columns = columns_from([*(numerator[run] for run, _ in cells), 1.0])
            return Ratio(columns, bounds, fragile=True, members=len(cells))
        denominator = np.ones_like(numerator) if below is None else below(runs)
        has_both = ~np.isnan(numerator) & ~np.isnan(denominator)
        known = [has_both[run] & (True if inside is None else inside) for run, inside in cells]
        numerators, denominators = (
            np.stack([np.where(of, part[run], 0.0) for (run, _), of in zip(cells, known, strict=True)], axis=1)
            for part in (numerator, denominator)
        )
        return ratio(numerators, denominators, bounds=bounds, counted=np.stack(known, axis=1).astype(np.float64))

    return statistic


def _root_mean_square(numbers: Numbers) -> Callable[[Runs, Sequence[Cell]], Statistic]:
    """The root of the mean square, of the cases that have a number."""

    def statistic(runs: Runs, cells: Sequence[Cell]) -> Statistic:
        import numpy as np

        from harness.stats.replication.statistic import SmoothFormula

        values = numbers(runs)
        known = [~np.isnan(values[run]) & (True if inside is None else inside) for run, inside in cells]
        # In units of the largest number, whose square would perhaps be too large for a float.
        scale = float(np.nan_to_num(np.abs(values)).max(initial=0.0)) or 1.0
        columns = [
            part
            for (run, _), of in zip(cells, known, strict=True)
            for part in (np.square(np.where(of, values[run], 0.0) / scale), of.astype(np.float64))
        ]
        return SmoothFormula(
            np.stack(columns, axis=1),
            _ANY,
            fragile=True,
            counted=np.stack(known, axis=1).astype(np.float64),
            formula=lambda totals: scale * (totals[..., 0] / totals[..., 1]) ** 0.5,
            parts=2,
            root=True,
        )

    return statistic


_ANY = (0.0, math.inf)
_ALL = (-math.inf, math.inf)
_NUMBERS: dict[str, Any] = {"reads": Reads.NUMBERS, "needs": "answers that are numbers"}
MEASURES = (
    Measure(
        "seconds",
        "seconds per case",
        _ratio(lambda runs: runs.seconds, None, _ANY),
        False,
        _ANY,
        Reads.RESOURCES,
        needs="recorded times",
        unit="s",
    ),
    Measure(
        "memory",
        "memory per case",
        _ratio(lambda runs: runs.memory, None, _ANY),
        False,
        _ANY,
        Reads.RESOURCES,
        needs="programs in processes of their own",
        unit="B",
    ),
    Measure("mae", "mean absolute error", _ratio(lambda runs: abs(runs.errors), None, _ANY), False, _ANY, **_NUMBERS),
    Measure("rmse", "root mean square error", _root_mean_square(lambda runs: runs.errors), False, _ANY, **_NUMBERS),
    Measure("bias", "mean error", _ratio(lambda runs: runs.errors, None, _ALL), False, _ALL, ideal=0.0, **_NUMBERS),
)


def mean_of_value(
    name: str,
    words: str = "",
    *,
    of: str = "",
    larger_is_better: bool | None = True,
    bounds: tuple[float, float] = (-math.inf, math.inf),
) -> Measure:
    """The mean of an additional number of the records, `of`; by default the one with the measure's name."""
    key = of or name
    statistic = _ratio(lambda runs: runs.value(key), None, bounds)
    words = words or f"mean {name}"
    return Measure(name, words, statistic, larger_is_better, bounds, Reads.VALUES, needs=f"records with {key}")


def ratio_of_values(
    name: str,
    words: str,
    *,
    above: str,
    below: str,
    larger_is_better: bool = True,
    bounds: tuple[float, float] = (-math.inf, math.inf),
) -> Measure:
    """The total of one additional number of the records over that of another, such as all errors over all words."""
    statistic = _ratio(lambda runs: runs.value(above), lambda runs: runs.value(below), bounds)
    needs = f"records with {above} and {below}"
    return Measure(name, words, statistic, larger_is_better, bounds, Reads.VALUES, needs=needs)


def check_directed(measure: Measure, option: str) -> None:
    """A UsageError if nobody has said whether more or less of a measure is better, as an option needs to know."""
    if measure.directed:
        return
    value = measure.name.removeprefix(VALUES)
    raise UsageError(
        f"{option} with {measure.name}: nobody has said whether more or less of it is better; "
        f"run or import again with --higher {value} or --lower {value}"
    )

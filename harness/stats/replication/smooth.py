"""Smooth functions of totals that are written down as formulas, with derivatives that need no formula."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from harness.stats.replication.arrays import FloatArray
from harness.stats.replication.statistic import OfTotals

# Real or complex: what a formula is made of.
Numbers = npt.NDArray[Any]
Formula = Callable[[Numbers], Numbers]
# So small that its square is lost against 1, and yet no digit of the derivative is.
_STEP = 1e-40


def _first(totals: Numbers) -> Numbers:
    return totals[..., 0]


@dataclass(frozen=True, eq=False)
class Smooth(OfTotals):
    """A formula of arithmetic, roots and logarithms over totals (..., m)."""

    formula: Formula = _first

    def combine(self, totals: FloatArray) -> FloatArray:
        """Not a number where the formula has no value."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(self.formula(totals), dtype=np.float64)

    def gradient(self, totals: FloatArray) -> FloatArray:
        """By a complex step, exact to rounding: Squire and Trapp (1998)."""
        scale = max(float(np.abs(totals).max()), 1.0)
        steps = totals + 1j * _STEP * scale * np.eye(len(totals))
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(self.formula(steps).imag / (_STEP * scale))


def gap(formula: Formula, m: int) -> Formula:
    """The formula of the first m totals less that of the others."""
    return lambda totals: formula(totals[..., :m]) - formula(totals[..., m:])

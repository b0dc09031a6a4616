"""A logistic model with random effects: cases differ in difficulty, and so do the units that they come from.

logit P(success) = X b + s1 a(case) + s2 v(unit), with a and v standard normal, and cases nested in units. The
likelihood is Laplace's approximation, as in lme4's `glmer` with one quadrature point (Bates and others 2015): the
effects are integrated out around their joint mode. The matrix of second derivatives is an arrow for each unit, so that
a step costs no more than a pass over the data.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from harness.stats.arrays import FloatArray, IntArray

__all__ = ["MixedLogit", "MixedRows", "fit_mixed"]

_NEWTON_STEPS = 60
_SMALL = 1e-9
# Beyond this a coefficient is infinite for all purposes: one side never wins.
_LARGEST = 15.0


@dataclass(frozen=True, slots=True, eq=False)
class MixedRows:
    """Rows of successes out of trials, their columns X (rows, p), and the case and unit of each; no unit: -1 each."""

    successes: FloatArray
    trials: FloatArray
    columns: FloatArray
    case: IntArray
    # The unit of each case, not of each row.
    unit_of_case: IntArray
    # How many cases each case stands for, with all that is in its unit; those of a unit have the same number.
    times: FloatArray | None = None

    @property
    def cases(self) -> int:
        return int(self.unit_of_case.size)

    @property
    def units(self) -> int:
        """Number of units; 0 if cases have none."""
        return int(self.unit_of_case.max(initial=-1)) + 1


@dataclass(frozen=True, slots=True, eq=False)
class MixedLogit:
    """Coefficients with their standard errors, the spread of the random effects, and the log-likelihood."""

    coefficients: FloatArray
    se: FloatArray
    case_sd: float
    unit_sd: float
    log_likelihood: float

    def p_value(self, index: int) -> float:
        """Wald's test of a coefficient, two-sided."""
        return math.erfc(abs(float(self.coefficients[index] / self.se[index])) / math.sqrt(2))


def fit_mixed(rows: MixedRows, *, cases: bool = True, units: bool = True) -> MixedLogit:
    """Maximise the approximate likelihood; `cases` and `units` say which effects there are.

    Raises a ValueError if a coefficient is infinite: some outcome never happens.
    """
    from scipy.optimize import minimize

    units = units and rows.units > 0
    p = rows.columns.shape[1]
    model = _Laplace(rows, cases, units)
    start = np.concatenate((_start(rows), [1.0] * (cases + units)))
    bounds = [(-2 * _LARGEST, 2 * _LARGEST)] * p + [(0.0, 20.0)] * (cases + units)
    # Steps of the usual size would drown in the rounding of the mode.
    minimum = minimize(
        model.deviance,
        start,
        method="L-BFGS-B",
        jac="3-point",
        bounds=bounds,
        options={"ftol": 1e-13, "gtol": 1e-6, "finite_diff_rel_step": 1e-4},
    )
    best = np.asarray(minimum.x)
    if (np.abs(best[:p]) > _LARGEST).any():
        raise ValueError("the model has no finite estimate: an outcome never happens, or always")
    covariance = np.linalg.pinv(_second_derivatives(model.deviance, best) / 2)
    spread = [*best[p:], 0.0, 0.0]
    return MixedLogit(
        coefficients=best[:p],
        se=np.sqrt(np.maximum(np.diag(covariance)[:p], 0.0)),
        case_sd=float(spread[0]) if cases else 0.0,
        unit_sd=float(spread[int(cases)]) if units else 0.0,
        log_likelihood=-model.deviance(best) / 2,
    )


def _start(rows: MixedRows) -> FloatArray:
    """A few steps of the model without random effects."""
    b = np.zeros(rows.columns.shape[1])
    times = np.ones(rows.case.size) if rows.times is None else rows.times[rows.case]
    for _ in range(8):
        p = _logistic(rows.columns @ b)
        w = np.maximum(times * rows.trials * p * (1 - p), _SMALL)
        gradient = rows.columns.T @ (times * (rows.successes - rows.trials * p))
        b = np.clip(b + np.linalg.lstsq((rows.columns.T * w) @ rows.columns, gradient, rcond=None)[0], -8, 8)
    return np.asarray(b)


class _Laplace:
    """Minus twice the approximate log-likelihood, as a function of coefficients and standard deviations."""

    def __init__(self, rows: MixedRows, cases: bool, units: bool) -> None:
        self._rows, self._has_cases, self._has_units = rows, cases, units
        self._unit_of_row = rows.unit_of_case[rows.case] if units else np.zeros(rows.case.size, dtype=np.intp)
        self._units = rows.units if units else 1
        self._unit_of_case = rows.unit_of_case if units else np.zeros(rows.cases, dtype=np.intp)
        # The mode moves little from one call to the next.
        self._a, self._v = np.zeros(rows.cases), np.zeros(self._units)
        from scipy.special import gammaln

        k, n = rows.successes, rows.trials
        self._case_times = np.ones(rows.cases) if rows.times is None else rows.times
        self._row_times = self._case_times[rows.case]
        self._unit_times = np.ones(self._units)
        if units:
            self._unit_times[self._unit_of_case] = self._case_times
        self._constant = float(self._row_times @ (gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)))

    def deviance(self, values: npt.NDArray[np.float64]) -> float:
        p = self._rows.columns.shape[1]
        fixed = self._rows.columns @ values[:p]
        spread = [float(value) for value in values[p:]]
        s1 = spread.pop(0) if self._has_cases else 0.0
        s2 = spread.pop(0) if self._has_units else 0.0
        joint, log_determinant = self._mode(fixed, s1, s2)
        return -2 * (joint + self._constant - log_determinant / 2)

    def _mode(self, fixed: FloatArray, s1: float, s2: float) -> tuple[float, float]:
        """The joint log-density at its mode, and the logarithm of the determinant there."""
        a, v = self._a, self._v
        value = self._joint(fixed, a, v, s1, s2)
        for _ in range(_NEWTON_STEPS):
            step_a, step_v, determinant, size = self._step(fixed, a, v, s1, s2)
            share = 1.0
            while True:
                new = self._joint(fixed, a + share * step_a, v + share * step_v, s1, s2)
                if new >= value - 1e-12 or share < 1e-4:
                    break
                share /= 2
            a, v, value = a + share * step_a, v + share * step_v, new
            if size < _SMALL:
                break
        self._a, self._v = a, v
        return value, determinant

    def _joint(self, fixed: FloatArray, a: FloatArray, v: FloatArray, s1: float, s2: float) -> float:
        eta = self._eta(fixed, a, v, s1, s2)
        rows = self._rows
        data = self._row_times @ (rows.successes * eta - rows.trials * np.logaddexp(0.0, eta))
        return float(data - (self._case_times @ (a * a) + self._unit_times @ (v * v)) / 2)

    def _eta(self, fixed: FloatArray, a: FloatArray, v: FloatArray, s1: float, s2: float) -> FloatArray:
        return np.asarray(fixed + s1 * a[self._rows.case] + s2 * v[self._unit_of_row])

    def _step(
        self, fixed: FloatArray, a: FloatArray, v: FloatArray, s1: float, s2: float
    ) -> tuple[FloatArray, FloatArray, float, float]:
        """Newton's step for both kinds of effects, the determinant's logarithm, and how far the step goes."""
        rows = self._rows
        p = _logistic(self._eta(fixed, a, v, s1, s2))
        weight, residual = rows.trials * p * (1 - p), rows.successes - rows.trials * p
        w_case, r_case = (
            np.asarray(np.bincount(rows.case, weights=of, minlength=rows.cases), dtype=np.float64)
            for of in (weight, residual)
        )
        w_unit, r_unit = (self._by_unit(of) for of in (w_case, r_case))
        of_case, both, of_unit = 1 + s1 * s1 * w_case, s1 * s2 * w_case, 1 + s2 * s2 * w_unit
        g_case, g_unit = s1 * r_case - a, s2 * r_unit - v
        schur = of_unit - self._by_unit(both * both / of_case)
        step_v = (g_unit - self._by_unit(both / of_case * g_case)) / schur
        step_a = (g_case - both * step_v[self._unit_of_case]) / of_case
        determinant = float(self._case_times @ np.log(of_case) + self._unit_times @ np.log(schur))
        return step_a, step_v, determinant, float(max(np.abs(step_a).max(), np.abs(step_v).max()))

    def _by_unit(self, of_case: FloatArray) -> FloatArray:
        return np.asarray(np.bincount(self._unit_of_case, weights=of_case, minlength=self._units))


def _logistic(eta: FloatArray) -> FloatArray:
    from scipy.special import expit

    return np.asarray(expit(eta))


def _second_derivatives(function: Callable[[FloatArray], float], at: FloatArray) -> FloatArray:
    """By central differences; a standard deviation at 0 is stepped away from it."""
    size = at.size
    steps = 1e-3 * np.maximum(np.abs(at), 0.1)
    base = at.copy()
    matrix = np.empty((size, size))
    for i in range(size):
        for j in range(i, size):
            matrix[i, j] = matrix[j, i] = _mixed_difference(function, base, i, j, steps)
    return matrix


def _mixed_difference(
    function: Callable[[FloatArray], float], at: FloatArray, i: int, j: int, steps: FloatArray
) -> float:
    if i == j:
        values = [function(_moved(at, [(i, way)], steps)) for way in (1.0, 0.0, -1.0)]
        return float((values[0] - 2 * values[1] + values[2]) / steps[i] ** 2)
    corners = {(x, y): function(_moved(at, [(i, x), (j, y)], steps)) for x in (1.0, -1.0) for y in (1.0, -1.0)}
    top = corners[1.0, 1.0] - corners[1.0, -1.0] - corners[-1.0, 1.0] + corners[-1.0, -1.0]
    return float(top / (4 * steps[i] * steps[j]))


def _moved(at: FloatArray, moves: Sequence[tuple[int, float]], steps: FloatArray) -> FloatArray:
    moved = at.copy()
    for index, way in moves:
        moved[index] += way * steps[index]
    return moved

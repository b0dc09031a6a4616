"""Many tests at once: p-values adjusted so that a threshold keeps its meaning.

Holm and Hochberg bound the chance of a single false finding, Benjamini and Hochberg the expected share of false ones.
Holm holds whatever the dependence between the tests. A p that is not a number stays so and is not counted.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["benjamini_hochberg", "hochberg", "holm"]

FloatArray = npt.NDArray[np.float64]


def holm(p_values: npt.ArrayLike) -> FloatArray:
    """Holm's step-down adjustment (1979): from the smallest p up, the running maximum of (tests left) * p."""
    p, known, order = _check(p_values)
    left = np.arange(order.size, 0, -1)
    return _placed(p, known, order, np.maximum.accumulate(left * p[known][order]))


def hochberg(p_values: npt.ArrayLike) -> FloatArray:
    """Hochberg's step-up adjustment (1988): sharper than Holm's, for independent or positively dependent tests."""
    p, known, order = _check(p_values)
    left = np.arange(order.size, 0, -1)
    return _placed(p, known, order, _minimum_from_above(left * p[known][order]))


def benjamini_hochberg(p_values: npt.ArrayLike) -> FloatArray:
    """Benjamini and Hochberg's adjustment (1995) for the false discovery rate."""
    p, known, order = _check(p_values)
    rank = np.arange(1, order.size + 1)
    return _placed(p, known, order, _minimum_from_above(order.size / rank * p[known][order]))


def _minimum_from_above(values: FloatArray) -> FloatArray:
    return np.minimum.accumulate(values[::-1])[::-1]


def _check(p_values: npt.ArrayLike) -> tuple[FloatArray, npt.NDArray[np.bool_], npt.NDArray[np.intp]]:
    p = np.asarray(p_values, dtype=np.float64)
    if p.ndim != 1:
        raise ValueError(f"p-values have shape {p.shape}, expected a list of them")
    known = ~np.isnan(p)
    wrong = p[known][(p[known] < 0) | (p[known] > 1)]
    if wrong.size:
        raise ValueError(f"{wrong[0]} is not a p-value: expected between 0 and 1")
    return p, known, np.argsort(p[known], kind="stable")


def _placed(
    p: FloatArray, known: npt.NDArray[np.bool_], order: npt.NDArray[np.intp], adjusted: FloatArray
) -> FloatArray:
    back = np.empty(order.size)
    back[order] = np.minimum(adjusted, 1.0)
    result = np.full(p.size, np.nan)
    result[known] = back
    return result

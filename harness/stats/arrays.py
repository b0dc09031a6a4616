"""Array types used throughout `stats`, and small functions that several of its modules share."""

from typing import Any

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
Labels = npt.NDArray[Any]


def kish(weights: FloatArray) -> FloatArray:
    """Kish's effective number of weights, along the first axis: (sum w)^2 / sum w^2, or 0 if all are 0."""
    squares = (weights**2).sum(axis=0)
    return np.asarray(weights.sum(axis=0) ** 2 / np.where(squares > 0, squares, 1.0))


def columns_of(values: npt.ArrayLike) -> tuple[FloatArray, bool]:
    """The values as a two-dimensional array, and whether they were a single column."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim not in (1, 2):
        raise ValueError(f"values have {array.ndim} dimensions; give (units,) or (units, columns)")
    return (array[:, None], True) if array.ndim == 1 else (array, False)

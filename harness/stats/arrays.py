"""Array types used throughout `stats`, and small functions that several of its modules share."""

from collections.abc import Iterable, Sequence
from itertools import islice
from operator import le
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


def is_among(codes: npt.NDArray[np.int8], wanted: Iterable[int]) -> BoolArray:
    """Whether each code is one of a few: comparing small numbers is faster than looking each up in a table."""
    among = np.zeros(codes.shape, dtype=np.bool_)
    for code in wanted:
        among |= codes == code
    return among


def numbered(labels: Labels) -> tuple[Labels, IntArray]:
    """The distinct labels, sorted, and the number of each label among them."""
    if labels.dtype.kind in "iu" and labels.size and labels.min() >= 0 and labels.max() < 2 * labels.size:
        # Labels that are numbers already are counted, not sorted.
        present = np.zeros(int(labels.max()) + 1, dtype=np.bool_)
        present[labels] = True
        whole = labels if present.all() else (np.cumsum(present) - 1)[labels]
        return np.flatnonzero(present).astype(labels.dtype), whole.astype(np.int64, copy=False)
    values, numbers = np.unique(labels, return_inverse=True)
    return values, numbers.reshape(-1)


def columns_of(values: npt.ArrayLike) -> tuple[FloatArray, bool]:
    """The values as a two-dimensional array, and whether they were a single column."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim not in (1, 2):
        raise ValueError(f"values have {array.ndim} dimensions; give (units,) or (units, columns)")
    return (array[:, None], True) if array.ndim == 1 else (array, False)


def positions_in_order(labels: Sequence[str]) -> IntArray | None:
    """The place of each label in their order; None if they are in it, which is seen quickly."""
    if all(map(le, labels, islice(labels, 1, None))):
        return None
    positions = np.empty(len(labels), dtype=np.intp)
    positions[sorted(range(len(labels)), key=labels.__getitem__)] = np.arange(len(labels))
    return positions

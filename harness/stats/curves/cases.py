"""The cases of a curve: scores, classes and weights, checked, and their one sort."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.intp]
_Number = TypeVar("_Number", bound=np.generic)

__all__ = [
    "BoolArray",
    "Cases",
    "ClassSize",
    "FloatArray",
    "IntArray",
    "Order",
    "as_weights",
    "make_cases",
    "require_both",
    "require_same_cases",
]


@dataclass(frozen=True, slots=True)
class ClassSize:
    """How many cases a class has: their number, their weight, and Kish's effective number under those weights."""

    cases: int
    weight: float
    effective: float


@dataclass(frozen=True, slots=True, eq=False)
class Cases:
    """Scores turned so that larger is better, the class and the weight of each case; `make_cases` builds them."""

    better: FloatArray
    positive: BoolArray
    weights: FloatArray | None
    larger_is_better: bool

    @property
    def weight(self) -> FloatArray:
        """The weight of each case, 1 where none were given."""
        return np.ones(self.better.size) if self.weights is None else self.weights

    def counting(self) -> Cases:
        """The cases of a weight above 0: the others have no say."""
        if self.weights is None or self.weights.all():
            return self
        keep = self.weights > 0
        return Cases(self.better[keep], self.positive[keep], self.weights[keep], self.larger_is_better)

    def size(self, of: BoolArray) -> ClassSize:
        """Number, weight and effective number of some of the cases."""
        n = int(np.count_nonzero(of))
        if self.weights is None:
            return ClassSize(n, float(n), float(n))
        w = self.weights * of
        total, squares = float(w.sum()), float(w @ w)
        return ClassSize(n, total, total * total / squares if squares > 0 else 0.0)

    def threshold(self, better: FloatArray) -> FloatArray:
        """Thresholds in the user's direction; adding 0 turns the -0.0 of a negated distance into 0."""
        return better if self.larger_is_better else -better + 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Order:
    """The one sort: cases from best to worst score, and where each group of tied scores ends."""

    cases: IntArray
    ends: IntArray
    better: FloatArray

    def at_ends(self, along: npt.NDArray[_Number]) -> npt.NDArray[_Number]:
        """Values along the order, where groups of ties end; without ties all of them, at no cost."""
        return along if self.ends.size == along.size else along[self.ends]

    @classmethod
    def of(cls, better: FloatArray) -> Order:
        """Sort scores of which larger is better."""
        cases = np.argsort(better)[::-1]
        ranked = better[cases]
        changes = np.flatnonzero(ranked[1:] != ranked[:-1])
        ends = np.append(changes, ranked.size - 1)
        return cls(cases, ends, ranked if ends.size == ranked.size else ranked[ends])


def make_cases(
    scores: npt.ArrayLike,
    positive: npt.ArrayLike,
    *,
    weights: npt.ArrayLike | None = None,
    larger_is_better: bool = True,
) -> Cases:
    """Check scores, classes and weights, and refuse what no curve can be made of."""
    s = np.asarray(scores, dtype=np.float64)
    if s.ndim != 1:
        raise ValueError(f"scores have {s.ndim} dimensions: expected one score a case")
    if np.isnan(s).any():
        place = int(np.isnan(s).argmax())
        raise ValueError(f"score {place} is not a number: give an error -inf (positive case) or inf (negative case)")
    better = s if larger_is_better else -s
    return Cases(better, _as_classes(positive, s.size), as_weights(weights, s.size), larger_is_better)


def require_both(cases: Cases) -> None:
    """A curve needs a positive and a negative case that count."""
    counting = True if cases.weights is None else cases.weights > 0
    for name, of in (("positive", cases.positive), ("negative", ~cases.positive)):
        if not (of & counting).any():
            raise ValueError(f"no {name} case (with a weight above 0): a curve needs positive and negative cases")


def require_same_cases(*columns: Cases) -> None:
    """A paired comparison needs the same cases, with the same classes and weights."""
    first = columns[0]
    for other in columns[1:]:
        if not (np.array_equal(first.positive, other.positive) and np.array_equal(first.weight, other.weight)):
            raise ValueError("scores of different cases: a paired comparison needs the same classes and weights")


def _as_classes(positive: npt.ArrayLike, n: int) -> BoolArray:
    p = np.asarray(positive)
    if p.shape != (n,):
        raise ValueError(f"positive has shape {p.shape} for {n} scores: expected one value a score")
    if p.dtype != np.bool_:
        wrong = (p != 0) & (p != 1)
        if wrong.any():
            place = int(wrong.argmax())
            raise ValueError(f"positive {place} is {p[place]!r}: expected true or false, 1 or 0")
    return p.astype(np.bool_, copy=False)


def as_weights(weights: npt.ArrayLike | None, n: int) -> FloatArray | None:
    """Weights as an array, one a score, none below 0."""
    if weights is None:
        return None
    w = np.asarray(weights, dtype=np.float64)
    if w.shape != (n,):
        raise ValueError(f"weights have shape {w.shape} for {n} scores: expected one weight a score")
    wrong = ~(np.isfinite(w) & (w >= 0))
    if wrong.any():
        place = int(wrong.argmax())
        raise ValueError(f"weight {place} is {float(w[place])!r}: expected a finite number of 0 or more")
    return w

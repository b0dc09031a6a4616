"""Measures of a classifier that are functions of the totals TP, FN, FP and TN, in this order.

Where a measure is no number, it says so; only Matthews' correlation is 0 where a margin of the table is empty, as
scikit-learn and its own limit have it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["MEASURES", "Measure"]

# Real or complex: derivatives are taken by a complex step.
Numbers = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class Measure:
    """A formula of totals (..., 4), what it is in words, where it lies and which end is better.

    A `share` is the rate of some outcomes among the cases of a class, whatever the algorithm does: (hits, within),
    each as places among TP, FN, FP, TN. `classes`: what cases a test must have for it; `needs`: what answers.
    """

    words: str
    of: Callable[[Numbers], Numbers]
    larger_is_better: bool = True
    bounds: tuple[float, float] = (0.0, 1.0)
    share: tuple[tuple[int, ...], tuple[int, ...]] | None = None
    classes: tuple[str, ...] = ()
    needs: str = ""


def _share(
    words: str, hits: tuple[int, ...], within: tuple[int, ...], *, larger: bool, classes: tuple[str, ...] = ()
) -> Measure:
    def of(totals: Numbers) -> Numbers:
        return np.asarray(totals[..., list(hits)].sum(axis=-1) / totals[..., list(within)].sum(axis=-1))

    return Measure(words, of, larger, share=(hits, within), classes=classes)


def _precision(t: Numbers) -> Numbers:
    return np.asarray(t[..., 0] / (t[..., 0] + t[..., 2]))


def _npv(t: Numbers) -> Numbers:
    return np.asarray(t[..., 3] / (t[..., 3] + t[..., 1]))


def _informedness(t: Numbers) -> Numbers:
    return np.asarray(t[..., 0] / (t[..., 0] + t[..., 1]) + t[..., 3] / (t[..., 3] + t[..., 2]) - 1)


def _f1(t: Numbers) -> Numbers:
    return np.asarray(2 * t[..., 0] / (2 * t[..., 0] + t[..., 1] + t[..., 2]))


def _mcc(t: Numbers) -> Numbers:
    tp, fn, fp, tn = (t[..., i] for i in range(4))
    # Roots one by one: the product of four totals of a large test would lose digits.
    root = np.sqrt(tp + fp) * np.sqrt(tp + fn) * np.sqrt(tn + fp) * np.sqrt(tn + fn)
    return np.asarray(np.where(root == 0, 0.0, (tp * tn - fp * fn) / np.where(root == 0, 1.0, root)))


def _kappa(t: Numbers) -> Numbers:
    tp, fn, fp, tn = (t[..., i] for i in range(4))
    return np.asarray(2 * (tp * tn - fn * fp) / ((tp + fp) * (fp + tn) + (tp + fn) * (fn + tn)))


_TP, _FN, _FP, _TN = range(4)
_P, _N = ("positive",), ("negative",)
MEASURES = {
    "rate": _share("rate of success", (_TP, _TN), (_TP, _FN, _FP, _TN), larger=True),
    "tpr": _share("true positive rate", (_TP,), (_TP, _FN), larger=True, classes=_P),
    "tnr": _share("true negative rate", (_TN,), (_FP, _TN), larger=True, classes=_N),
    "fpr": _share("false positive rate", (_FP,), (_FP, _TN), larger=False, classes=_N),
    "fnr": _share("false negative rate", (_FN,), (_TP, _FN), larger=False, classes=_P),
    "precision": Measure("precision", _precision, needs="accepted cases"),
    "npv": Measure("negative predictive value", _npv, needs="refused cases"),
    "balanced": Measure("balanced accuracy", lambda t: (_informedness(t) + 1) / 2, classes=_P + _N),
    "informedness": Measure("informedness", _informedness, bounds=(-1.0, 1.0), classes=_P + _N),
    "f1": Measure("F1", _f1, needs="positive or accepted cases"),
    "mcc": Measure("Matthews' correlation", _mcc, bounds=(-1.0, 1.0)),
    "kappa": Measure("Cohen's kappa", _kappa, bounds=(-1.0, 1.0), needs="cases of more than one kind"),
}

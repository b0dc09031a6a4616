"""Measures of the outcomes: formulas of the totals TP, FN, FP and TN, in this order; and of several answers to a case.

They see only the outcome of a case and the group that it is in, so that many cases are of a few kinds.

An undefined measure is NaN; only Matthews' correlation is 0 if a margin of the table is empty, as in scikit-learn and
as its own limit gives.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from harness.errors import UsageError
from harness.measures.measure import Measure, MeasureFamily, Reads, Runs, named_numbers
from harness.model import Outcome

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from harness.measures.measure import Cell
    from harness.stats.arrays import BoolArray, FloatArray
    from harness.stats.attempts import Attempts
    from harness.stats.replication.statistic import Kinds, Statistic

__all__ = ["FAMILIES", "MEASURES", "TOTALS", "cost", "detection_parameters"]

# Outcomes in the order of the totals.
TOTALS = (Outcome.TP, Outcome.FN, Outcome.FP, Outcome.TN)
_TP, _FN, _FP, _TN = range(4)
_P, _N = ("positive",), ("negative",)
# Kinds are numbered in two bytes.
_MAX_KINDS = 1 << 16
_OUTCOMES = len(Outcome)


@dataclass(frozen=True, eq=False)
class OutcomeKinds:
    """Rows of equal cases: for each cell, the outcome of its run in each row, and whether the row is inside the cell.

    `kinds` is the row of each case; None if every case is a row of its own.
    """

    kinds: Kinds | None
    outcome: list[npt.NDArray[np.int8]]
    inside: list[BoolArray]


def outcome_kinds(runs: Runs, cells: Sequence[Cell]) -> OutcomeKinds:
    """The kinds of cases that these cells have; each case by itself if cells overlap, or if there are too many."""
    import numpy as np

    numbers = list(dict.fromkeys(run for run, _ in cells))
    masks = {id(inside): inside for _, inside in cells if inside is not None}
    codes = _group_numbers(list(masks.values()), runs.outcome.shape[1])
    size = (len(masks) + 1) * _OUTCOMES ** len(numbers)
    if codes is None or size > _MAX_KINDS:
        whole = np.ones(runs.outcome.shape[1], dtype=np.bool_)
        insides = [whole if mask is None else mask for _, mask in cells]
        return OutcomeKinds(None, [runs.outcome[run] for run, _ in cells], insides)
    for run in numbers:
        codes = codes * np.uint16(_OUTCOMES) + runs.outcome[run].astype(np.uint16)
    present = np.flatnonzero(np.bincount(codes, minlength=size))
    rows = np.zeros(size, dtype=np.uint16)
    rows[present] = np.arange(present.size)
    # The digits of a code: the group, and the outcome of each run.
    group, *outcomes = np.unravel_index(present, (len(masks) + 1, *[_OUTCOMES] * len(numbers)))
    outcome_of = dict(zip(numbers, (digits.astype(np.int8) for digits in outcomes), strict=True))
    members = {key: np.asarray(group == number) for number, key in enumerate(masks, 1)}
    members[id(None)] = np.ones(present.size, dtype=np.bool_)
    return OutcomeKinds(
        rows[codes], [outcome_of[run] for run, _ in cells], [members[id(inside)] for _, inside in cells]
    )


def _group_numbers(masks: Sequence[BoolArray], cases: int) -> npt.NDArray[np.uint16] | None:
    """The number of the mask that each case is in, from 1; 0 for none. None if masks overlap."""
    import numpy as np

    groups = np.zeros(cases, dtype=np.uint16)
    for number, mask in enumerate(masks, 1):
        groups[mask] = number
    members = sum(int(np.count_nonzero(mask)) for mask in masks)
    return groups if members == int(np.count_nonzero(groups)) else None


def _share(
    name: str, words: str, hits: tuple[int, ...], within: tuple[int, ...], *, larger: bool = True, **more: Any
) -> Measure:
    """The share of some outcomes among others."""

    def of_totals(t: Any) -> Any:
        return t[..., list(hits)].sum(axis=-1) / t[..., list(within)].sum(axis=-1)

    def statistic(runs: Runs, cells: Sequence[Cell]) -> Statistic:
        from harness.stats.arrays import is_among
        from harness.stats.replication.statistic import shares

        of = outcome_kinds(runs, cells)
        numbers = list(Outcome)
        counted_codes, hit_codes = ([numbers.index(TOTALS[total]) for total in totals] for totals in (within, hits))
        counted = [is_among(codes, counted_codes) & inside for codes, inside in zip(of.outcome, of.inside, strict=True)]
        hit = [is_among(codes, hit_codes) & inside for codes, inside in zip(of.outcome, counted, strict=True)]
        return shares(hit, counted, of.kinds)

    return Measure(name, words, statistic, larger, of_totals=of_totals, share=True, **more)


def _formula(name: str, words: str, of_totals: Callable[[Any], Any], counts: tuple[int, ...], **more: Any) -> Measure:
    """Any formula of the four totals; `counts` are the outcomes that it depends on."""

    def statistic(runs: Runs, cells: Sequence[Cell]) -> Statistic:
        import numpy as np

        from harness.stats.replication.statistic import SmoothFormula

        of, total_of = outcome_kinds(runs, cells), np.array([TOTALS.index(outcome) for outcome in Outcome])
        one_hot = [
            np.eye(4)[total_of[codes]] * inside[:, None] for codes, inside in zip(of.outcome, of.inside, strict=True)
        ]
        counted = np.stack([columns[:, list(counts)].sum(axis=1) for columns in one_hot], axis=1)
        return SmoothFormula(
            np.hstack(one_hot),
            measure.bounds,
            fragile=True,
            counted=counted,
            kinds=of.kinds,
            formula=of_totals,
            parts=4,
        )

    measure = Measure(name, words, statistic, of_totals=of_totals, **more)
    return measure


def cost(fp: float, fn: float) -> Measure:
    """The cost of errors per case, if a false positive costs `fp` and a false negative `fn`."""
    bounds = (0.0, max(fp, fn))

    def of_totals(t: Any) -> Any:
        return (fp * t[..., _FP] + fn * t[..., _FN]) / t.sum(axis=-1)

    name = f"cost:fp={fp:g},fn={fn:g}"
    return _formula(name, "cost per case", of_totals, (_TP, _FN, _FP, _TN), larger_is_better=False, bounds=bounds)


def _cost(match: re.Match[str], asked: str) -> Measure:
    example = "cost:fp=10,fn=1"
    costs = named_numbers(match[1] or "", {"fp": 1.0, "fn": 1.0}, example, asked)
    if not all(0 <= number < 1e12 for number in costs.values()) or not any(costs.values()):
        raise UsageError(f"{asked}: write {example}, with numbers of 0 or more")
    return cost(**costs)


def detection_parameters(text: str, asked: str) -> tuple[float, float, float]:
    """What a miss and a false alarm cost, and how likely it is that there is something to detect."""
    example = "dcf:miss=1,fa=1,prior=0.01"
    miss, fa, prior = named_numbers(text, {"miss": 1.0, "fa": 1.0, "prior": 0.5}, example, asked).values()
    if not (0 < miss < 1e12 and 0 < fa < 1e12 and 0 < prior < 1):
        raise UsageError(f"{asked}: write {example}, with costs above 0 and a prior between 0 and 1")
    return miss, fa, prior


def _detection_cost(match: re.Match[str], asked: str) -> Measure:
    """NIST's detection cost at the run's own threshold, over the better of accepting everything and nothing."""
    miss, fa, prior = detection_parameters(match[1] or "", asked)
    least = min(miss * prior, fa * (1 - prior))
    on_miss, on_alarm = miss * prior / least, fa * (1 - prior) / least

    def of_totals(t: Any) -> Any:
        misses, alarms = t[..., _FN] / (t[..., _TP] + t[..., _FN]), t[..., _FP] / (t[..., _FP] + t[..., _TN])
        return on_miss * misses + on_alarm * alarms

    bounds = (0.0, on_miss + on_alarm)
    return _formula(match[0], "detection cost", of_totals, _ALL, larger_is_better=False, bounds=bounds, classes=_P + _N)


def _informedness(t: Any) -> Any:
    return t[..., _TP] / (t[..., _TP] + t[..., _FN]) + t[..., _TN] / (t[..., _TN] + t[..., _FP]) - 1


def _f1(t: Any) -> Any:
    return 2 * t[..., _TP] / (2 * t[..., _TP] + t[..., _FN] + t[..., _FP])


def _mcc(t: Any) -> Any:
    import numpy as np

    tp, fn, fp, tn = (t[..., i] for i in range(4))
    # Separate roots: the product of four totals of a large test would lose digits.
    root = np.sqrt(tp + fp) * np.sqrt(tp + fn) * np.sqrt(tn + fp) * np.sqrt(tn + fn)
    return np.where(root == 0, 0.0, (tp * tn - fp * fn) / np.where(root == 0, 1.0, root))


def _kappa(t: Any) -> Any:
    tp, fn, fp, tn = (t[..., i] for i in range(4))
    return 2 * (tp * tn - fn * fp) / ((tp + fp) * (fp + tn) + (tp + fn) * (fn + tn))


def _passed(match: re.Match[str], _asked: str) -> Measure:
    """The chance that at least one of k answers is right."""
    k = int(match[1])

    def chance(attempts: Attempts) -> FloatArray:
        from harness.stats.attempts import pass_at

        return pass_at(attempts, k)

    return _mean_chance(k, f"pass@{k}", f"chance that one of {k} answers is right", chance)


def _majority(match: re.Match[str], _asked: str) -> Measure:
    """The chance that the most frequent of k answers is right."""
    k = int(match[1])

    def chance(attempts: Attempts) -> FloatArray:
        from harness.stats.attempts import majority_at

        return majority_at(attempts, k)

    return _mean_chance(k, f"majority@{k}", f"chance that the majority of {k} answers is right", chance)


def _mean_chance(k: int, name: str, words: str, chance: Callable[[Attempts], FloatArray]) -> Measure:
    """The mean over cases of a number that their answers give; every record of a case stands for it."""

    def statistic(runs: Runs, cells: Sequence[Cell]) -> Statistic:
        import numpy as np

        from harness.stats.replication.statistic import shares

        attempts, case = runs.attempts()
        values = {run: chance(attempts[run])[case] for run in {run for run, _ in cells}}
        counted = [np.ones(case.size, dtype=np.bool_) if of is None else of for _, of in cells]
        return shares([values[run] for run, _ in cells], counted)

    needs = "several answers to every case"
    return Measure(name, words, statistic, reads=Reads.OUTCOME, needs=needs, share=True, answers=k)


_ALL = (_TP, _FN, _FP, _TN)
_BOTH = {"bounds": (-1.0, 1.0)}
MEASURES = (
    _share("rate", "rate of success", (_TP, _TN), _ALL),
    _share("tpr", "true positive rate", (_TP,), (_TP, _FN), classes=_P),
    _share("tnr", "true negative rate", (_TN,), (_FP, _TN), classes=_N),
    _share("fpr", "false positive rate", (_FP,), (_FP, _TN), larger=False, classes=_N),
    _share("fnr", "false negative rate", (_FN,), (_TP, _FN), larger=False, classes=_P),
    _share("precision", "precision", (_TP,), (_TP, _FP), needs="accepted cases"),
    _share("npv", "negative predictive value", (_TN,), (_TN, _FN), needs="refused cases"),
    _formula("balanced", "balanced accuracy", lambda t: (_informedness(t) + 1) / 2, _ALL, classes=_P + _N),
    _formula(
        "hter",
        "half total error rate",
        lambda t: (1 - _informedness(t)) / 2,
        _ALL,
        larger_is_better=False,
        classes=_P + _N,
    ),
    _formula("informedness", "informedness", _informedness, _ALL, classes=_P + _N, **_BOTH),
    _formula("f1", "F1", _f1, (_TP, _FN, _FP), needs="positive or accepted cases"),
    _formula("mcc", "Matthews' correlation", _mcc, _ALL, **_BOTH),
    _formula("kappa", "Cohen's kappa", _kappa, _ALL, needs="cases of more than one kind", **_BOTH),
)
FAMILIES = (
    MeasureFamily(re.compile(r"cost(?::(.*))?"), _cost, ("cost:fp=10,fn=1",)),
    MeasureFamily(re.compile(r"dcf(?::(.*))?"), _detection_cost, ("dcf:miss=1,fa=1,prior=0.01",)),
    MeasureFamily(re.compile(r"pass@([1-9]\d{0,3})", re.ASCII), _passed, ("pass@5",)),
    MeasureFamily(re.compile(r"maj(?:ority)?@([1-9]\d{0,3})", re.ASCII), _majority, ("majority@5",)),
)

"""Is the urn well mixed: which sampling design explains how much a rate varies from trial to trial?

After "Is the Urn Well-Mixed?" (2004), section 3: repeat an experiment, compare the variance of its results with what
each design predicts from within the trials, and reject the designs that do not fit. The paper compares by eye; but with
45 trials the ratio of the sample variance to its estimate lies anywhere from 0.6 to 1.5 by chance. Here a prediction is
compatible if it lies in the chi-square interval of the observed variance (`urn`), or if a permutation test does not
reject it (`mixing`). Each design says what can be exchanged between trials: elements within their groups (stratified),
whole groups (cluster), or everything (simple random). The distribution of the sample variance over such exchanges is
what the design predicts.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from harness.lab.urn.trials import Trials
from harness.stats.arrays import BoolArray, FloatArray, IntArray
from harness.stats.designs import Weights, design_variances
from harness.stats.rates import Interval

__all__ = ["DESIGNS", "Mixing", "UrnVariance", "mixing", "permutations_needed", "urn", "variance_interval"]

DESIGNS = ("st", "srs", "cl")
MAX_THRESHOLDS = 60
# With more kinds of items than this, moving them one by one is faster than drawing how many of each kind go where.
_MAX_KINDS = 1000
# Variances with a smaller relative difference are equal: sums of the same numbers in another order.
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class UrnVariance:
    """The variance of the trials' means, its interval, and the mean prediction of each design."""

    trials: int
    sample_variance: float
    interval: Interval
    st: float
    srs: float
    cl: float
    compatible: tuple[str, ...]


def urn(
    values: npt.ArrayLike, groups: npt.ArrayLike, *, weights: Weights = "cases", confidence: float = 0.95
) -> UrnVariance:
    """Test the designs on an (n cases, trials) table whose rows are grouped in the same way in every trial.

    Trials must not share cases. `st` applies if all trials have the same groups (the same subjects again), `cl` if each
    has new ones.
    """
    table = np.asarray(values, dtype=np.float64)
    if table.ndim != 2 or table.shape[1] < 2:
        raise ValueError(f"values have shape {table.shape}, expected (cases, trials) with at least two trials")
    predicted = design_variances(table, groups, weights=weights)
    variance = float(predicted.mean.var(ddof=1))
    interval = variance_interval(variance, table.shape[1] - 1, confidence=confidence)
    means = {name: float(getattr(predicted, name).mean()) for name in ("st", "srs", "cl")}
    compatible = tuple(name for name, value in means.items() if interval.low <= value <= interval.high)
    return UrnVariance(table.shape[1], variance, interval, **means, compatible=compatible)


def variance_interval(variance: float, df: int, *, confidence: float = 0.95) -> Interval:
    """Chi-square interval of a variance with these degrees of freedom, for approximately normal values."""
    from scipy.special import chdtri

    if not (variance >= 0 and df > 0 and 0 < confidence < 1):
        raise ValueError(f"variance {variance!r}, {df!r} degrees of freedom, confidence {confidence!r}: out of range")
    tail = (1 - confidence) / 2
    return Interval(float(df * variance / chdtri(df, tail)), float(df * variance / chdtri(df, 1 - tail)))


@dataclass(frozen=True, slots=True)
class Mixing:
    """The sample variance of the trials' rates, what each design predicts, and how well they agree.

    `p_values` are two-sided, by permutation; for `st` by chi-square if every group is in one trial only, since then
    nothing can be exchanged within groups. `direction`: 1 if the sample variance is larger than the design predicts.
    """

    rate: float
    sample_variance: float
    predicted: dict[str, float]
    p_values: dict[str, float]
    direction: dict[str, int]

    @property
    def ratios(self) -> dict[str, float]:
        """Sample variance over the predicted one; above 1, the design misses variance."""
        return {name: self.sample_variance / value if value > 0 else math.nan for name, value in self.predicted.items()}

    def compatible(self, alpha: float = 0.05) -> list[str]:
        """The designs that are not rejected."""
        return [design for design in DESIGNS if self.p_values[design] > alpha]


@dataclass(frozen=True, slots=True, eq=False)
class _CodedElements:
    """Elements coded by their pattern of success over the thresholds; there are few patterns."""

    code: IntArray
    patterns: FloatArray
    trials: Trials

    def rates(self, code: IntArray) -> FloatArray:
        """The rates (trials, thresholds) if the elements had these codes."""
        kinds = len(self.patterns)
        counts = np.bincount(self.trials.trial * kinds + code, minlength=self.trials.count * kinds)
        return _rates(counts.reshape(self.trials.count, kinds), self.patterns)


def mixing(success: BoolArray, trials: Trials, *, rng: np.random.Generator, permutations: int = 999) -> list[Mixing]:
    """Test the designs at each threshold: `success` (elements, thresholds) has all elements, in trials or not."""
    if success.ndim != 2 or not 1 <= success.shape[1] <= MAX_THRESHOLDS:
        raise ValueError(
            f"success has shape {success.shape}: expected (elements, thresholds), at most {MAX_THRESHOLDS} thresholds"
        )
    if permutations < 1:
        raise ValueError(f"{permutations} permutations: expected one or more")
    selected = np.asarray(success, dtype=np.bool_)[trials.at]
    number = selected @ (1 << np.arange(selected.shape[1]))
    first, code = np.unique(number, return_index=True, return_inverse=True)[1:]
    coded = _CodedElements(code.reshape(-1), selected[first].astype(np.float64), trials)
    rates = coded.rates(coded.code)
    variance = rates.var(axis=0, ddof=1)
    predicted = _predicted(selected, trials)
    draws = {"st": _within_groups(coded, rng), "srs": _all_elements(coded, rng), "cl": _whole_groups(coded, rng)}
    p_values = {design: _p_values(draw, variance, permutations) for design, draw in draws.items() if draw is not None}
    p_values.setdefault("st", _chi_square(variance, predicted["st"], trials.count - 1))
    rates_overall = selected.mean(axis=0).tolist()
    return [_mixing_at(k, rate, variance, predicted, p_values) for k, rate in enumerate(rates_overall)]


def permutations_needed(alpha: float) -> int:
    """The fewest permutations that can reject a design: the smallest two-sided p of N permutations is 2 / (N + 1)."""
    return math.ceil(2 / alpha - _ROUNDING) - 1


def _mixing_at(
    k: int, rate: float, variance: FloatArray, predicted: dict[str, FloatArray], p_values: dict[str, FloatArray]
) -> Mixing:
    expected = {design: float(predicted[design][k]) for design in DESIGNS}
    return Mixing(
        rate=rate,
        sample_variance=float(variance[k]),
        predicted=expected,
        # A trial with a single group says nothing about clusters.
        p_values={d: float(p_values[d][k]) if value == value else float("nan") for d, value in expected.items()},
        direction={design: int(variance[k] > value) - int(variance[k] < value) for design, value in expected.items()},
    )


def _predicted(success: BoolArray, trials: Trials) -> dict[str, FloatArray]:
    """The predictions from each trial, averaged over the trials."""
    order = np.argsort(trials.trial, kind="stable")
    ends = np.cumsum(np.bincount(trials.trial))[:-1]
    by_trial = [design_variances(success[at], trials.group[at]) for at in np.split(order, ends)]
    return {design: np.mean([getattr(trial, design) for trial in by_trial], axis=0) for design in DESIGNS}


def _p_values(draw: Callable[[], FloatArray], variance: FloatArray, permutations: int) -> FloatArray:
    """Twice the smaller tail, with the observed data counted as one of the draws."""
    above, below = np.ones((2, variance.size))
    high, low = variance * (1 - _ROUNDING), variance * (1 + _ROUNDING)
    for _ in range(permutations):
        variance = draw().var(axis=0, ddof=1)
        above += variance >= high
        below += variance <= low
    return np.asarray(np.minimum(2 * np.minimum(above, below) / (permutations + 1), 1.0))


def _within_groups(coded: _CodedElements, rng: np.random.Generator) -> Callable[[], FloatArray] | None:
    """Exchange elements within groups; groups of one size at once. None if each group is in one trial only."""
    group = coded.trials.group
    if coded.trials.nested:
        return None
    order = np.argsort(group, kind="stable")
    sizes = np.bincount(group)
    starts = np.cumsum(sizes) - sizes
    tables = [order[starts[sizes == size][:, None] + np.arange(size)] for size in np.unique(sizes)]
    moved = coded.code.copy()

    def draw() -> FloatArray:
        for table in tables:
            moved[table] = rng.permuted(coded.code[table], axis=1)
        return coded.rates(moved)

    return draw


def _all_elements(coded: _CodedElements, rng: np.random.Generator) -> Callable[[], FloatArray]:
    """Exchange all elements: only how many of each kind every trial gets is drawn."""
    kinds = np.bincount(coded.code, minlength=len(coded.patterns))
    sizes = np.bincount(coded.trials.trial)
    return lambda: _rates(_deal(kinds, sizes, rng), coded.patterns)


def _whole_groups(coded: _CodedElements, rng: np.random.Generator) -> Callable[[], FloatArray]:
    """Exchange whole cells: the elements of a group in a trial stay together."""
    trials, patterns = coded.trials, len(coded.patterns)
    groups = trials.groups
    names, cell = np.unique(trials.trial * groups + trials.group, return_inverse=True)
    counts = np.bincount(cell.reshape(-1) * patterns + coded.code, minlength=names.size * patterns)
    cells, kind = np.unique(counts.reshape(names.size, patterns), axis=0, return_inverse=True)
    kind = kind.reshape(-1)
    sizes = np.bincount(names // groups)
    if len(cells) <= _MAX_KINDS:
        kinds = np.bincount(kind)
        return lambda: _rates(_deal(kinds, sizes, rng) @ cells, coded.patterns)
    starts = np.cumsum(sizes) - sizes
    return lambda: _rates(np.add.reduceat(cells[rng.permutation(kind)], starts, axis=0), coded.patterns)


def _deal(kinds: IntArray, sizes: IntArray, rng: np.random.Generator) -> IntArray:
    """How many items of each kind every trial of a given size gets when all are dealt at random."""
    left, counts = sizes.copy(), np.empty((sizes.size, kinds.size), dtype=np.intp)
    for kind, number in enumerate(kinds.tolist()):
        counts[:, kind] = rng.multivariate_hypergeometric(left, number, method="marginals")
        left -= counts[:, kind]
    return counts


def _rates(counts: npt.NDArray[np.intp], patterns: FloatArray) -> FloatArray:
    """Rates (trials, thresholds) from the numbers of each pattern in every trial."""
    return np.asarray(counts @ patterns / counts.sum(axis=1, keepdims=True))


def _chi_square(variance: FloatArray, predicted: FloatArray, df: int) -> FloatArray:
    from scipy.special import chdtr, chdtrc

    with np.errstate(divide="ignore", invalid="ignore"):
        x = np.where(predicted > 0, df * variance / predicted, np.where(variance > 0, np.inf, df))
    return np.asarray(np.minimum(2 * np.minimum(chdtr(df, x), chdtrc(df, x)), 1.0))

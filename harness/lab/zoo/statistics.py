"""The biometric zoo: people on whom verification works worse, or better, than on others.

Doddington and others (1998): goats have low genuine scores, lambs are easily imitated, wolves imitate others. Whether
there are such people is Kruskal and Wallis's test of scores by person. Yager and Dunstone (2010) look at genuine and
impostor scores together: worms are in the lowest quarter of the one and the highest of the other, doves the other way
round, chameleons high in both, phantoms low in both. If the two had nothing to do with each other, a sixteenth of the
people would be in each.
"""

from dataclasses import dataclass

import numpy as np

from harness.stats.arrays import BoolArray, FloatArray, IntArray

FEWEST = 8


@dataclass(frozen=True, slots=True)
class RankTest:
    """Kruskal and Wallis's test that groups do not differ."""

    statistic: float
    df: int
    p_value: float


@dataclass(frozen=True, slots=True)
class QuarterOverlap:
    """How many people are in two quarters at once, and how many chance would give.

    `p_value` is exact: of as many or more, for all ways to order the people; `p_adjusted` allows for several overlaps.
    `p_binomial` is Yager and Dunstone's, with a sixteenth for each person.
    """

    count: int
    expected: float
    p_value: float
    p_binomial: float
    p_adjusted: float | None = None


def kruskal_wallis(values: FloatArray, groups: IntArray) -> RankTest | None:
    """Whether values differ between groups, corrected for ties; None for fewer than two groups or equal values."""
    from scipy.special import chdtrc

    names, number = np.unique(groups, return_inverse=True)
    n, sizes = values.size, np.bincount(number)
    _, code, ties = np.unique(values, return_inverse=True, return_counts=True)
    if names.size < 2 or ties.size < 2:
        return None
    ranks = (np.cumsum(ties) - (ties - 1) / 2)[code]
    sums = np.bincount(number, weights=ranks)
    raw = 12 / (n * (n + 1)) * float((sums**2 / sizes).sum()) - 3 * (n + 1)
    statistic = raw / (1 - float((ties**3.0 - ties).sum()) / (n**3 - n))
    df = names.size - 1
    return RankTest(statistic, df, float(chdtrc(df, statistic)))


def quarters(values: FloatArray) -> tuple[BoolArray, BoolArray]:
    """Which are in the lowest and in the highest quarter: n // 4 each; of equal values, those that come first."""
    order = np.argsort(values, kind="stable")
    low, high = np.zeros(values.size, dtype=np.bool_), np.zeros(values.size, dtype=np.bool_)
    count = values.size // 4
    low[order[:count]] = True
    high[np.argsort(-values, kind="stable")[:count]] = True
    return low, high


def overlap(first: BoolArray, second: BoolArray) -> QuarterOverlap:
    """The people in both of two quarters."""
    from scipy.special import betainc

    n, a, b = first.size, int(first.sum()), int(second.sum())
    count = int((first & second).sum())
    binomial = 1.0 if count == 0 else float(betainc(count, n - count + 1, 1 / 16))
    return QuarterOverlap(count, a * b / n, _hypergeometric_tail(count, n, a, b), binomial)


def _hypergeometric_tail(count: int, n: int, a: int, b: int) -> float:
    """The chance that a random set of `b` among `n` has at least `count` of `a` given ones."""
    from scipy.special import gammaln

    if count <= max(0, a + b - n):
        return 1.0

    def log_choose(of: FloatArray | int, chosen: FloatArray | int) -> FloatArray:
        return np.asarray(gammaln(np.add(of, 1)) - gammaln(np.add(chosen, 1)) - gammaln(np.subtract(of, chosen) + 1))

    hits = np.arange(count, min(a, b) + 1, dtype=np.float64)
    logs = log_choose(a, hits) + log_choose(n - a, b - hits) - log_choose(n, b)
    return float(min(np.exp(logs).sum(), 1.0))

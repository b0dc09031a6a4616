"""Two algorithms on the same cases: the 2 x 2 table and McNemar's test.

Of the four kinds of case only two tell the algorithms apart: A succeeded and B failed (`n_sf`), or the other way round
(`n_fs`). If the algorithms are equally good, the two are equally likely, like the sides of a coin. All tests here test
whether that coin is fair.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from harness.stats.arrays import FloatArray, IntArray

__all__ = [
    "McNemar",
    "McNemars",
    "PairTable",
    "PairTables",
    "check_successes",
    "mcnemar",
    "mcnemar_all",
    "pairwise_tables",
]


# Table 2 of the tutorial: z, confidence that the two differ, confidence that one is better.
_CONFIDENCE_Z = np.array([1.645, 1.960, 2.326, 2.576])
_CONFIDENCE_DIFFER = np.array([np.nan, 0.90, 0.95, 0.98, 0.99])
_CONFIDENCE_BETTER = np.array([np.nan, 0.95, 0.975, 0.99, 0.995])
# Products of 0 and 1 are summed in single precision, which is exact below 2^24 cases and takes half the memory.
_BLOCK = 1 << 16


@dataclass(frozen=True, slots=True)
class PairTable:
    """Cases by outcome of A (first letter) and of B (second): s for success, f for failure."""

    n_ff: int
    n_sf: int
    n_fs: int
    n_ss: int

    def __post_init__(self) -> None:
        for name in ("n_ff", "n_sf", "n_fs", "n_ss"):
            if getattr(self, name) < 0:
                raise ValueError(f"table of pairs: {name} is {getattr(self, name)}, expected a count of 0 or more")

    @classmethod
    def of(cls, a: npt.ArrayLike, b: npt.ArrayLike) -> PairTable:
        """Count the cases of two arrays of successes, on the same cases in the same order."""
        first, second = (check_successes([np.asarray(successes)])[0] for successes in (a, b))
        if first.shape != second.shape:
            raise ValueError(f"A has {first.size} cases, B has {second.size}: align them by case first")
        return pairwise_tables(np.stack([first, second])).table(0)

    @property
    def n(self) -> int:
        return self.n_ff + self.n_sf + self.n_fs + self.n_ss

    @property
    def discordant(self) -> int:
        """Cases on which exactly one of the two succeeded."""
        return self.n_sf + self.n_fs

    @property
    def difference(self) -> float:
        """Rate of A minus rate of B; NaN without cases."""
        return (self.n_sf - self.n_fs) / self.n if self.n else float("nan")

    @property
    def variance(self) -> float:
        """Variance of the difference if cases are independent: the reference of a design effect."""
        return (self.discordant / self.n - self.difference**2) / (self.n - 1) if self.n > 1 else float("nan")

    def swapped(self) -> PairTable:
        """The same table with A and B exchanged."""
        return PairTable(n_ff=self.n_ff, n_sf=self.n_fs, n_fs=self.n_sf, n_ss=self.n_ss)


@dataclass(frozen=True, slots=True, eq=False)
class PairTables:
    """The tables of all pairs i < j of m algorithms, in the order (0, 1), (0, 2), ... (m - 2, m - 1)."""

    first: IntArray
    second: IntArray
    n_ff: IntArray
    n_sf: IntArray
    n_fs: IntArray
    n_ss: IntArray

    def __len__(self) -> int:
        return len(self.first)

    def table(self, pair: int) -> PairTable:
        return PairTable(*(int(counts[pair]) for counts in (self.n_ff, self.n_sf, self.n_fs, self.n_ss)))

    def better(self) -> IntArray:
        """Matrix of the cases on which i succeeded and j failed; its diagonal is 0."""
        m = int(self.second.max(initial=0)) + 1
        matrix = np.zeros((m, m), dtype=np.int64)
        matrix[self.first, self.second] = self.n_sf
        matrix[self.second, self.first] = self.n_fs
        return matrix


@dataclass(frozen=True, slots=True)
class McNemar:
    """McNemar's test of one pair.

    `z` has the continuity correction and is never below 0. `p_one_sided` is exact, in the direction of the data, a
    choice made after seeing them. `better` is the side that won more discordant cases, significant or not. `z_design`
    is z over the root of the design effect, `p_design` its two-sided p. Confidences are the tutorial's.
    """

    z: float
    p_chi2: float
    p_exact: float
    p_mid: float
    p_one_sided: float
    z_design: float
    p_design: float
    better: Literal["a", "b"] | None
    confidence_differ: float | None
    confidence_better: float | None


@dataclass(frozen=True, slots=True, eq=False)
class McNemars:
    """McNemar's test of many pairs, as arrays; `better` is 1 for A, -1 for B, 0 on a tie.

    A confidence below the tutorial's table is NaN.
    """

    z: FloatArray
    p_chi2: FloatArray
    p_exact: FloatArray
    p_mid: FloatArray
    p_one_sided: FloatArray
    z_design: FloatArray
    p_design: FloatArray
    better: IntArray
    confidence_differ: FloatArray
    confidence_better: FloatArray

    def pair(self, k: int) -> McNemar:
        better: dict[int, Literal["a", "b"]] = {1: "a", -1: "b"}
        differ, more = float(self.confidence_differ[k]), float(self.confidence_better[k])
        return McNemar(
            z=float(self.z[k]),
            p_chi2=float(self.p_chi2[k]),
            p_exact=float(self.p_exact[k]),
            p_mid=float(self.p_mid[k]),
            p_one_sided=float(self.p_one_sided[k]),
            z_design=float(self.z_design[k]),
            p_design=float(self.p_design[k]),
            better=better.get(int(self.better[k])),
            confidence_differ=None if np.isnan(differ) else differ,
            confidence_better=None if np.isnan(more) else more,
        )


def pairwise_tables(successes: npt.ArrayLike) -> PairTables:
    """All pairs of m algorithms from an (m, n) array of their successes on n cases."""
    matrix = check_successes(successes)
    m, n = matrix.shape
    both = np.zeros((m, m), dtype=np.int64)
    for start in range(0, n, _BLOCK):
        block = matrix[:, start : start + _BLOCK].astype(np.float32)
        both += (block @ block.T).astype(np.int64)
    first, second = (index.astype(np.int64) for index in np.triu_indices(m, 1))
    total, n_ss = np.diagonal(both), both[first, second]
    n_sf, n_fs = total[first] - n_ss, total[second] - n_ss
    return PairTables(first=first, second=second, n_ff=n - n_ss - n_sf - n_fs, n_sf=n_sf, n_fs=n_fs, n_ss=n_ss)


def mcnemar(table: PairTable, *, design_effect: float = 1.0) -> McNemar:
    return mcnemar_all([table.n_sf], [table.n_fs], design_effect=design_effect).pair(0)


def mcnemar_all(n_sf: npt.ArrayLike, n_fs: npt.ArrayLike, *, design_effect: npt.ArrayLike = 1.0) -> McNemars:
    """McNemar's test of many tables, from their discordant counts."""
    from scipy.special import ndtr

    sf, fs, deff = _check_discordant(n_sf, n_fs, design_effect)
    discordant = sf + fs
    z = np.maximum(np.abs(sf - fs) - 1, 0) / np.sqrt(np.where(discordant == 0, 1, discordant))
    z_design = z / np.sqrt(deff)
    level = np.searchsorted(_CONFIDENCE_Z, z, side="right")
    return McNemars(
        z=z,
        p_chi2=2 * ndtr(-z),
        **_coin_p(sf, fs),
        z_design=z_design,
        p_design=2 * ndtr(-z_design),
        better=np.sign(sf - fs).astype(np.int64),
        confidence_differ=_CONFIDENCE_DIFFER[level],
        confidence_better=_CONFIDENCE_BETTER[level],
    )


def check_successes(successes: npt.ArrayLike, *, axes: str = "(algorithms, cases)") -> npt.NDArray[np.bool_]:
    """The successes as a boolean matrix; raises a ValueError if they are not one."""
    matrix = np.asarray(successes)
    if matrix.ndim != 2:
        raise ValueError(f"successes have shape {matrix.shape}, expected {axes}")
    if matrix.dtype != np.bool_ and not np.isin(matrix, (0, 1)).all():
        raise ValueError("successes hold values other than 0 and 1: decide what a success is first")
    return matrix.astype(np.bool_, copy=False)


def _coin_p(sf: FloatArray, fs: FloatArray) -> dict[str, FloatArray]:
    """Exact, mid and one-sided p of a fair coin with these counts.

    P(X <= m) for a coin thrown n times is the incomplete beta function I(n - m, m + 1) at 1/2, which does not
    overflow at any n and takes microseconds; no term of the sum is ever formed.
    """
    from scipy.special import betainc

    smaller, larger = np.minimum(sf, fs), np.maximum(sf, fs)
    at_most = betainc(np.maximum(larger, 1), smaller + 1, 0.5)
    below = np.where(smaller == 0, 0.0, betainc(larger + 1, np.maximum(smaller, 1), 0.5))
    # Equal counts: 1 - P(X = m)/2, where by symmetry P(X = m) = 1 - 2 P(X < m) (Fagerland, Lydersen and Laake 2013).
    p_mid = np.where(smaller == larger, 0.5 + below, at_most + below)
    none = larger == 0
    return {
        "p_exact": np.where(none, 1.0, np.minimum(2 * at_most, 1.0)),
        "p_mid": np.where(none, 1.0, p_mid),
        "p_one_sided": np.where(none, 1.0, at_most),
    }


def _check_discordant(
    n_sf: npt.ArrayLike, n_fs: npt.ArrayLike, design_effect: npt.ArrayLike
) -> tuple[FloatArray, FloatArray, FloatArray]:
    sf, fs, deff = np.broadcast_arrays(*(np.asarray(v, dtype=np.float64) for v in (n_sf, n_fs, design_effect)))
    for name, counts in (("n_sf", sf), ("n_fs", fs)):
        wrong = ~(np.isfinite(counts) & (counts >= 0) & (counts == np.floor(counts)))
        if wrong.any():
            raise ValueError(f"{name} is {counts[wrong].flat[0]}, expected a count of 0 or more")
    if not (np.isfinite(deff) & (deff > 0)).all():
        raise ValueError("a design effect is not a finite number above 0 (1 for independent cases)")
    return sf, fs, deff

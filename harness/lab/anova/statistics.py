"""Analysis of variance over several factors, tested by the design.

A linear model of success with sum-to-zero columns is fitted by weighted least squares. Main effects are tested in the
model of main effects alone, two-way interactions in the model of all of them: each term beyond those that do not
contain it (type II). Sums of squares say how much a term explains; its test does not use them, as they take cases for
independent. The coefficients have the covariance of their linear form over the units of each stratum (Binder 1983), and
Wald's statistic of a term's coefficients is referred to F with the degrees of freedom of Korn and Graubard (1990).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from harness.stats.arrays import FloatArray, IntArray
from harness.stats.cochran import WaldTest, equal_rates
from harness.stats.replication.linearised import linearised_covariance
from harness.stats.replication.sample import Sample, domain_df, unit_sums

__all__ = ["MAX_COLUMNS", "Factor", "VarianceTerm", "variance_terms"]

# Coefficients of a model; with more, nobody could read what interacts.
MAX_COLUMNS = 400
# Rows times coefficients that are held in memory at once.
MAX_NUMBERS = 1 << 27
# A column whose part that the columns before it do not explain is smaller than this is one of their sums.
_DEPENDENT = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Factor:
    """Which level each case, or, with `of_runs`, each run has."""

    name: str
    codes: IntArray
    of_runs: bool = False

    @property
    def levels(self) -> int:
        return int(self.codes.max()) + 1


@dataclass(frozen=True, slots=True)
class VarianceTerm:
    """A main effect or an interaction of two factors.

    `df` coefficients are its own; none are if it cannot be told from the others. `share` is the part of the variance
    that it explains, less what chance would (omega squared); `test` is None if a group of it lies in a single unit.
    """

    factors: tuple[str, ...]
    df: int
    share: float
    test: WaldTest | None


def variance_terms(values: FloatArray, factors: Sequence[Factor], sample: Sample) -> list[VarianceTerm]:
    """All main effects and two-way interactions of values (runs, cases)."""
    levels = [factor.levels - 1 for factor in factors]
    columns = 1 + sum(levels) + sum(a * b for a, b in combinations(levels, 2))
    if columns > MAX_COLUMNS or columns * values.size > MAX_NUMBERS:
        raise ValueError(f"{columns:,} coefficients are too many; take fewer columns, or bins of a number, COLUMN:3")
    model = _Model(np.asarray(values, dtype=np.float64), sample)
    blocks: dict[tuple[str, ...], FloatArray] = {(factor.name,): _coded(factor, *values.shape) for factor in factors}
    by_name = {factor.name: factor for factor in factors}
    pairs: dict[tuple[str, ...], FloatArray] = {
        (a.name, b.name): (blocks[(a.name,)][:, :, None] * blocks[(b.name,)][:, None, :]).reshape(values.size, -1)
        for a, b in combinations(factors, 2)
    }
    terms = model.terms(blocks, list(blocks), by_name)
    return [*terms, *model.terms(blocks | pairs, list(pairs), by_name)] if pairs else terms


def _coded(factor: Factor, runs: int, cases: int) -> FloatArray:
    """Sum-to-zero columns (runs x cases, levels - 1)."""
    table = np.vstack([np.eye(factor.levels - 1), -np.ones(factor.levels - 1)])
    codes = np.repeat(factor.codes, cases) if factor.of_runs else np.tile(factor.codes, runs)
    return np.asarray(table[codes])


@dataclass(frozen=True, slots=True, eq=False)
class _Model:
    """Values (runs, cases) of a sample, to be explained."""

    values: FloatArray
    sample: Sample

    def terms(
        self, blocks: dict[tuple[str, ...], FloatArray], tested: Sequence[tuple[str, ...]], factors: dict[str, Factor]
    ) -> list[VarianceTerm]:
        """Fit a model of all blocks, and test some of them."""
        names = [name for name, block in blocks.items() for _ in range(block.shape[1])]
        x = np.hstack([np.ones((self.values.size, 1)), *blocks.values()])
        weights = np.tile(self.sample.weights, len(self.values))
        gram = x.T @ (x * weights[:, None])
        kept = _independent_columns(gram)
        x, inverse = x[:, kept], np.asarray(np.linalg.inv(gram[np.ix_(kept, kept)]), dtype=np.float64)
        beta = inverse @ (x.T @ (weights * self.values.ravel()))
        rest = self.values.ravel() - x @ beta
        # What each unit adds to the score equations; the runs of a case are in the same unit.
        scores = (x * rest[:, None]).reshape(*self.values.shape, -1).sum(axis=0)
        units = unit_sums(self.sample, scores) @ inverse
        columns_of = {
            name: [i for i, column in enumerate(kept) if column and names[column - 1] == name] for name in tested
        }
        error = float(weights @ rest**2) / max(self.values.size / self.sample.answers - len(kept), 1)
        return [
            VarianceTerm(
                name,
                len(at),
                self._share(beta[at], inverse[np.ix_(at, at)], error * len(at), error) if at else 0.0,
                self._test(beta[at], units[:, at], [factors[factor] for factor in name]) if at else None,
            )
            for name, at in columns_of.items()
        ]

    def _share(self, beta: FloatArray, inverse: FloatArray, chance: float, error: float) -> float:
        """Hays' omega squared."""
        weights = np.tile(self.sample.weights, len(self.values))
        mean = float(weights @ self.values.ravel() / weights.sum())
        total = float(weights @ (self.values.ravel() - mean) ** 2) + error
        explained = float(beta @ np.linalg.solve(inverse, beta))
        return max((explained - chance) / total, 0.0) if total > 0 else 0.0

    def _test(self, beta: FloatArray, units: FloatArray, factors: Sequence[Factor]) -> WaldTest | None:
        df = self._df([factor for factor in factors if not factor.of_runs])
        if df < 1:
            return None
        # That all coefficients equal a number that is 0 and does not vary.
        covariance = np.zeros((beta.size + 1, beta.size + 1))
        covariance[:-1, :-1] = linearised_covariance(self.sample, units)
        return equal_rates(np.append(beta, 0.0), (covariance + covariance.T) / 2, df=df)

    def _df(self, factors: Sequence[Factor]) -> float:
        """Units minus strata, of the group that has the fewest."""
        design = float(self.sample.units - self.sample.strata)
        if not factors:
            return design
        codes = np.zeros(self.sample.cases, dtype=np.intp)
        for factor in factors:
            codes = codes * factor.levels + factor.codes
        used, dense = np.unique(codes, return_inverse=True)
        fewest = design
        for level in range(used.size):
            by_unit = unit_sums(self.sample, (dense == level).astype(np.float64)[:, None])
            fewest = min(fewest, float(domain_df(self.sample, by_unit, design)[0]))
        return fewest


def _independent_columns(gram: FloatArray) -> list[int]:
    """The columns that are no sums of columns before them, by elimination."""
    rest, kept = gram.copy(), []
    for column in range(len(gram)):
        if rest[column, column] > _DEPENDENT * gram[column, column]:
            kept.append(column)
            rest -= np.outer(rest[:, column], rest[column]) / rest[column, column]
    return kept

"""Pairs over the folds of a cross-validation: what training on other data would do to their difference.

Every case was answered by a model that had learnt from the other folds. Errors by design take these models as given.
The differences of the folds vary with the training too, but their models share most of their training data; hence the
correlated t distribution of Nadeau and Bengio (2003), as a posterior (Benavoli and others 2017) and as a test.
"""

from dataclasses import replace

import numpy as np

from harness.analysis.comparison import Comparison
from harness.analysis.pairs import FoldOpinion
from harness.errors import UsageError
from harness.params import nearest
from harness.stats.arrays import FloatArray, IntArray
from harness.stats.posterior import fold_posterior

_ROUNDING = 1e-12


def with_folds(comparison: Comparison, column: str, rope: float) -> Comparison:
    """Every pair over the folds that a column names."""
    if comparison.other_measure:
        raise UsageError("--folds is about success; leave out --statistic")
    codes = _folds(comparison, column)
    shares = _test_shares(comparison, codes)
    if shares.size < 2 or not 0 < shares.mean() < 1:
        raise UsageError(f"--folds {column}: all cases are in one fold; name the column that tells folds apart")
    weights = comparison.sampling.sample.weights
    sizes = np.bincount(codes, weights=weights)
    rates = np.stack([np.bincount(codes, weights=weights * one) / sizes for one in comparison.aligned.success])
    pairs = [
        replace(pair, folds=_opinion(column, rates[pair.a] - rates[pair.b], float(shares.mean()), rope))
        for pair in comparison.pairs
    ]
    return replace(comparison, pairs=pairs, further=[*comparison.further, "folds"])


def _folds(comparison: Comparison, column: str) -> IntArray:
    """The fold of each answer, numbered densely."""
    aligned = comparison.aligned
    found = aligned.column(column)
    if found is None or not (found.codes >= 0).any():
        raise UsageError(
            f"--folds {column}: no such column in these transcripts; {nearest(column, aligned.column_names())}"
        )
    if (found.codes < 0).any():
        raise UsageError(f"--folds {column}: {int((found.codes < 0).sum()):,} cases have no value, and so no fold")
    return np.asarray(np.unique(found.codes, return_inverse=True)[1], dtype=np.intp)


def _test_shares(comparison: Comparison, codes: IntArray) -> FloatArray:
    """The share of the cases that each fold tests on; in repeated cross-validation a case is in several folds."""
    case = np.unique(comparison.aligned.ids, return_inverse=True)[1]
    fold_of_pair = np.unique(np.stack([codes, case]), axis=1)[0]
    return np.bincount(fold_of_pair) / (int(case.max()) + 1)


def _opinion(column: str, differences: FloatArray, share: float, rope: float) -> FoldOpinion:
    sides = fold_posterior(differences, test_share=share, rope=0.0)
    p_value = 2 * min(sides.a_better, sides.b_better)
    if np.ptp(differences) <= _ROUNDING:
        # Folds that all agree are no proof: coins fall on the same side with this probability.
        p_value = 2.0 ** (1 - differences.size) if abs(differences[0]) > _ROUNDING else 1.0
    posterior = fold_posterior(differences, test_share=share, rope=rope)
    return FoldOpinion(column, differences, share, min(p_value, 1.0), posterior)

"""Pairs over the folds of a cross-validation: what training on other data would do to their difference.

Every case was answered by a model that had learnt from the other folds. Errors by design take these models as given.
The differences of the folds vary with the training too, but their models share most of their training data; hence the
correlated t distribution of Nadeau and Bengio (2003), as a posterior (Benavoli and others 2017) and as a test.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from harness.analysis.comparison import Comparison
from harness.api.comparisons import CompareResult
from harness.api.result import Addition
from harness.errors import UsageError
from harness.lab.opinions import FoldsOptions
from harness.lab.opinions.posterior import PracticalDifference, fold_posterior
from harness.lab.opinions.success import SuccessExtension, chance_columns
from harness.options.comparing import CompareOptions
from harness.params import nearest
from harness.report.blocks import Block, Column, Heading, P, Paragraphs, table_of
from harness.report.numbers import distance, share_text
from harness.stats.arrays import FloatArray, IntArray
from harness.stats.rates import Interval

_ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class FoldOpinion:
    """Two runs' differences by fold, each of which tests on `test_share` of the cases; `p_value` is two-sided."""

    a: str
    b: str
    column: str
    differences: FloatArray
    test_share: float
    p_value: float
    posterior: PracticalDifference

    @property
    def mean(self) -> float:
        return float(self.differences.mean())

    @property
    def spread(self) -> Interval:
        """The smallest and the largest of them."""
        return Interval(float(self.differences.min()), float(self.differences.max()))

    def record(self) -> dict[str, Any]:
        """The entry of JSON."""
        return {
            "a": self.a,
            "b": self.b,
            "column": self.column,
            "folds": self.differences.size,
            "test_share": self.test_share,
            "difference": self.mean,
            "p_value": self.p_value,
            **asdict(self.posterior),
            "differences": self.differences.tolist(),
        }


class FoldsExtension(SuccessExtension):
    """`compare --folds COLUMN`."""

    flag = "--folds"

    def add(self, result: CompareResult, options: CompareOptions) -> Addition:
        """Every pair over the folds that a column names."""
        settings = FoldsOptions.taken_from(options)
        opinions = _opinions(result.comparison, settings.folds or "", settings.rope)
        return Addition([opinion.record() for opinion in opinions], _blocks(opinions), self.remarks(result, options))


def _opinions(comparison: Comparison, column: str, rope: float) -> list[FoldOpinion]:
    codes = _folds(comparison, column)
    shares = _test_shares(comparison, codes)
    if shares.size < 2 or not 0 < shares.mean() < 1:
        raise UsageError(f"--folds {column}: all cases are in one fold; name the column that tells folds apart")
    weights = comparison.sampling.sample.weights
    sizes = np.bincount(codes, weights=weights)
    rates = np.stack([np.bincount(codes, weights=weights * success) / sizes for success in comparison.aligned.success])
    share, names, opinions = float(shares.mean()), comparison.names, []
    for pair in comparison.pairs:
        differences = rates[pair.a] - rates[pair.b]
        posterior = fold_posterior(differences, test_share=share, rope=rope)
        p_value = _p_value(differences, share)
        opinions.append(FoldOpinion(names[pair.a], names[pair.b], column, differences, share, p_value, posterior))
    return opinions


def _folds(comparison: Comparison, column: str) -> IntArray:
    """The fold of each answer, numbered densely."""
    aligned = comparison.aligned
    folds = aligned.column(column)
    if folds is None or not (folds.codes >= 0).any():
        raise UsageError(
            f"--folds {column}: no such column in these transcripts; {nearest(column, aligned.column_names())}"
        )
    if (folds.codes < 0).any():
        raise UsageError(f"--folds {column}: {int((folds.codes < 0).sum()):,} cases have no value, and so no fold")
    return np.asarray(np.unique(folds.codes, return_inverse=True)[1], dtype=np.intp)


def _test_shares(comparison: Comparison, codes: IntArray) -> FloatArray:
    """The share of the cases that each fold tests on; in repeated cross-validation a case is in several folds."""
    case = np.unique(comparison.aligned.ids, return_inverse=True)[1]
    fold_of_pair = np.unique(np.stack([codes, case]), axis=1)[0]
    return np.bincount(fold_of_pair) / (int(case.max()) + 1)


def _p_value(differences: FloatArray, share: float) -> float:
    if np.ptp(differences) <= _ROUNDING:
        # Folds that all agree are no proof: coins fall on the same side with this probability.
        return float(2.0 ** (1 - differences.size)) if abs(differences[0]) > _ROUNDING else 1.0
    sides = fold_posterior(differences, test_share=share, rope=0.0)
    return min(2 * min(sides.a_better, sides.b_better), 1.0)


def _blocks(opinions: Sequence[FoldOpinion]) -> list[Block]:
    """A row for each pair, and what it rests on."""
    columns: list[Column[FoldOpinion]] = [
        Column("pair", lambda opinion: f"{opinion.a} - {opinion.b}"),
        Column("difference", "mean", form=".4f"),
        Column("spread", head="over folds"),
        Column("p_value", head="p", form=P),
        *chance_columns("posterior"),
    ]
    first = opinions[0]
    text = (
        f"{first.differences.size} folds by {first.column}, each testing on {share_text(first.test_share)} of the "
        "cases: for other training data of this size, by a correlated t distribution. P: probabilities that the first "
        f"is better by more than {distance(first.posterior.rope)}, that the two are within that, and that the second "
        "is better by more. The verdicts above take the trained models as given."
    )
    return [Heading("Over the folds"), table_of(opinions, columns), Paragraphs([text])]

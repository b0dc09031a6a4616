"""Pairs over the folds of a cross-validation, for people."""

from harness.analysis.comparison import Comparison
from harness.report.blocks import Block, Heading, Paragraphs
from harness.report.numbers import distance, share_text
from harness.report.pairs import PairOutput, pair_table_of


def fold_blocks(comparison: Comparison) -> list[Block]:
    """A row for each pair, and what it rests on."""
    first = next(pair.folds for pair in comparison.pairs if pair.folds is not None)
    text = (
        f"{first.differences.size} folds by {first.column}, each testing on {share_text(first.test_share)} of the "
        "cases: for other training data of this size, by a correlated t distribution. P: probabilities that the first "
        f"is better by more than {distance(first.posterior.rope)}, that the two are within that, and that the second "
        "is better by more. The verdicts above take the trained models as given."
    )
    return [Heading("Over the folds"), pair_table_of(comparison, PairOutput.FOLDS), Paragraphs([text])]

"""Pairs over the folds of a cross-validation, for people."""

from collections.abc import Sequence

from harness.analysis.comparison import Comparison
from harness.analysis.fold_check import FoldOpinion
from harness.report.blocks import Block, Cell, Heading, Limits, Number, Paragraphs, Table
from harness.report.numbers import distance, p_cell, share_text


def fold_blocks(comparison: Comparison, opinions: Sequence[FoldOpinion]) -> list[Block]:
    """A row for each pair, and what it rests on."""
    first, names = opinions[0], comparison.names
    rows: list[list[Cell]] = [
        [
            f"{names[one.a]} - {names[one.b]}",
            Number(float(one.differences.mean())),
            Limits(float(one.differences.min()), float(one.differences.max())),
            p_cell(one.p_value),
            *(Number(p, ".1%") for p in (one.posterior.a_better, one.posterior.equivalent, one.posterior.b_better)),
        ]
        for one in opinions
    ]
    columns = ["pair", "difference", "over folds", "p", "P(first)", "P(equal)", "P(second)"]
    text = (
        f"{first.differences.size} folds by {first.column}, each testing on {share_text(first.test_share)} of the "
        "cases: for other training data of this size, by a correlated t distribution. P: probabilities that the first "
        f"is better by more than {distance(first.posterior.rope)}, that the two are within that, and that the second "
        "is better by more. The verdicts above take the trained models as given."
    )
    return [Heading("Over the folds"), Table(columns, rows), Paragraphs([text])]

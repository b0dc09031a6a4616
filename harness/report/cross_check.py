"""Second opinions on pairs, in a table and in sentences."""

import math
from collections.abc import Sequence

from harness.analysis.comparison import Comparison
from harness.analysis.cross_check import SecondOpinion
from harness.report.blocks import Block, Cell, Heading, Number, Paragraphs, Table
from harness.report.numbers import distance, p_cell, p_is


def opinion_blocks(comparison: Comparison, opinions: Sequence[SecondOpinion]) -> list[Block]:
    """What other methods say, and where they disagree with the verdict."""
    return [
        Heading("Second opinions"),
        _table(comparison, opinions),
        Paragraphs([*_basis(opinions), *_disagreements(comparison, opinions)]),
    ]


def _table(comparison: Comparison, opinions: Sequence[SecondOpinion]) -> Table:
    names = comparison.names
    rows: list[list[Cell]] = []
    for one in opinions:
        mixed, found = one.mixed, one.posterior
        figures: list[Cell] = [Number(None)] * 3
        if mixed is not None:
            figures = [Number(math.exp(mixed.log_odds), ".3f"), Number(mixed.se, ".3f"), p_cell(mixed.p_value)]
        chances = [Number(chance, ".1%") for chance in (found.a_better, found.equivalent, found.b_better)]
        rows.append([f"{names[one.a]} - {names[one.b]}", *figures, *chances])
    return Table(["pair", "odds ratio", "se of its log", "p mixed", "P(first)", "P(equal)", "P(second)"], rows)


def _basis(opinions: Sequence[SecondOpinion]) -> list[str]:
    first = opinions[0]
    units = next((one for one in opinions if one.mixed is not None and one.mixed.unit_sd is not None), None)
    effects = "cases and the units that they come from" if units is not None else "cases"
    return [
        f"Mixed: a logistic model in which {effects} differ at random (Laplace); the odds ratio is of the first over "
        "the second, for a given case.",
        f"P: posterior probabilities that the first is better by more than {distance(first.posterior.rope)}, that the "
        "two are within that, and that the second is better by more (Dirichlet prior, counts divided by the design "
        "effect).",
    ]


def _disagreements(comparison: Comparison, opinions: Sequence[SecondOpinion]) -> list[str]:
    names, lines = comparison.names, []
    for one, pair in zip(opinions, comparison.pairs, strict=True):
        both = f"{names[one.a]} and {names[one.b]}"
        if one.mixed is None:
            lines.append(
                f"{both}: the model has no finite estimate, because one side wins all discordant cases, or none."
            )
        elif one.agree is False:
            found = "a difference" if one.mixed.p_value <= comparison.alpha else "no difference"
            other = "a difference" if pair.p_decisive <= comparison.alpha else "none"
            lines.append(
                f"{both}: the opinions disagree; the model shows {found} ({p_is(one.mixed.p_value)}), the verdict "
                f"{other} ({p_is(pair.p_decisive)}). The verdict rests on fewer assumptions: the model takes "
                "difficulty to be normally distributed, and speaks of odds for a given case, not of rates."
            )
    return lines or ["The model and the verdicts agree."]

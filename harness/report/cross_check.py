"""Second opinions on pairs, in a table and in sentences."""

from harness.analysis.comparison import Comparison
from harness.report.blocks import Block, Heading, Paragraphs
from harness.report.numbers import distance, p_is
from harness.report.pairs import PairOutput, pair_table_of


def opinion_blocks(comparison: Comparison) -> list[Block]:
    """What other methods say, and where they disagree with the verdict."""
    return [
        Heading("Second opinions"),
        pair_table_of(comparison, PairOutput.OPINIONS),
        Paragraphs([*_basis(comparison), *_disagreements(comparison)]),
    ]


def _basis(comparison: Comparison) -> list[str]:
    opinions = [pair.cross_check for pair in comparison.pairs if pair.cross_check is not None]
    units = any(one.mixed is not None and one.mixed.unit_sd is not None for one in opinions)
    effects = "cases and the units that they come from" if units else "cases"
    return [
        f"Mixed: a logistic model in which {effects} differ at random (Laplace); the odds ratio is of the first over "
        "the second, for a given case.",
        f"P: posterior probabilities that the first is better by more than {distance(opinions[0].bayes.rope)}, that "
        "the two are within that, and that the second is better by more (Dirichlet prior, counts divided by the design "
        "effect).",
    ]


def _disagreements(comparison: Comparison) -> list[str]:
    names, lines = comparison.names, []
    for pair in comparison.pairs:
        one = pair.cross_check
        if one is None:
            continue
        both = f"{names[pair.a]} and {names[pair.b]}"
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

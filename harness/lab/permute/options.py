"""Options of `hate permute`."""

from harness.options import ConfidenceOptions, Range, SeedOptions, option
from harness.options.curves import MatrixOptions


class PermuteOptions(MatrixOptions, ConfidenceOptions, SeedOptions):
    """Options of `hate permute`."""

    subject: str = option("--subject", default="subject", metavar="COLUMN", help="The column that says who it is.")
    differ: tuple[str, ...] = option(
        "--differ",
        default=(),
        separator=",",
        metavar="COLUMN,...",
        help="A person's gallery and probe images differ in these columns, such as day.",
    )
    agree: tuple[str, ...] = option(
        "--agree",
        default=(),
        separator=",",
        metavar="COLUMN,...",
        help="A person's gallery and probe images agree in these columns, such as camera.",
    )
    experiments: int = option(
        "--experiments", default=10_000, within=Range(1, 10_000_000), metavar="N", help="How many experiments to draw."
    )
    ranks: int = option("--ranks", default=10, within=Range(1), metavar="N", help="Up to this rank.")
    sampling: str = option(
        "--sampling",
        default="balanced",
        choices=("balanced", "unbalanced", "both"),
        help="Take all pairs of a person's images equally often, or draw them for each person independently.",
    )

    @property
    def balanced(self) -> bool:
        """Whether the draws are balanced; where both are asked for, those of the first experiment."""
        return self.sampling != "unbalanced"

"""`hate permute`, on the command line and from Python."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.cli.options import FormatOptions, command_options, matrices_argument
from harness.cli.output import check_plot, draw, emit_result
from harness.options import ConfidenceOptions, PlotOptions, Range, SeedOptions, option
from harness.options.curves import MatrixOptions

if TYPE_CHECKING:
    from harness.lab.permute.report import PermutationResult


class PermuteOptions(MatrixOptions, ConfidenceOptions, SeedOptions):
    """Options of `hate permute`."""

    subject: str = option("--subject COLUMN", "The column that says who it is.", default="subject")
    differ: tuple[str, ...] = option(
        "--differ COLUMN,...",
        "A person's gallery and probe images differ in these columns, such as day.",
        default=(),
        separator=",",
    )
    agree: tuple[str, ...] = option(
        "--agree COLUMN,...",
        "A person's gallery and probe images agree in these columns, such as camera.",
        default=(),
        separator=",",
    )
    experiments: int = option(
        "--experiments N", "How many experiments to draw.", default=10_000, within=Range(1, 10_000_000)
    )
    ranks: int | None = option(
        "--ranks N",
        "Up to this rank; by default up to 10, or as many as there are people.",
        default=None,
        within=Range(1),
    )
    sampling: str = option(
        "--sampling",
        "Take all pairs of a person's images equally often, or draw them for each person independently.",
        default="balanced",
        choices=("balanced", "unbalanced", "both"),
    )

    @property
    def balanced(self) -> bool:
        """Whether the draws are balanced; where both are asked for, those of the first experiment."""
        return self.sampling != "unbalanced"


def permute(matrices: str | Path | Sequence[str | Path], *, options: PermuteOptions) -> "PermutationResult":
    """Permute gallery and probe images of the same people: their recognition rates with other choices of image.

    >>> permute(["pca.npy", "lda.npy"], differ="day")

    Args:
        matrices: Files of similarity matrices (.npy, .csv, .tsv, .parquet), or names of tests that have one.
    """
    from harness.api.identification import read_matrices
    from harness.lab.permute.analysis import permuted_rates
    from harness.lab.permute.report import PermutationResult

    read = read_matrices(matrices, options)
    rates = permuted_rates(read, options)
    both = options.sampling == "both"
    return PermutationResult(rates, permuted_rates(read, replace(options, sampling="unbalanced")) if both else None)


class PermuteCommandOptions(PermuteOptions, PlotOptions, FormatOptions):
    """Options of `hate permute`, and how to print."""


@click.command("permute")
@matrices_argument
@command_options(PermuteCommandOptions)
def permute_command(matrices: Sequence[str], options: PermuteCommandOptions) -> None:
    """Permute gallery and probe images: the recognition rate of these people with other choices of image.

    In every experiment each person has one image in the gallery and another as the probe. Two or more matrices
    (algorithms) are compared on the same draws.

    \b
    hate permute faces
    hate permute pca.npy lda.npy --labels images.csv --differ day
    """
    check_plot(options.plot)
    result = permute(matrices, options=options)
    draw(result, options)
    emit_result(result, options.style)

"""`hate permute`, on the command line and from Python."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.cli.options import FormatOptions, command_options
from harness.cli.output import check_plot, draw, emit_result, output_format
from harness.lab.permute.options import PermuteOptions
from harness.options import PlotOptions

if TYPE_CHECKING:
    from harness.lab.permute.report import PermutationResult


def permute(
    matrices: Sequence[str | Path], options: PermuteOptions | None = None, **settings: Any
) -> "PermutationResult":
    """Permute gallery and probe images of the same people: `permute(["pca.npy", "lda.npy"], differ="day")`.

    Options are those of the command, with underscores.
    """
    from harness.api.matrices import read_matrices
    from harness.lab.permute.analysis import permuted_rates
    from harness.lab.permute.report import PermutationResult

    options = PermuteOptions.given(options, settings)
    read = read_matrices(matrices, options)
    found = permuted_rates(read, options)
    both = options.sampling == "both"
    return PermutationResult(found, permuted_rates(read, replace(options, sampling="unbalanced")) if both else None)


class PermuteCommandOptions(PermuteOptions, PlotOptions, FormatOptions):
    """Options of `hate permute`, and how to print."""


@click.command("permute")
@click.argument("matrices", nargs=-1, required=True, metavar="MATRIX|TEST...")
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
    found = permute(matrices, options)
    draw(found, options)
    emit_result(found, output_format(options.style))

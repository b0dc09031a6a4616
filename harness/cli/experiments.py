"""`hate permute`: experiments on recorded results."""

from collections.abc import Sequence

import click

from harness.cli.options import FormatOptions, command_options
from harness.cli.output import check_plot, draw, emit_result, output_format
from harness.options import PlotOptions
from harness.options.experiments import PermuteOptions


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
    from harness.api.experiments import permute

    found = permute(matrices, options)
    draw(found, options)
    emit_result(found, output_format(options.style))

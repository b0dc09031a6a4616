"""`hate galleries`, on the command line and from Python."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.cli.options import FormatOptions, command_options, matrices_argument
from harness.cli.output import check_plot, draw, emit_result
from harness.lab.options import PermutationTestOptions
from harness.options import DesignOptions, PlotOptions, option
from harness.options.curves import MatrixOptions, RankCurveOptions

if TYPE_CHECKING:
    from harness.lab.galleries.report import GalleriesResult


class GalleriesOptions(PermutationTestOptions, MatrixOptions, RankCurveOptions, DesignOptions):
    """Options of `hate galleries`."""

    by: str = option("--by COLUMN", "The images of each value of this column are the gallery in turn.")
    # Every probe of a matrix weighs the same.
    weights: str | None = option(default=None)
    mix: bool = option("--mix", "Also give each gallery an equal share of all images.", default=False)


def galleries(matrices: str | Path | Sequence[str | Path], *, options: GalleriesOptions) -> "GalleriesResult":
    """Use each set of images as the gallery, and test whether the rates differ.

    >>> galleries(["faces.npy"], by="day")

    Args:
        matrices: Files of similarity matrices (.npy, .csv, .tsv, .parquet), or names of tests that have one.
    """
    from harness.api.identification import read_matrices
    from harness.lab.galleries.analysis import compare_galleries
    from harness.lab.galleries.report import GalleriesResult

    compared = [compare_galleries(matrix, options) for matrix in read_matrices(matrices, options)]
    curves = [curve for _, of_gallery in compared for curve in of_gallery]
    return GalleriesResult([comparison for comparison, _ in compared], curves, options.confidence)


class GalleriesCommandOptions(GalleriesOptions, PlotOptions, FormatOptions):
    """Options of `hate galleries`, and how to print."""


@click.command("galleries")
@matrices_argument
@command_options(GalleriesCommandOptions)
def galleries_command(matrices: Sequence[str], options: GalleriesCommandOptions) -> None:
    """Does the choice of the gallery matter? Use each set of images as the gallery, and test whether the rates differ.

    For each value of a column, everyone's image with that value is the gallery, and all other images are probes.

    \b
    hate galleries faces --by image
    hate galleries pca.npy lda.npy --by day --mix --plot galleries.svg
    """
    check_plot(options.plot)
    result = galleries(matrices, options=options)
    draw(result, options)
    emit_result(result, options.style)

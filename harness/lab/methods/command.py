"""`hate methods`, on the command line and from Python."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from harness.cli.arguments import TestRunOptions, find_ranks
from harness.cli.options import FormatOptions, command_options, transcripts_argument
from harness.cli.output import check_plot, draw, emit_result
from harness.options import PlotOptions, SeedOptions
from harness.options.curves import LastRankOptions, RankOptions

if TYPE_CHECKING:
    from harness.api.transcripts import Given
    from harness.lab.methods.report import MethodsResult


class MethodsOptions(LastRankOptions, RankOptions, SeedOptions):
    """Options of `hate methods`."""


def methods(given: "Given | Sequence[Given]", *, options: MethodsOptions) -> "MethodsResult":
    """Standard errors over the rank by several methods.

    >>> methods("faces.npy", gallery="day=1", stratum="subject")

    Args:
        given: Transcripts of rank tests, or files of similarity matrices; one or several.
    """
    from harness.api.identification import ranks_of
    from harness.lab.methods.analysis import compare_methods
    from harness.lab.methods.report import MethodsResult

    ranked, notes = ranks_of(given, options)
    return MethodsResult([compare_methods(ranks, limit=options.ranks, seed=options.seed) for ranks in ranked], notes)


class MethodsCommandOptions(MethodsOptions, TestRunOptions, PlotOptions, FormatOptions):
    """Options of `hate methods`, how to run a test first, and how to print."""


@click.command("methods")
@transcripts_argument
@command_options(MethodsCommandOptions)
def methods_command(transcripts: Sequence[str], options: MethodsCommandOptions) -> None:
    """Standard errors over the rank by BRR, jackknife and bootstrap, with and without the strata, and with a unit less.

    T is a rank test, which is run first, its transcript, or a similarity matrix, as for `hate cmc`.

    \b
    hate methods faces --interface matrix:eigenfaces_l1.npy --stratum subject
    hate methods pca.npy --gallery day=1 --stratum subject --plot methods.svg
    """
    check_plot(options.plot)
    result = methods(find_ranks(transcripts, options), options=options)
    draw(result, options)
    emit_result(result, options.style)

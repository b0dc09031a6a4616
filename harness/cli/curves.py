"""`hate roc`, `hate det`, `hate pr`, `hate froc` and `hate cmc`: curves over a threshold, and over the rank."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.cli.arguments import TestRunOptions, find_or_run, refuse_run_options
from harness.cli.options import FormatOptions, command_options, transcripts_argument
from harness.cli.output import check_plot, draw, emit_result, output_format, remark
from harness.errors import UsageError
from harness.files.outputs import write_output
from harness.options import PictureOptions, PlotOptions, Range, Writes, option
from harness.options.curves import CmcOptions, CurveOptions, FrocOptions, PrOptions

if TYPE_CHECKING:
    from harness.api.curves import CurveResult, PointsResult


# What draws curves, and not the distribution of scores.
CURVE_PICTURES = ("plot", "gnuplot")


class DrawingOptions(PlotOptions):
    """Pictures."""

    gnuplot: Path | None = option(
        "--gnuplot", default=None, writes=Writes.FILE, metavar="FILE",
        help="Write a gnuplot script with the data in it.",
    )  # fmt: skip


class CurveCommandOptions(CurveOptions, DrawingOptions, TestRunOptions, FormatOptions):
    """Options that `hate roc`, `det` and `pr` share."""


class PrCommandOptions(PrOptions, CurveCommandOptions):
    """Options of `hate pr`."""


class RocCommandOptions(CurveCommandOptions):
    """Options of `hate roc`."""

    axes: str = option(
        "--axes", default="linear", choices=("linear", "log"), needs=CURVE_PICTURES, help="Scale of the picture's axes."
    )
    zoom: float | None = option(
        "--zoom", default=None, within=Range(0, 1, high_open=True), needs=("plot",), metavar="RATE",
        help="Also draw the corner up to this false-positive rate larger; by default where all curves lie close to it, "
        "0 for never.",
    )  # fmt: skip
    scores: Path | None = option(
        "--scores", default=None, writes=Writes.FILE, metavar="FILE.svg|png|pdf",
        help="Draw how the scores of positives and negatives are distributed.",
    )  # fmt: skip


class DetCommandOptions(CurveCommandOptions):
    """Options of `hate det`."""

    axes: str = option(
        "--axes", default="normal", choices=("normal", "log", "linear"), needs=CURVE_PICTURES,
        help="Scale of the picture's axes.",
    )  # fmt: skip


class FrocCommandOptions(FrocOptions, DrawingOptions, TestRunOptions, FormatOptions):
    """Options of `hate froc`."""


class CmcCommandOptions(CmcOptions, DrawingOptions, TestRunOptions, FormatOptions):
    """Options of `hate cmc`."""


@click.command("roc")
@transcripts_argument
@command_options(RocCommandOptions)
def roc_command(transcripts: Sequence[str], options: RocCommandOptions) -> None:
    """ROC curves of transcripts, or of a test, which is run first.

    A transcript is a file, a URL, NAME of a run, TEST/NAME of a published one, or -; as many as you like.
    On a terminal a summary is printed, elsewhere the points.

    \b
    hate roc wisard witch --plot roc.svg
    hate roc wisard witch --at fpr=0.01 --format table
    """
    check_plot(options.scores, "--scores")
    if options.zoom and options.axes == "log":
        raise UsageError("--zoom draws a corner that --axes log shows anyway; leave one of them out")
    found = _print_curves("roc", transcripts, options)
    if options.scores is not None:
        found.plot_scores(options.scores, PictureOptions.taken_from(options), force=options.force)
        remark(f"picture: {options.scores}")


@click.command("det")
@transcripts_argument
@command_options(DetCommandOptions)
def det_command(transcripts: Sequence[str], options: DetCommandOptions) -> None:
    """DET curves of transcripts, or of a test, which is run first: both errors on normal deviate axes.

    A transcript is a file, a URL, NAME of a run, TEST/NAME of a published one, or -; as many as you like.
    On a terminal a summary is printed, elsewhere the points.

    \b
    hate det wisard witch --plot det.svg
    hate det wisard witch --axes log --gnuplot det.gp
    """
    _print_curves("det", transcripts, options)


@click.command("pr")
@transcripts_argument
@command_options(PrCommandOptions)
def pr_command(transcripts: Sequence[str], options: PrCommandOptions) -> None:
    """Precision and recall of transcripts, or of a test, which is run first.

    A transcript is a file, a URL, NAME of a run, TEST/NAME of a published one, or -; as many as you like.
    On a terminal a summary is printed, elsewhere the points.

    \b
    hate pr wisard witch --plot pr.svg
    hate pr wisard witch --format csv > points.csv
    """
    _print_curves("pr", transcripts, options)


def _print_curves(kind: str, words: Sequence[str], options: CurveCommandOptions) -> "CurveResult":
    check_plot(options.plot)
    from harness.api.curves import threshold_curves

    opened = find_or_run(words, options, told_apart=not (options.swept or options.repeated))
    found = threshold_curves(kind, opened, options)
    _draw(found, options)
    emit_result(found, output_format(options.style))
    return found


@click.command("froc")
@transcripts_argument
@command_options(FrocCommandOptions)
def froc_command(transcripts: Sequence[str], options: FrocCommandOptions) -> None:
    """Free-response curves: the share of objects found over the false positives per image.

    T is a test of task boxes, which is run first, or its transcript: a file, a URL, NAME of a run, TEST/NAME of a
    published one, or -; as many as you like. On a terminal a summary is printed, elsewhere the points.

    \b
    hate froc blobs relief --plot froc.svg
    hate froc blobs --psu scene --format json
    """
    check_plot(options.plot)
    from harness.api.froc import froc

    found = froc(find_or_run(transcripts, options), options)
    _draw(found, options)
    emit_result(found, output_format(options.style))


@click.command("cmc")
@transcripts_argument
@command_options(CmcCommandOptions)
def cmc_command(transcripts: Sequence[str], options: CmcCommandOptions) -> None:
    """Cumulative match curves: the share of probes found at each rank or better.

    T is a rank test, which is run first, its transcript, or a similarity matrix: .npy with a table of labels beside it,
    or CSV or Parquet with the gallery in its first row and the probes in its first column.

    \b
    hate cmc faces --interface matrix:eigenfaces_l1.npy --probe 'image>1'
    hate cmc faces.npy --gallery session=1 --probe session=2 --plot cmc.svg
    hate cmc faces.csv --identity '^[^_]+'
    """
    check_plot(options.plot)
    if options.gnuplot is not None and (options.methods or options.galleries is not None):
        raise UsageError("--gnuplot: not for --methods and --galleries; --format csv has the data")
    from harness.api.identification import CmcResult, cmc
    from harness.api.matrices import is_matrix

    names = list(transcripts)
    others = [word for word in names if not is_matrix(word)] if options.galleries is None else []
    if not others:
        refuse_run_options(options, f"{names[0]} is a similarity matrix")
    sources = iter(find_or_run(others, options).sources if others else [])
    found = cmc([next(sources) if word in others else word for word in names], options)
    if isinstance(found, CmcResult):
        _draw(found, options)
    else:
        draw(found, options)
    emit_result(found, output_format(options.style))


def _draw(found: "PointsResult", options: DrawingOptions) -> None:
    draw(found, options)
    if options.gnuplot is not None:
        text = found.gnuplot(options.gnuplot, found.pictured.taken_from(options))
        write_output(options.gnuplot, text, force=options.force, what="the script")
        remark(f"gnuplot script: {options.gnuplot}")

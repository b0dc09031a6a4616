"""`hate roc`, `hate det`, `hate pr`, `hate froc` and `hate cmc`: a command for each view of curves."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.api import curves
from harness.api.curves import VIEWS
from harness.cli.arguments import TestRunOptions, find_or_run, find_ranks
from harness.cli.options import FormatOptions, command_options, transcripts_argument
from harness.cli.output import check_plot, draw, emit_result, remark
from harness.errors import UsageError
from harness.files.outputs import write_output
from harness.options import OptionSet, PlotOptions, Range, Writes, option
from harness.report.curve_view import CurveView

if TYPE_CHECKING:
    from harness.api.curve_result import CurveResult


# What draws curves, and not the distribution of scores.
CURVE_PICTURES = ("plot", "gnuplot")


class CurveCommandOptions(PlotOptions, TestRunOptions, FormatOptions):
    """What all curves have, beside the options of their view."""

    gnuplot: Path | None = option(
        "--gnuplot FILE", "Write a gnuplot script with the data in it.", default=None, writes=Writes.FILE
    )


class CornerOptions(OptionSet):
    """What a view with a corner has: the corner, and the scores that the curve comes from."""

    zoom: float | None = option(
        "--zoom RATE",
        "Also draw the corner up to this false-positive rate larger; by default where all curves lie close to it, "
        "0 for never.",
        default=None,
        within=Range(0, 1, high_open=True),
        needs=("plot",),
    )
    scores: Path | None = option(
        "--scores FILE.svg|png|pdf",
        "Draw how the scores of positives and negatives are distributed.",
        default=None,
        writes=Writes.FILE,
    )


def _options(view: CurveView) -> Any:
    """The options of a command: those of the view, of all curves, and `--axes` if there is a choice."""
    members: dict[str, Any] = {"__doc__": f"Options of `hate {view.name}`."}
    if len(view.axes) > 1:
        first, *_ = view.axes
        words = "Scale of the picture's axes."
        members["__annotations__"] = {"axes": str}
        members["axes"] = option("--axes", words, default=first, choices=tuple(view.axes), needs=CURVE_PICTURES)
    corner: tuple[type[OptionSet], ...] = (CornerOptions,) if view.corner else ()
    bases: tuple[type, ...] = (*corner, view.options, CurveCommandOptions)
    return type(f"{view.name.capitalize()}CommandOptions", bases, members)


def _print_curves(view: CurveView) -> Callable[..., None]:
    """What a command does: find the transcripts, call the function of Python, draw and print."""

    def call(transcripts: Sequence[str], options: Any) -> None:
        # What only some views have: scores and a corner, transcripts that are joined to one curve.
        given = options.changed()
        check_plot(options.plot)
        check_plot(given.get("scores"), "--scores")
        if given.get("zoom") and options.axes == "log":
            raise UsageError("--zoom draws a corner that --axes log shows anyway; leave one of them out")
        opened: Any
        if view.name == "cmc":  # ranks may be of matrices
            opened = find_ranks(transcripts, options)
        else:
            opened = find_or_run(transcripts, options, told_apart=not {"swept", "repeated"} & given.keys())
        result: CurveResult = getattr(curves, view.name)(opened, options=options)
        draw(result, options)
        if options.gnuplot is not None:
            text = result.make_script(options.gnuplot, options)
            write_output(options.gnuplot, text, force=options.force, what="the script")
            remark(f"gnuplot script: {options.gnuplot}")
        emit_result(result, options.style)
        if "scores" in given:
            result.make_scores_picture(options).save(options.scores, force=options.force)
            remark(f"picture: {options.scores}")

    return call


COMMANDS: dict[str, click.Command] = {}
for view in VIEWS.values():
    call = command_options(_options(view))(_print_curves(view))
    COMMANDS[view.name] = click.command(view.name, help=view.help)(transcripts_argument(call))

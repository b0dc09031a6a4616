"""`hate power`: before a test, how large it must be; after it, what it could have shown."""

from collections.abc import Sequence

import click

from harness.cli.arguments import find_transcripts
from harness.cli.completion import complete_transcript
from harness.cli.options import FormatOptions, command_options
from harness.cli.output import check_plot, draw, emit_result, output_format
from harness.errors import UsageError
from harness.options import PlotOptions, option
from harness.options.pictures import WIDTHS, inches
from harness.options.power import PowerOptions


class PowerCommandOptions(PowerOptions, PlotOptions, FormatOptions):
    """Options of `hate power`, and how to print."""

    # --width is that of an interval here.
    picture_width: float | None = option(
        "--picture-width INCHES|1column|2column",
        "How wide the picture is; by default a journal's column, 3.5 inches.",
        default=None,
        parse=inches,
        within=WIDTHS,
    )
    pilot: bool = option("--from", "The transcripts that follow are a pilot; it may be left out.", default=False)


@click.command("power")
@click.argument("transcripts", nargs=-1, metavar="[T...]", shell_complete=complete_transcript)
@command_options(PowerCommandOptions)
def power_command(transcripts: Sequence[str], options: PowerCommandOptions) -> None:
    """How many units and cases a test needs; with one or two transcripts, from their variance.

    Two transcripts and no goal: the smallest difference that they could have shown.

    \b
    hate power --difference 0.02 --discordance 0.1
    hate power --difference 0.02 --rates 0.90 --per-unit 4 --icc 0.2
    hate power --from wisard witch --difference 0.02 --plot power.svg
    hate power --width 0.02 --rates 0.9
    hate power --rule-of-30 0.001
    """
    check_plot(options.plot)
    from harness.api.power import PowerResult, power

    if options.pilot and not transcripts:
        raise UsageError("--from: name one or two transcripts")
    found = power(find_transcripts(transcripts, options) if transcripts else None, options)
    emit_result(found, output_format(options.style))
    if isinstance(found, PowerResult):
        draw(found, options, width=options.picture_width)
    elif options.plot is not None:
        raise UsageError("--plot: the rules of 3 and 30 are two numbers, not a curve")

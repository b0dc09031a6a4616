"""`hate sweep` and `hate tune`: how the counts change with the parameters, and which values are best."""

import click

from harness.api.sweeps import SweepOptions, sweep
from harness.api.tuning import TuneOptions, tune
from harness.cli.options import FormatOptions, command_options, named_test
from harness.cli.output import emit_result
from harness.options import InterfaceOptions


class SweepCommandOptions(InterfaceOptions, SweepOptions, FormatOptions):
    """Options of `hate sweep`."""


@click.command("sweep")
@named_test
@command_options(SweepCommandOptions)
def sweep_command(test: str, options: SweepCommandOptions) -> int:
    """Run TEST with every combination of the parameters' values; a row of counts each.

    A decision parameter, such as threshold, never runs the program again. Runs are kept: only what is new is run,
    and a sweep that was stopped carries on.

    \b
    hate sweep hdigits --interface wisard --param threshold=0:20:5
    """
    result = sweep(test, options.interface, options=options)
    emit_result(result, options.style)
    return 1 if result.all_errors else 0


class TuneCommandOptions(InterfaceOptions, TuneOptions, FormatOptions):
    """Options of `hate tune`."""


@click.command("tune")
@named_test
@command_options(TuneCommandOptions)
def tune_command(test: str, options: TuneCommandOptions) -> None:
    """Find the best values of parameters for TEST, on folds of its training part: its test cases are not used.

    Values of a decision parameter, such as threshold, cost nothing. Runs are kept, as by `hate sweep`.

    \b
    hate tune hdigits --interface wisard --param threshold=0,5,10
    """
    emit_result(tune(test, options.interface, options=options), options.style)

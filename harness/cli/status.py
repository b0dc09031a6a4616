"""`hate status`: how far a run is, from another terminal."""

import sys
import time

import click

from harness.api.status import RunWatch, StatusOptions, find_run, status
from harness.cli.completion import complete_run
from harness.cli.options import FormatOptions, command_options
from harness.cli.output import emit_result
from harness.options import option
from harness.transcript.status import RunState


class StatusCommandOptions(StatusOptions, FormatOptions):
    """Options of `hate status`, and how to print."""

    watch: bool = option("--watch", "Print it again and again, until the run ends.", default=False)


@click.command("status")
@click.argument("file", required=False, shell_complete=complete_run)
@command_options(StatusCommandOptions)
def status_command(file: str | None, options: StatusCommandOptions) -> None:
    """How far a run is: cases done, speed, time left, errors, and the counts so far with their interval.

    FILE is its transcript, which is only read, or NAME of the algorithm; without it, the newest run here.

    \b
    hate status
    hate status transcripts/hdigits/mine.jsonl --watch
    """
    if not options.watch:
        emit_result(status(file, options=options), options.style)
        return
    watch, state = RunWatch(find_run(file)), RunState.RUNNING
    while state is RunState.RUNNING:
        result = watch.look()
        state = result.run.state
        click.clear()
        emit_result(result, options.style)
        sys.stdout.flush()
        if state is RunState.RUNNING:
            time.sleep(options.every)
    watch.close()

"""`hate zoo`, and `zoo` for Python."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from harness.api.transcripts import Transcripts, open_transcripts
from harness.cli.arguments import TestRunOptions, find_or_run
from harness.cli.options import FormatOptions, command_options, transcripts_argument
from harness.cli.output import emit_result
from harness.errors import UsageError
from harness.options import DownloadOptions, PartialOptions, option

if TYPE_CHECKING:
    from harness.lab.zoo.report import ZooResult


class ZooOptions(PartialOptions, DownloadOptions):
    """Who was compared with whom."""

    subjects: tuple[str, ...] = option(
        "--subjects CLAIMED,REAL", "The columns of who was claimed and who it was.", separator=","
    )


class ZooCommandOptions(ZooOptions, TestRunOptions, FormatOptions):
    """Options of `hate zoo`, how to run a test first, and how to print."""


@click.command("zoo")
@transcripts_argument
@command_options(ZooCommandOptions)
def zoo_command(transcripts: Sequence[str], options: ZooCommandOptions) -> None:
    """The biometric zoo: who is refused, who is imitated and who imitates others, by the scores of each person.

    T is a file, a URL, TEST/NAME or NAME of a transcript with scores, or a test, which is run first.

    \b
    hate zoo scores.jsonl --subjects claimed,real
    """
    _two_columns(options)
    result = zoo(find_or_run(transcripts, options), options=options)
    emit_result(result, options.style)


def zoo(transcripts: Transcripts, *, options: ZooOptions) -> "ZooResult":
    """Who verifies badly, who is imitated, who imitates: the biometric zoo.

    >>> zoo("mine.jsonl", subjects="claimed,real")

    Args:
        transcripts: Names, paths, URLs, or what `run`, `read` and `fuse` returned; one or several.
    """
    from harness.lab.zoo.analysis import zoo_runs
    from harness.lab.zoo.report import ZooResult

    columns = _two_columns(options)
    opened = open_transcripts(transcripts, options)
    runs = opened.runs()
    return ZooResult(
        runs[0].columns.header.test, columns, zoo_runs(runs, columns, partial=options.partial), opened.notes
    )


def _two_columns(options: ZooOptions) -> tuple[str, str]:
    if len(options.subjects) != 2 or not all(options.subjects):
        raise UsageError(
            f"--subjects {','.join(options.subjects)}: name two columns, who was claimed and who it was: CLAIMED,REAL"
        )
    claimed, real = options.subjects
    return claimed, real

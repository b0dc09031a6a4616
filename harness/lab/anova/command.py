"""`hate anova`, and `anova` for Python."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from harness.api.transcripts import Transcripts, open_transcripts
from harness.cli.arguments import TestRunOptions, find_or_run
from harness.cli.options import FormatOptions, command_options, transcripts_argument
from harness.cli.output import emit_result
from harness.errors import UsageError
from harness.options import DesignOptions, DownloadOptions, PartialOptions, option

if TYPE_CHECKING:
    from harness.lab.anova.report import AnovaResult


class AnovaOptions(DesignOptions, PartialOptions, DownloadOptions):
    """Which columns, and how the cases were sampled."""

    by: tuple[str, ...] = option(
        "--by COLUMN,...",
        "The columns whose effects and interactions are tested; noise:5 for 5 bins of a number, noise=0,10,20 for "
        "edges.",
        separator=",",
    )


class AnovaCommandOptions(AnovaOptions, TestRunOptions, FormatOptions):
    """Options of `hate anova`, how to run a test first, and how to print."""


@click.command("anova")
@transcripts_argument
@command_options(AnovaCommandOptions)
def anova_command(transcripts: Sequence[str], options: AnovaCommandOptions) -> None:
    """Analysis of variance of success: which columns matter, and does what one does depend on another?

    T is a file, a URL, TEST/NAME or NAME of a transcript, or a test, which is run first. With several, of the same
    cases, the algorithm is a column too.

    \b
    hate anova wisard --by truth,positive
    hate anova wisard witch --by truth
    """
    result = anova(find_or_run(transcripts, options), options=options)
    emit_result(result, options.style)


def anova(transcripts: Transcripts, *, options: AnovaOptions) -> "AnovaResult":
    """What matters to success, and what depends on what: an analysis of variance.

    >>> anova("wisard", by="truth,writer")

    Args:
        transcripts: Names, paths, URLs, or what `run`, `read` and `fuse` returned; one or several.
    """
    from harness.lab.anova.analysis import analyse_variance
    from harness.lab.anova.report import AnovaResult

    if not all(options.by):
        raise UsageError(f"--by {','.join(options.by)}: a column is empty; write COLUMN,COLUMN")
    opened = open_transcripts(transcripts, options)
    analysis = analyse_variance(opened.runs(), ",".join(options.by), options, partial=options.partial)
    return AnovaResult(analysis, opened.notes)

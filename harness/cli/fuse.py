"""`hate fuse`: the answers of several algorithms as one transcript."""

from collections.abc import Sequence

import click

from harness.cli.arguments import find_transcripts
from harness.cli.options import FormatOptions, command_options, transcripts_argument
from harness.cli.output import emit_result, output_format
from harness.options.fusing import FuseOptions


class FuseCommandOptions(FuseOptions, FormatOptions):
    """Options of `hate fuse`, and how to print."""


@click.command("fuse")
@transcripts_argument
@command_options(FuseCommandOptions)
def fuse_command(transcripts: Sequence[str], options: FuseCommandOptions) -> None:
    """Combine the answers of several algorithms to one test into a transcript like any other.

    Weights are never learnt on the cases that they fuse: --learn names transcripts of other cases, --folds learns on
    other sampling units of the same test.

    \b
    hate fuse wisard warlock witch -o vote.jsonl
    hate fuse wisard witch --rule logistic --folds 10 -o both.jsonl
    hate compare both.jsonl wisard witch
    """
    from harness.api.fusing import fuse

    emit_result(fuse(find_transcripts(transcripts, options), options), output_format(options.style))

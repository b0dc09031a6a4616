"""`hate misheard`: the words that were missed most often."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import click

from harness.api.result import Result
from harness.api.transcripts import Given, read
from harness.cli.options import FormatOptions, command_options
from harness.cli.output import emit_result
from harness.options import DownloadOptions, OptionSet, Range, option
from harness.report.blocks import Block, Table


class MisheardOptions(OptionSet):
    """Options of `hate misheard`."""

    top: int = option("--top N", "How many words to show.", default=5, within=Range(1))


class MisheardCommandOptions(MisheardOptions, FormatOptions):
    """Options of `hate misheard`, and how to print."""


@dataclass(frozen=True, repr=False)
class MisheardResult(Result):
    """Words, and how often each was expected and missed."""

    words: Sequence[tuple[str, int, int]]

    def payload(self) -> Any:
        """The command's JSON."""
        return {"words": [dict(zip(("word", "expected", "missed"), row, strict=True)) for row in self.words]}

    def blocks(self) -> Sequence[Block]:
        """A row for each word."""
        return [Table(["word", "expected", "missed"], self.words)]


def misheard(transcript: Given, *, options: MisheardOptions) -> MisheardResult:
    """The words of a transcript that were missed most often."""
    expected, missed = Counter[str](), Counter[str]()
    for trial in read(transcript, options=DownloadOptions()):
        words = Counter(str(trial.expect).lower().split())
        expected += words
        missed += words - Counter(str(trial.actual or "").lower().split())
    return MisheardResult([(word, expected[word], count) for word, count in missed.most_common(options.top)])


@click.command("misheard")
@click.argument("transcript")
@command_options(MisheardCommandOptions)
def misheard_command(transcript: str, options: MisheardCommandOptions) -> None:
    """Show the words of TRANSCRIPT that were missed most often."""
    emit_result(misheard(transcript, options=options), options.style)

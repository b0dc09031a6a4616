"""`hate roc`: ROC curves, true- over false-positive rate."""

from collections.abc import Sequence
from typing import Any

import click

from harness.cli.curves import curve_options, draw_curves


@click.command("roc")
@curve_options("roc")
def command(words: Sequence[str], **given: Any) -> None:
    """ROC curves of transcripts, or of a test, which is run first.

    A transcript is a file, a URL, NAME of a run, TEST/NAME of a published one, or -; as many as you like.
    On a terminal a summary is printed, elsewhere the points.

    \b
    hate roc wisard witch --plot roc.svg
    hate roc wisard witch --at fpr=0.01 --format table
    """
    draw_curves("roc", words, given)

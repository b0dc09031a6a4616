"""`hate pr`: precision-recall curves, precision over recall."""

from collections.abc import Sequence
from typing import Any

import click

from harness.cli.curves import curve_options, draw_curves


@click.command("pr")
@curve_options("pr")
def command(words: Sequence[str], **given: Any) -> None:
    """precision-recall curves of transcripts, or of a test, which is run first.

    A transcript is a file, a URL, NAME of a run, TEST/NAME of a published one, or -; as many as you like.
    On a terminal a summary is printed, elsewhere the points.

    \b
    hate pr wisard witch --plot pr.svg
    hate pr wisard witch --at fpr=0.01 --format table
    """
    draw_curves("pr", words, given)

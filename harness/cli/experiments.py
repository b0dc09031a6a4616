"""`hate urn`: an experiment on recorded results."""

from collections.abc import Sequence

import click

from harness.cli.arguments import TestRunOptions, find_or_run, refuse_run_options
from harness.cli.options import FormatOptions, command_options, transcripts_argument
from harness.cli.output import check_plot, draw, emit_result, output_format
from harness.errors import UsageError
from harness.options import PlotOptions
from harness.options.experiments import UrnOptions
from harness.site.tests import is_test


class UrnCommandOptions(UrnOptions, TestRunOptions, PlotOptions, FormatOptions):
    """Options of `hate urn`, how to run a test first, and how to print."""


@click.command("urn")
@transcripts_argument
@command_options(UrnCommandOptions)
def urn_command(transcripts: Sequence[str], options: UrnCommandOptions) -> None:
    """Is the urn well mixed? Compare how a rate varies from trial to trial with what three designs predict.

    T is a transcript, a test, which is run first, or a similarity matrix. Elements are the records of transcripts or
    the probes of matrices; groups may be strata (st), clusters (cl) or nothing (srs).

    \b
    hate urn hdigits --interface wisard --group truth --resample groups --groups 2
    hate urn weather.jsonl --group subject --trial time
    hate urn weather.jsonl --group image --trial time --shuffle time
    """
    from harness.api.experiments import check_urn_options, urn_of_matrices, urn_of_transcripts
    from harness.api.matrices import is_matrix

    check_urn_options(options)
    check_plot(options.plot)
    kinds = {is_matrix(word) for word in transcripts}
    if kinds == {True, False}:
        raise UsageError(f"{transcripts[0]}, {transcripts[-1]}: transcripts and matrices together; give one kind")
    if True in kinds:
        refuse_run_options(options, f"{transcripts[0]} is a similarity matrix")
        found = urn_of_matrices(transcripts, options)
    else:
        _check_no_matrix(transcripts, options)
        found = urn_of_transcripts(find_or_run(transcripts, options), options)
    draw(found, options)
    emit_result(found, output_format(options.style))


def _check_no_matrix(words: Sequence[str], options: UrnCommandOptions) -> None:
    """A rank test that is run takes a choice of gallery and probes too."""
    for name in ("labels", "distance", "identity"):
        if getattr(options, name):
            raise UsageError(f"--{name} is for similarity matrices; a transcript records its own")
    for name in ("gallery", "probe"):
        if getattr(options, name) and not any(is_test(word, options.libraries) for word in words):
            raise UsageError(f"--{name} is for similarity matrices, and for rank tests that are run")

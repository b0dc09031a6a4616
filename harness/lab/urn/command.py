"""`hate urn`, and `urn` for Python."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from harness.api.transcripts import OpenedTranscripts, Transcripts, listed, open_transcripts
from harness.cli.arguments import TestRunOptions, find_or_run, refuse_run_options
from harness.cli.options import FormatOptions, command_options, transcripts_argument
from harness.cli.output import check_plot, draw, emit_result
from harness.errors import UsageError
from harness.lab.options import PermutationTestOptions
from harness.options import DownloadOptions, PlotOptions, Range, SeedOptions, option
from harness.options.curves import MatrixOptions
from harness.params import Param, ParamType
from harness.site.find_test import is_test

if TYPE_CHECKING:
    from harness.lab.urn.report import UrnResult


class UrnOptions(PermutationTestOptions, MatrixOptions, SeedOptions, DownloadOptions):
    """What is repeated, how it is grouped, and how the test is made."""

    group: str = option("--group COLUMN", "The partition to test, such as subject or image.")
    trial: str | None = option(
        "--trial COLUMN", "What is repeated, such as a day or a data collection; 'source' for files.", default=None
    )
    elements: int | None = option(
        "--elements M",
        "How many repetitions make a trial; by default 4 where a group has one element in each, else 1.",
        default=None,
        within=Range(1),
    )
    shuffle: tuple[str, ...] = option(
        "--shuffle COLUMN,...", "Randomise these cofactors within the groups, such as time.", default=(), separator=","
    )
    resample: str | None = option("--resample", "Draw other groups for every trial.", default=None, choices=("groups",))
    groups: int | None = option(
        "--groups N",
        "With --resample: how many groups a trial has; by default a tenth of them.",
        default=None,
        within=Range(2),
        needs=("resample",),
    )
    design: str | None = option(
        "--design", "The design to test; st, or cl with --resample.", default=None, choices=("st", "srs", "cl")
    )
    threshold: str | None = option(
        "--threshold VALUES", "Where success begins: 1, or 1,5,10, or 0:1:0.1.", default=None
    )
    on: str = option("--on", "Matrices: what the threshold applies to.", default="rank", choices=("rank", "score"))
    subject: str = option("--subject COLUMN", "Matrices: the column that says who it is.", default="subject")
    runs: int = option(
        "--runs N",
        "Repeat the analysis N times, each time with a random half of the repetitions.",
        default=1,
        within=Range(1, 1000),
    )
    alpha: float = option(
        "--alpha P",
        "Reject a design whose p-value is at most this.",
        default=0.05,
        within=Range(0, 1, low_open=True, high_open=True),
    )

    @property
    def proposed(self) -> str:
        """The design that is tested."""
        return self.design or ("st" if self.resample is None else "cl")


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
    _check_permutations(options)
    check_plot(options.plot)
    if _are_matrices(transcripts):
        refuse_run_options(options, f"{transcripts[0]} is a similarity matrix")
        result = urn(transcripts, options=options)
    else:
        _check_no_matrix(transcripts, options)
        result = urn(find_or_run(transcripts, options), options=options)
    draw(result, options)
    emit_result(result, options.style)


def urn(sources: Transcripts, *, options: UrnOptions) -> "UrnResult":
    """Which sampling design explains how a rate varies from trial to trial.

    >>> urn("weather.jsonl", group="subject", trial="time")

    Args:
        sources: Transcripts, or files of similarity matrices; one or several.
    """
    from harness.api.identification import read_matrices
    from harness.lab.urn.analysis import draw_from_urn, from_matrices, from_runs
    from harness.lab.urn.report import UrnResult

    _check_permutations(options)
    values = [] if options.threshold is None else Param("threshold", ParamType.FLOAT, 0.0).parse_many(options.threshold)
    thresholds = [float(value) for value in values]
    several = listed(sources)
    if not isinstance(sources, OpenedTranscripts) and _are_matrices(several):
        matrices = read_matrices([str(name) for name in several], options)
        elements = from_matrices(matrices, thresholds, on=options.on, identity=options.subject)
        return UrnResult(draw_from_urn(elements, options))
    opened = sources if isinstance(sources, OpenedTranscripts) else open_transcripts(several, options)
    return UrnResult(draw_from_urn(from_runs(opened.runs(), opened.paths, thresholds), options), opened.notes)


def _check_permutations(options: UrnOptions) -> None:
    from harness.lab.urn.statistics import permutations_needed

    needed = permutations_needed(options.alpha)
    if options.permutations < needed:
        raise UsageError(
            f"--permutations {options.permutations}: too few to reject anything at --alpha {options.alpha:g}; "
            f"give {needed:,} or more"
        )


def _are_matrices(sources: Sequence[object]) -> bool:
    from harness.api.identification import is_matrix

    kinds = {is_matrix(source) for source in sources}
    if kinds == {True, False}:
        raise UsageError(f"{sources[0]}, {sources[-1]}: transcripts and matrices together; give one kind")
    return True in kinds


def _check_no_matrix(words: Sequence[str], options: UrnCommandOptions) -> None:
    """A rank test that is run takes a choice of gallery and probes too."""
    for name in ("labels", "distance", "identity"):
        if getattr(options, name):
            raise UsageError(f"--{name} is for similarity matrices; a transcript records its own")
    for name in ("gallery", "probe"):
        if getattr(options, name) and not any(is_test(word, options.libraries) for word in words):
            raise UsageError(f"--{name} is for similarity matrices, and for rank tests that are run")

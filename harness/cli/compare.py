"""`hate compare`, `rate`, `confusion`, `power`, `fuse` and `report`: what transcripts show, alone and together."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.api.transcripts import OpenedTranscripts
from harness.cli.arguments import TestRunOptions, find_or_run, find_transcripts
from harness.cli.completion import complete_transcript
from harness.cli.options import FormatOptions, command_options, transcripts_argument
from harness.cli.output import check_plot, draw, emit_result, output_format, remark
from harness.errors import UsageError
from harness.options import (
    DownloadOptions,
    OptionSet,
    OverwriteOptions,
    PictureOptions,
    PlotOptions,
    SeedOptions,
    Writes,
    option,
)
from harness.options.comparing import (
    ByOptions,
    CompareOptions,
    ConfusionOptions,
    FuseOptions,
    IntersectOptions,
    RateOptions,
    ReportOptions,
    SequentialOptions,
    TableOptions,
)
from harness.options.pictures import WIDTHS, inches
from harness.options.power import PowerOptions
from harness.report.formats import Format
from harness.site.find_test import find_test, is_test

if TYPE_CHECKING:
    from harness.api.rates import SequentialResult


class GroupPlotOptions(ByOptions, PlotOptions):
    """A picture of the groups."""

    plot: Path | None = option(
        "--plot FILE.svg|png|pdf",
        "Draw the groups that --by shows; without --by, the errors of answers that are numbers, or the "
        "reliability of `hate rate --statistic ece`.",
        default=None,
        writes=Writes.FILE,
    )


class SequentialCommandOptions(OptionSet):
    """Runs that are looked at while they grow, or that stopped early."""

    sequential: bool = option(
        "--sequential",
        "Intervals for this whole test that stay valid however often one looks, and for runs that stopped early.",
        default=False,
    )


class CompareCommandOptions(CompareOptions, GroupPlotOptions, SequentialCommandOptions, FormatOptions):
    """Options of `hate compare`, and how to print."""

    typed: bool = option(
        "--table",
        "Four counts instead of transcripts: both failed, only A right, only B right, both right.",
        default=False,
    )
    everything: bool = option(
        "--all", "Everything: McNemar's tables, all p-values, time and memory, how cases were drawn.", default=False
    )
    fail_if_worse: bool = option(
        "--fail-if-worse",
        "For a build: exit status 1 when the first is significantly worse than another.",
        default=False,
    )


class RateCommandOptions(RateOptions, GroupPlotOptions, SequentialCommandOptions, TestRunOptions, FormatOptions):
    """Options of `hate rate`, how to run a test first, and how to print."""


class ConfusionCommandOptions(ConfusionOptions, PlotOptions, TestRunOptions, FormatOptions):
    """Options of `hate confusion`, how to run a test first, and how to print."""

    plot: Path | None = option(
        "--plot FILE.svg|png|pdf", "Draw it; of two transcripts, the difference.", default=None, writes=Writes.FILE
    )


@click.command("compare")
@transcripts_argument
@command_options(CompareCommandOptions)
def compare_command(transcripts: Sequence[str], options: CompareCommandOptions) -> int:
    """Compare transcripts of one test: files, URLs, TEST/NAME or NAME, or - for standard input.

    Prints how many cases each succeeded on where another failed, McNemar's test, and errors that fit how the cases
    were sampled.

    \b
    hate compare wisard witch
    hate compare *.jsonl --baseline mine --by truth
    hate compare --table 58 31 9 902
    """
    if not options.typed and len(transcripts) < 2:
        raise UsageError(f"{transcripts[0]}: one transcript is not a comparison; `hate rate` looks at one by itself")
    _check_plot(options)
    pairless = options.typed or options.sequential or options.unpaired or len(transcripts) != 2
    if options.plot is not None and not options.by and pairless:
        raise UsageError(
            f"{_NOTHING_TO_DRAW}; without it the agreement of two transcripts is drawn, if they are paired"
        )
    from harness.api.comparisons import CompareResult, compare, compare_table

    result: Any
    if options.typed:
        why = "four counts have no cases or columns"
        CompareOptions.taken_from(options).refuse_others(why, TableOptions, DownloadOptions)
        result = compare_table(transcripts, options=TableOptions.taken_from(options))
    else:
        opened = find_transcripts(transcripts, options)
        _check_numbers_plot(opened, options)
        result = _sequential(opened, options) if options.sequential else compare(opened, options=options)
    # Before anything is printed: where nobody has said what is worse, it is refused.
    is_worse = options.fail_if_worse and result.first_is_worse
    # A picture that cannot be drawn is refused before anything is printed, too.
    draw(result, options)
    style = output_format(options.style)
    emit_result(result, style, everything=options.everything)
    paired = isinstance(result, CompareResult) and result.comparison.paired
    if style is Format.TABLE and not options.everything and paired:
        remark("--all shows everything: McNemar's tables, all p-values, time and memory, how the cases were drawn")
    return 1 if is_worse else 0


@click.command("rate")
@transcripts_argument
@command_options(RateCommandOptions)
def rate_command(transcripts: Sequence[str], options: RateCommandOptions) -> None:
    """Look at transcripts one by one: measures with errors by design, groups, the worst of them, and the gap.

    T is a file, a URL, TEST/NAME or NAME of a transcript, or a test, which is run first.

    \b
    hate rate wisard
    hate rate wisard --by truth --statistic rate,tpr --plot digits.png
    """
    _check_plot(options)
    _check_tests_plot(transcripts, options)
    from harness.api.rates import rate

    opened = find_or_run(transcripts, options)
    if options.sequential:
        emit_result(_sequential(opened, options), options.style)
        return
    if "ece" not in (options.statistic or "").split(","):
        _check_numbers_plot(opened, options)
    result = rate(opened, options=options)
    draw(result, options)
    emit_result(result, options.style)


@click.command("confusion")
@transcripts_argument
@command_options(ConfusionCommandOptions)
def confusion_command(transcripts: Sequence[str], options: ConfusionCommandOptions) -> None:
    """Confusion matrices of transcripts: rows the truth, columns the answer, refusals last.

    Recall and precision of each class with intervals, and the most confused pairs. Two transcripts give the
    difference too. T is a file, a URL, NAME of a run, TEST/NAME of a published one, or a test, which is run first.

    \b
    hate confusion wisard
    hate confusion wisard witch --plot difference.svg
    """
    check_plot(options.plot)
    from harness.api.confusion import confusion

    result = confusion(find_or_run(transcripts, options), options=options)
    draw(result, options)
    emit_result(result, options.style)


_NOTHING_TO_DRAW = "--plot draws what --by shows: name a column, such as --by truth"


def _check_plot(options: CompareCommandOptions | RateCommandOptions) -> None:
    check_plot(options.plot)
    if options.plot is not None:
        if options.sequential:
            raise UsageError("--plot draws what --by shows; leave it out with --sequential")
        from harness.report.plots.groups import check_one_column

        check_one_column(len(set(options.by)))


def _check_tests_plot(words: Sequence[str], options: RateCommandOptions) -> None:
    """The same of tests, before they are run."""
    if options.plot is None or options.by or "ece" in (options.statistic or "").split(","):
        return
    from harness.api.runs import note

    for word in words:
        if is_test(word, options.libraries) and not find_test(word, options.libraries, note).task.answers_numbers:
            raise UsageError(_NOTHING_TO_DRAW)


def _check_numbers_plot(opened: OpenedTranscripts, options: GroupPlotOptions) -> None:
    """Without groups there is a picture only if the answers are numbers."""
    if options.plot is None or options.by:
        return
    from harness.tasks import find_task
    from harness.transcript.read import open_transcript

    with open_transcript(opened.paths[0]) as reader:
        task = find_task(reader.header.test.task)
    if task is None or not task.answers_numbers:
        raise UsageError(_NOTHING_TO_DRAW)


# What else may be said of runs that are looked at while they grow.
_BESIDE_SEQUENTIAL = (SequentialOptions, SequentialCommandOptions, SeedOptions, IntersectOptions, "statistic")


def _sequential(opened: OpenedTranscripts, options: CompareCommandOptions | RateCommandOptions) -> "SequentialResult":
    from harness.api.rates import compare_sequentially

    kind = CompareOptions if isinstance(options, CompareOptions) else RateOptions
    kind.taken_from(options).refuse_others("--sequential is for plain rates", *_BESIDE_SEQUENTIAL)
    if options.statistic not in (None, "rate"):
        raise UsageError(f"--sequential is for the rate, not for --statistic {options.statistic}")
    return compare_sequentially(opened, options=SequentialOptions.taken_from(options))


class PowerCommandOptions(PowerOptions, PlotOptions, FormatOptions):
    """Options of `hate power`, and how to print."""

    # --width is that of an interval here.
    picture_width: float | None = option(
        "--picture-width INCHES|1column|2column",
        "How wide the picture is; by default a journal's column, 3.5 inches.",
        default=None,
        parse=inches,
        within=WIDTHS,
    )
    pilot: bool = option("--from", "The transcripts that follow are a pilot; it may be left out.", default=False)


@click.command("power")
@click.argument("transcripts", nargs=-1, metavar="[T...]", shell_complete=complete_transcript)
@command_options(PowerCommandOptions)
def power_command(transcripts: Sequence[str], options: PowerCommandOptions) -> None:
    """How many units and cases a test needs; with one or two transcripts, from their variance.

    Two transcripts and no goal: the smallest difference that they could have shown.

    \b
    hate power --difference 0.02 --discordance 0.1
    hate power --difference 0.02 --rates 0.90 --per-unit 4 --icc 0.2
    hate power --from wisard witch --difference 0.02 --plot power.svg
    hate power --width 0.02 --rates 0.9
    hate power --rule-of-30 0.001
    """
    check_plot(options.plot)
    from harness.api.power import PowerResult, power

    if options.pilot and not transcripts:
        raise UsageError("--from: name one or two transcripts")
    result = power(find_transcripts(transcripts, options) if transcripts else None, options=options)
    emit_result(result, options.style)
    if isinstance(result, PowerResult):
        look = {name: getattr(options, name) for name in ("title", "label", "xlim", "ylim")}
        draw(result, options, PictureOptions(**look, width=options.picture_width))
    elif options.plot is not None:
        raise UsageError("--plot: the rules of 3 and 30 are two numbers, not a curve")


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

    emit_result(fuse(find_transcripts(transcripts, options), options=options), options.style)


class ReportCommandOptions(ReportOptions, OverwriteOptions):
    """Options of `hate report`, and where the page goes."""

    output: Path = option("-o, --output FILE.html|md|pdf", "Where the page goes.", writes=Writes.FILE)


@click.command("report")
@transcripts_argument
@command_options(ReportCommandOptions)
def report_command(transcripts: Sequence[str], options: ReportCommandOptions) -> None:
    """Write one page: the data sheet of one transcript, or the comparison of several, with the verdicts first.

    T is a file, a URL, TEST/NAME or NAME. An .html page has its pictures and data in it, and opens without a
    network; .md is for a pull request; .pdf needs the extra `pdf`.

    \b
    hate report wisard -o wisard.html
    hate report wisard warlock witch -o digits.html
    hate report main.jsonl change.jsonl --baseline main -o report.md
    """
    from harness.api.reports import check_report, make_report

    check_report(options.output)
    made = make_report(find_transcripts(transcripts, options), options=options)
    made.write_file(options.output, force=options.force)
    for text in made.remarks:
        remark(f"hate: {text}")
    remark(f"report: {options.output}")

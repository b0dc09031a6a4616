"""`hate cases`, `hate show` and `hate diff`: the cases of a test, of a run, of two."""

import shutil
import sys
from collections.abc import Iterator, Sequence

import click

from harness.api.cases import CasesResult
from harness.api.differences import DifferencesResult, diff
from harness.api.transcripts import show
from harness.cli.arguments import find_transcripts
from harness.cli.completion import complete_transcript
from harness.cli.options import FormatOptions, command_options, named_test
from harness.cli.output import output_format, remark, terminal_width
from harness.files.external_sort import in_batches
from harness.options import option
from harness.options.cases import CaseListOptions, DiffOptions, ShowOptions
from harness.report.blocks import Table
from harness.report.formats import Format, render
from harness.report.text import fitted, safe

# How many rows of a table are laid out at a time, so that the first page appears at once.
PAGE = 200


class ShowCommandOptions(ShowOptions, FormatOptions):
    """Options of `hate show`, and how to print."""


class DiffCommandOptions(DiffOptions, FormatOptions):
    """Options of `hate diff`, and how to print."""


@click.command("show")
@click.argument("transcript", shell_complete=complete_transcript)
@command_options(ShowCommandOptions)
def show_command(transcript: str, options: ShowCommandOptions) -> None:
    """Look into the cases of a TRANSCRIPT.

    It is a file, a URL, NAME of a run, TEST/NAME of a published one, or - for standard input.

    \b
    hate show wisard --outcome FP --where truth=4 --sort -score
    """
    [source] = find_transcripts([transcript], options).sources
    _print_cases(show(source, options=options), output_format(options.style))


@click.command("diff")
@click.argument("a", shell_complete=complete_transcript)
@click.argument("b", shell_complete=complete_transcript)
@command_options(DiffCommandOptions)
def diff_command(a: str, b: str, options: DiffCommandOptions) -> None:
    """The cases on which two runs of a test, A and B, differ.

    Each is a file, a URL, NAME of a run, TEST/NAME of a published one, or - for standard input. In --where and
    --sort, score_a is A's score and score_b is B's; --where score=1 holds when it does for either.

    \b
    hate diff wisard witch --outcome FP --sort -score_a
    """
    first, second = find_transcripts([a, b], options).sources
    _print_cases(diff(first, second, options=options), output_format(options.style))


def _print_cases(result: CasesResult | DifferencesResult, style: Format) -> None:
    """Print the cases with a heading; on a terminal, through a pager if they are many."""
    heading = result.remarks
    if style is not Format.TABLE:
        for line in heading:
            remark(line)
        sys.stdout.writelines(result.parts(style))
        return
    table = result.table()
    if sys.stdout.isatty() and len(table.rows) + len(heading) + 4 > shutil.get_terminal_size().lines:
        click.echo_via_pager(_pages(table, heading))
    else:
        print("\n".join(fitted(safe(line), sys.stdout) for line in heading))
        print(render(table, style, terminal_width=terminal_width()), end="")


def _pages(table: Table, heading: Sequence[str]) -> Iterator[str]:
    """The table in pieces, laid out while the reader reads; each piece repeats the header."""
    yield "\n".join(fitted(safe(line), sys.stdout) for line in heading) + "\n"
    for rows in in_batches(iter(table.rows), PAGE):
        yield render(Table(table.columns, rows), Format.TABLE, terminal_width=terminal_width())


class CaseListCommandOptions(CaseListOptions):
    """Options of `hate cases`, and how to print."""

    style: str = option(
        "--format",
        "JSON lines, with every input as it is, or a table for spreadsheets.",
        default="jsonl",
        choices=("jsonl", "csv"),
    )


@click.command("cases")
@named_test
@command_options(CaseListCommandOptions)
def cases_command(test: str, options: CaseListCommandOptions) -> None:
    """List the cases of TEST with their inputs, to compute answers elsewhere.

    A file is named by its whole path. What a program is not told is not shown. Write the answers into a table with a
    column id and one of label, score, scores, value or answer, name it in interface.toml, and let the harness judge:

    \b
    hate cases hdigits > cases.jsonl
    cat interface.toml
      [algorithm]
      name = "mine"
      [scores]
      table = "answers.csv"
    hate run hdigits
    """
    from harness.api.tests import cases

    result = cases(test, options=options)
    sys.stdout.writelines(result.parts(Format.CSV if options.style == "csv" else Format.PLAIN))

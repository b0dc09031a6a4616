"""`hate cases`, `hate show` and `hate diff`: the cases of a test, of a run, of two."""

import shutil
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import click

from harness.api.cases import CasesResult, DifferencesResult, compare_cases, show_cases
from harness.cli.arguments import find_transcripts
from harness.cli.completion import complete_transcript
from harness.cli.options import FormatOptions, command_options
from harness.cli.options import test_argument as test_arg
from harness.cli.output import output_format, remark, terminal_width
from harness.files.external_sort import in_batches
from harness.model import plain_text
from harness.options import option
from harness.options.cases import CaseListOptions, DiffOptions, ShowOptions
from harness.report.blocks import Cell, Table
from harness.report.formats import Format, encode_json, render
from harness.report.text import fitted, json_text, safe

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
    _print_cases(show_cases(source, options), output_format(options.style))


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
    _print_cases(compare_cases(first, second, options), output_format(options.style))


def _print_cases(result: CasesResult | DifferencesResult, style: Format) -> None:
    """Print the cases with a heading; on a terminal, through a pager if they are many."""
    heading = result.heading
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
@test_arg
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
    from harness.api.runs import case_list, load_test

    cases = load_test(test, libraries=options.libraries, offline=options.offline)
    records = case_list(cases, options=CaseListOptions.taken_from(options))
    if options.style == "csv":
        print(render(_table(list(records)), Format.CSV), end="")
        return
    for record in records:
        print(json_text(encode_json(record).decode()))


def _table(records: Sequence[dict[str, Any]]) -> Table:
    """A column for each column of the cases, after those that every test has."""
    fixed = [
        name for name in ("id", "input", "expect", "positive", "truth") if any(name in record for record in records)
    ]
    columns = list(dict.fromkeys(name for record in records for name in record.get("columns", {})))
    rows: list[list[Cell]] = [
        [
            *(_cell(record.get(name)) for name in fixed),
            *(_cell(record.get("columns", {}).get(name)) for name in columns),
        ]
        for record in records
    ]
    return Table([*fixed, *columns], rows)


def _cell(value: Any) -> Cell:
    if value is None or (isinstance(value, (int, float)) and not isinstance(value, bool)):
        return value
    if isinstance(value, (list, dict)):
        return json_text(encode_json(value).decode())
    return value if isinstance(value, str) else plain_text(value)

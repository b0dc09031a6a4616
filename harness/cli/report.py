"""`hate report`: a page that needs nothing else, of one transcript or of several."""

from collections.abc import Sequence
from pathlib import Path

import click

from harness.api.report_options import ReportOptions
from harness.cli.arguments import find_transcripts
from harness.cli.options import command_options, transcripts_argument
from harness.cli.output import remark
from harness.options import OverwriteOptions, Writes, option


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
    made = make_report(find_transcripts(transcripts, options), options)
    made.write(options.output, force=options.force)
    for text in made.remarks:
        remark(f"hate: {text}")
    remark(f"report: {options.output}")

"""`hate describe` and `hate check`: what a test is about, and whether scripts, interfaces and transcripts are valid."""

from collections.abc import Sequence

import click

from harness.api.checking import CheckResult, check_files
from harness.api.tests import describe
from harness.cli.options import FormatOptions, command_options, named_test
from harness.cli.output import emit_result, output_format, terminal_width
from harness.options import LibraryOptions, option
from harness.report.formats import Format


class DescribeOptions(LibraryOptions, FormatOptions):
    """Options of `hate describe`."""

    style: str | None = option(
        "--format",
        "How to print; by default a page on a terminal and Markdown elsewhere.",
        default=None,
        choices=map(str, (Format.TABLE, Format.PLAIN, Format.JSON, Format.MD)),
    )


@click.command("describe")
@named_test
@command_options(DescribeOptions)
def describe_command(test: str, options: DescribeOptions) -> None:
    """Describe TEST: data and training material and where it is, parameters, design, case counts.

    \b
    hate describe hdigits
    """
    result = describe(test, options=options)
    if output_format(options.style) is not Format.TABLE:
        emit_result(result, options.style)
        return
    from rich.console import Console
    from rich.markdown import Markdown

    Console(highlight=False).print(Markdown(result.page))
    print(f"\n{result.lists(terminal_width())}", end="")


@click.command("check")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
def check_command(paths: Sequence[str]) -> int:
    """Validate test scripts, interfaces and transcripts; exit status 1 when one is not valid.

    PATH is a file, or a folder, in which every script, interface and transcript is checked. Python code that is found
    in a folder is read, not run; name its file to have it loaded.

    \b
    hate check my-test/
    hate check interface.py transcripts/
    """
    files = []
    for file in check_files(paths):
        print(file.text)
        files.append(file)
    result = CheckResult(files)
    if result.total:
        print(result.total)
    return 0 if result.valid else 1

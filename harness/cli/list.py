"""`hate list`: tests and transcripts, here and at the sites; interfaces that are here."""

import click

from harness.api.listing import list_interfaces, list_plugins, list_tests, list_transcripts
from harness.cli.options import FormatOptions, command_options
from harness.cli.output import emit_result
from harness.options import LibraryOptions, option


class ListOptions(LibraryOptions, FormatOptions):
    """Options of `hate list`."""

    interfaces: bool = option("--interfaces", "List interfaces instead of tests.", default=False)
    transcripts: bool = option("--transcripts", "List transcripts instead of tests.", default=False)
    plugins: bool = option("--plugins", "List plug-ins: what other packages bring in.", default=False)


@click.command("list")
@command_options(ListOptions)
def list_command(options: ListOptions) -> None:
    """List the tests that are here and at the configured sites, with their synopses.

    \b
    hate list
    hate list --transcripts
    """
    if options.transcripts:
        emit_result(list_transcripts(options=options), options.style)
    elif options.plugins:
        emit_result(list_plugins(), options.style)
    elif options.interfaces:
        emit_result(list_interfaces(), options.style)
    else:
        emit_result(list_tests(options=options), options.style)

"""`hate serve`: a server for the site in a folder."""

from dataclasses import replace
from pathlib import Path

import click

from harness.cli.options import command_options
from harness.cli.output import remark
from harness.options import Range, option
from harness.server.serving import ServingOptions, make_site_server


class ServeCommandOptions(ServingOptions):
    """Options of `hate serve`."""

    an_hour: int | None = option(
        "--an-hour", "The old name of --rate-limit.", default=None, within=Range(1, 100_000), hidden=True
    )


@click.command("serve")
@click.argument("site", type=click.Path(path_type=Path))
@command_options(ServeCommandOptions)
def serve_command(site: Path, options: ServeCommandOptions) -> None:
    """Serve SITE, a folder made by `hate publish`: its files, as any web server would, and pages for people.

    It is read-only. With --tokens, transcripts can be submitted by PUT; see `hate token`.

    \b
    hate serve ./site --port 8000
    """
    server = make_site_server(site, replace(options, rate_limit=options.an_hour or options.rate_limit))
    remark(f"hate: serving {site} at {server.url}/ until Ctrl-C")
    server.run()

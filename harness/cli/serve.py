"""`hate serve`: a server for the site in a folder."""

from pathlib import Path

import click

from harness.cli.options import command_options
from harness.cli.output import remark
from harness.server.serving import ServingOptions, make_site_server


@click.command("serve")
@click.argument("site", type=click.Path(path_type=Path))
@command_options(ServingOptions)
def serve_command(site: Path, options: ServingOptions) -> None:
    """Serve SITE, a folder made by `hate publish`: its files, as any web server would, and pages for people.

    It is read-only. With --tokens, transcripts can be submitted by PUT; see `hate token`.

    \b
    hate serve ./site --port 8000
    """
    server = make_site_server(site, options)
    remark(f"hate: serving {site} at {server.url}/ until Ctrl-C")
    server.run()

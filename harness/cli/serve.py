"""`hate serve`: a site over HTTP, with pages for people."""

from pathlib import Path
from typing import Any

import click

from harness.cli.options import PATH
from harness.cli.output import remark
from harness.cli.sources import size_option
from harness.errors import MissingExtra


@click.command("serve")
@click.argument("site", type=PATH)
@click.option("--host", default="127.0.0.1", show_default=True, help="Where to listen; 0.0.0.0 for the whole network.")
@click.option("--port", type=click.IntRange(0, 65535), default=8000, show_default=True, help="0 takes a free one.")
@click.option("--tokens", type=PATH, metavar="FILE", help="Take transcripts from those whose tokens are in FILE.")
@click.option("--key", type=PATH, metavar="FILE", help="Sign what is submitted; needed where the site is signed.")
@size_option("--largest", "100M", "Refuse a submission that is larger, or unpacks to more.")
@click.option(
    "--an-hour", type=click.IntRange(1, 100_000), default=60, show_default=True, help="Submissions of one token."
)
@click.option("--access-log", is_flag=True, help="A line on stderr for every request.")
def command(site: Path, **given: Any) -> None:
    """Serve SITE, a folder made by `hate publish`: its files as a web server would, and pages for people.

    Read-only for everyone. With --tokens, transcripts can be submitted by PUT; see `hate token`.
    """
    try:
        from harness.site.serving.run import Wish, bound, serve
        from harness.site.serving.submission import Rules
    except ImportError as error:
        raise MissingExtra(f"serving needs {error.name}: pip install 'hate-harness[serve]'") from None
    rules = Rules(largest=given["largest"], an_hour=given["an_hour"])
    named = {key: given[key] for key in ("host", "port", "tokens", "key", "access_log")}
    wish = Wish(site, rules=rules, **named)
    wish.check()
    with bound(wish.host, wish.port) as listening:
        host = f"[{wish.host}]" if ":" in wish.host else wish.host
        remark(f"hate: serving {site} at http://{host}:{listening.getsockname()[1]}/ until Ctrl-C")
        serve(wish, listening)

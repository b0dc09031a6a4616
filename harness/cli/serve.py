"""`hate serve`: a server for the site in a folder."""

from pathlib import Path

import click

from harness.cli.options import command_options
from harness.cli.output import remark
from harness.errors import missing_extra
from harness.options import OptionSet, Range, byte_count, option


class ServeCommandOptions(OptionSet):
    """Options of `hate serve`."""

    host: str = option(
        "--host ADDRESS", "The address to listen on; 0.0.0.0 for the whole network.", default="127.0.0.1"
    )
    port: int = option("--port N", "The port; 0 takes a free one.", default=8000, within=Range(0, 65535))
    tokens: Path | None = option(
        "--tokens FILE", "Accept transcripts from those whose tokens are in FILE.", default=None
    )
    key: Path | None = option("--key FILE", "Sign what is submitted; needed where the site is signed.", default=None)
    largest: int = option(
        "--largest SIZE",
        "Refuse a submission that is larger, or unpacks to more.",
        default=100 << 20,
        parse=byte_count,
        shown="100M",
    )
    rate_limit: int = option(
        "--rate-limit N", "How many submissions a token may make in an hour.", default=60, within=Range(1, 100_000)
    )
    an_hour: int | None = option(
        "--an-hour", "The old name of --rate-limit.", default=None, within=Range(1, 100_000), hidden=True
    )
    per_day: int = option(
        "--per-day N",
        "How many submissions each name may make on a day; `hate token quota` sets it for one.",
        default=1000,
        within=Range(1, 1_000_000),
    )
    blind_per_day: int = option(
        "--blind-per-day N",
        "How many submissions each name may make on a day for one blind test.",
        default=5,
        within=Range(1, 1_000_000),
    )
    private: Path | None = option(
        "--private FOLDER", "Where `hate publish --blind` put the truth, if told where.", default=None
    )
    isolated: bool = option(
        "--isolated", "Accept only runs whose code was kept apart from the judge (--isolate).", default=False
    )
    proxies: tuple[str, ...] = option(
        "--proxy ADDRESS",
        "Believe what this proxy says about its clients (X-Forwarded-For); may be repeated, or be a network.",
        default=(),
    )
    access_log: bool = option("--access-log", "Write a line on stderr for every request.", default=False)


@click.command("serve")
@click.argument("site", type=click.Path(path_type=Path))
@command_options(ServeCommandOptions)
def serve_command(site: Path, options: ServeCommandOptions) -> None:
    """Serve SITE, a folder made by `hate publish`: its files, as any web server would, and pages for people.

    It is read-only. With --tokens, transcripts can be submitted by PUT; see `hate token`.

    \b
    hate serve ./site --port 8000
    """
    try:
        from harness.server.app import ServeOptions, listen, make_server, serve
        from harness.server.links import UNKNOWN_ADDRESS
        from harness.server.submissions import SubmissionLimits
    except ImportError as error:
        raise missing_extra("serving needs", error, "serve") from None
    hourly = options.an_hour or options.rate_limit
    limits = SubmissionLimits(options.largest, hourly, options.per_day, options.blind_per_day, options.isolated)
    with listen(options.host, options.port) as listening:
        host = f"[{options.host}]" if ":" in options.host else options.host
        address = f"http://{host}:{listening.getsockname()[1]}"
        serving = ServeOptions(
            site,
            host=options.host,
            port=options.port,
            tokens=options.tokens,
            key=options.key,
            access_log=options.access_log,
            limits=limits,
            proxies=options.proxies,
            private=options.private,
            # One that stands for all addresses of this machine is none to type.
            address=UNKNOWN_ADDRESS if options.host in ("", "0.0.0.0", "::") else address,  # noqa: S104
        )
        server = make_server(serving)
        remark(f"hate: serving {site} at {address}/ until Ctrl-C")
        serve(server, listening)

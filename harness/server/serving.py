"""Serve the site in a folder: `harness.serve`, and what `hate serve` runs."""

from pathlib import Path
from typing import TYPE_CHECKING

from harness.errors import missing_extra
from harness.options import OptionSet, Range, byte_count, option

if TYPE_CHECKING:
    from harness.server.app import SiteServer


class ServingOptions(OptionSet):
    """Where a site is served, and who may submit to it."""

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
        "--private FOLDER", "Where `hate publish` put the truth of blind tests, if told where.", default=None
    )
    isolated: bool = option(
        "--isolated",
        "Accept only runs whose code was kept apart from the judge (`isolate` of `hate run`).",
        default=False,
    )
    proxies: tuple[str, ...] = option(
        "--proxy ADDRESS",
        "Believe what this proxy says about its clients (X-Forwarded-For); may be repeated, or be a network.",
        default=(),
    )
    access_log: bool = option("--access-log", "Write a line on stderr for every request.", default=False)


def make_site_server(site: Path, options: ServingOptions) -> "SiteServer":
    """A server that listens and does not answer yet; a HateError if the site or the options are wrong."""
    try:
        from harness.server.app import ServeOptions, SiteServer, listen, make_server
        from harness.server.links import UNKNOWN_ADDRESS
        from harness.server.submissions import SubmissionLimits
    except ImportError as error:
        raise missing_extra("serving needs", error, "serve") from None
    listening = listen(options.host, options.port)
    host = f"[{options.host}]" if ":" in options.host else options.host
    url = f"http://{host}:{listening.getsockname()[1]}"
    try:
        serving = ServeOptions(
            site,
            tokens=options.tokens,
            key=options.key,
            access_log=options.access_log,
            limits=SubmissionLimits(
                options.largest, options.rate_limit, options.per_day, options.blind_per_day, options.isolated
            ),
            proxies=options.proxies,
            private=options.private,
            # One that stands for all addresses of this machine is none to type.
            address=UNKNOWN_ADDRESS if options.host in ("", "0.0.0.0", "::") else url,  # noqa: S104
        )
        return SiteServer(site, url, make_server(serving), listening)
    except BaseException:
        listening.close()
        raise


def serve(site: str | Path, *, options: ServingOptions) -> "SiteServer":
    """Serve the site in a folder: its files, as any web server would, and pages for people.

    >>> with harness.serve("./site", port=0) as server:
    ...     print(server.url)

    The server runs in a thread of this process until the end of the `with` block. Without one, `.stop()` ends it, and
    `.wait()` lets it run until Ctrl-C. It is read-only unless `tokens` says who may submit; see `add_token`. What it
    has to say goes to Python's `logging`.

    Args:
        site: A folder made by `publish`.
    """
    return make_site_server(Path(site), options).start()

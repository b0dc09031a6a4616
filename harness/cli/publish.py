"""`hate publish`, `hate serve` and `hate token`: a site, and who may submit to it."""

from pathlib import Path

import click

from harness.cli.arguments import find_transcripts
from harness.cli.options import FormatOptions, command_options
from harness.cli.output import emit, output_format, remark
from harness.errors import MissingExtra, UsageError
from harness.options import DownloadOptions, OptionSet, Range, byte_count, option
from harness.report.blocks import Table
from harness.site.candidates import read_candidates
from harness.site.changes import SiteChange
from harness.site.locate import local_transcripts
from harness.site.publish import dry_run, publish, tidy
from harness.site.trust import new_key, read_key
from harness.site.urls import parse


class PublishOptions(FormatOptions):
    """Options of `hate publish`."""

    site: Path | None = option(
        "--to", default=None, metavar="FOLDER", help="The folder of the site; it is created if there is none."
    )
    name: str = option(
        "--name", default="", metavar="NAME", help="Publish a transcript under this name instead of its file's."
    )
    dry_run: bool = option("--dry-run", default=False, help="Check, and say what would be done; write nothing.")
    key: Path | None = option("--key", default=None, metavar="FILE", help="Sign with this Ed25519 key.")
    new_key: Path | None = option(
        "--new-key", default=None, metavar="FILE", help="Create a key to sign with, and print its public part."
    )
    mirrors: tuple[str, ...] = option(
        "--mirror", default=(), metavar="URL",
        help="Where else the site's files are; may be repeated, and replaces all earlier mirrors.",
    )  # fmt: skip
    title: str | None = option("--title", default=None, metavar="TEXT", help="The title of the site.")
    tidy: bool = option("--tidy", default=False, help="Remove files that the site's index has not named for a day.")


class ServeCommandOptions(OptionSet):
    """Options of `hate serve`."""

    host: str = option(
        "--host", default="127.0.0.1", metavar="ADDRESS",
        help="The address to listen on; 0.0.0.0 for the whole network.",
    )  # fmt: skip
    port: int = option(
        "--port", default=8000, within=Range(0, 65535), metavar="N", help="The port; 0 takes a free one."
    )
    tokens: Path | None = option(
        "--tokens", default=None, metavar="FILE", help="Accept transcripts from those whose tokens are in FILE."
    )
    key: Path | None = option(
        "--key", default=None, metavar="FILE", help="Sign what is submitted; needed where the site is signed."
    )
    largest: int = option(
        "--largest", default=100 << 20, parse=byte_count, metavar="SIZE", shown="100M",
        help="Refuse a submission that is larger, or unpacks to more.",
    )  # fmt: skip
    rate_limit: int = option(
        "--rate-limit", default=60, within=Range(1, 100_000), metavar="N",
        help="How many submissions a token may make in an hour.",
    )  # fmt: skip
    an_hour: int | None = option(
        "--an-hour", default=None, within=Range(1, 100_000), hidden=True, help="The old name of --rate-limit."
    )
    access_log: bool = option("--access-log", default=False, help="Write a line on stderr for every request.")


class TokenOptions(OptionSet):
    """The file of tokens."""

    tokens: Path = option("--tokens", metavar="FILE", help="The file of tokens that `hate serve` reads.")


class TokenListOptions(TokenOptions, FormatOptions):
    """Options of `hate token list`."""


@click.command("publish")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path), metavar="PATH...")
@command_options(PublishOptions)
def publish_command(paths: tuple[Path, ...], options: PublishOptions) -> None:
    """Add tests and transcripts to a site, a folder that any web server can serve.

    PATH is the folder or script of a test, or a transcript of a test that is published there, by file or NAME. All of
    it is checked first; readers see all of it or nothing. What was published before stays as it is.
    """
    if options.new_key is not None:
        _new_key(options.new_key)
    if options.site is None:
        if paths or options.new_key is None:
            raise UsageError("say where: --to FOLDER")
        return
    if options.name and len(paths) != 1:
        raise UsageError("--name is for one transcript; name one")
    if paths or options.mirrors or options.title is not None:
        _publish(paths, options.site, options)
    elif not options.tidy:
        raise UsageError("nothing to publish; name a test's folder or transcripts")
    if options.tidy:
        _tidy_site(options.site, dry=options.dry_run)


def _tidy_site(site: Path, *, dry: bool) -> None:
    if dry:
        raise UsageError("--tidy and --dry-run exclude one another")
    removed = tidy(site)
    remark(f"{site}: {removed.files:,} files removed, {removed.size:,} bytes")


def _new_key(path: Path) -> None:
    remark(f"key in {path}, keep it secret; its public part, for those who read the site: {new_key(path).key}")


def _publish(paths: tuple[Path, ...], site: Path, options: PublishOptions) -> None:
    named = _by_name(paths)
    called = {file: text.rpartition("/")[2] for text, file in named.items()}
    offered = read_candidates([named.get(str(path), path) for path in paths], name=options.name, names=called)
    key = options.key or options.new_key
    signer = read_key(key) if key is not None else None
    if options.dry_run:
        change = dry_run(site, offered, signer=signer)
    else:
        mirrors = _addresses(options.mirrors) if options.mirrors else None
        change = publish(site, offered, signer=signer, mirrors=mirrors, title=options.title)
    _print_published(change, site, options)


def _by_name(paths: tuple[Path, ...]) -> dict[str, Path]:
    """The files of transcripts that were given by a name that is known here."""
    missing = [str(path) for path in paths if not path.exists()]
    known = local_transcripts().names() if missing else set()
    names = [text for text in missing if text in known]
    found = find_transcripts(names, DownloadOptions()).sources if names else []
    return {text: source.path for text, source in zip(names, found, strict=True)}


def _addresses(mirrors: tuple[str, ...]) -> list[str]:
    return [parse(url).url for url in mirrors]


def _print_published(change: SiteChange, site: Path, options: PublishOptions) -> None:
    rows = [[v.label, v.status.value, v.files, v.size] for v in change.items]
    payload = {
        "site": str(site),
        "dry_run": options.dry_run,
        "serial": change.top.serial if change.top is not None else None,
        "published": [{"name": v.label, "result": v.status, "files": v.files, "bytes": v.size} for v in change.items],
    }
    emit(output_format(options.style), Table(["what", "result", "files", "bytes"], rows), payload)
    if options.dry_run:
        remark(f"nothing was written to {site}: --dry-run")
    elif change.top is None:
        remark(f"{site} is as it was")
    else:
        remark(f"{site}: change {change.top.serial:,}")


@click.command("serve")
@click.argument("site", type=click.Path(path_type=Path))
@command_options(ServeCommandOptions)
def serve_command(site: Path, options: ServeCommandOptions) -> None:
    """Serve SITE, a folder made by `hate publish`: its files, as any web server would, and pages for people.

    It is read-only. With --tokens, transcripts can be submitted by PUT; see `hate token`.
    """
    try:
        from harness.server.app import ServeOptions, listen, make_server, serve
        from harness.server.submit import SubmissionLimits
    except ImportError as error:
        library = (error.name or "").partition(".")[0]
        raise MissingExtra(f"serving needs {library}: pip install 'hate-harness[serve]'") from None
    limits = SubmissionLimits(largest=options.largest, per_hour=options.an_hour or options.rate_limit)
    serving = ServeOptions(
        site, host=options.host, port=options.port, tokens=options.tokens, key=options.key,
        access_log=options.access_log, limits=limits,
    )  # fmt: skip
    server = make_server(serving)
    with listen(serving.host, serving.port) as listening:
        host = f"[{serving.host}]" if ":" in serving.host else serving.host
        remark(f"hate: serving {site} at http://{host}:{listening.getsockname()[1]}/ until Ctrl-C")
        serve(server, listening)


@click.group("token")
def token_command() -> None:
    """Tokens for those who may submit transcripts; their names and hashes are kept in a file."""


@token_command.command("add")
@click.argument("name")
@command_options(TokenOptions)
def add_command(name: str, options: TokenOptions) -> None:
    """Make a token for NAME and print it; it is never shown again."""
    from harness.server.tokens import add_token

    print(add_token(options.tokens, name))
    remark("hate: this token is shown only once; give it to its owner in private")


@token_command.command("remove")
@click.argument("name")
@command_options(TokenOptions)
def remove_command(name: str, options: TokenOptions) -> None:
    """Revoke the token of NAME."""
    from harness.server.tokens import remove_token

    remove_token(options.tokens, name)


@token_command.command("list")
@command_options(TokenListOptions)
def list_tokens_command(options: TokenListOptions) -> None:
    """List who has a token."""
    from harness.server.tokens import read_tokens

    known = [{"name": token.name, "created": token.created} for token in read_tokens(options.tokens)]
    table = Table(["name", "created"], [[one["name"], one["created"]] for one in known])
    emit(output_format(options.style), table, {"tokens": known})

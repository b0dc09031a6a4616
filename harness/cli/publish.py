"""`hate publish`: a site in a folder."""

from collections.abc import Sequence
from pathlib import Path

import click

from harness.cli.options import FormatOptions, command_options
from harness.cli.output import emit_result, remark
from harness.cli.submit import hand_in
from harness.errors import UsageError
from harness.options import declared_options, option
from harness.server.publishing import PublishOptions, publish
from harness.server.submitting import SubmitOptions
from harness.site.urls import is_url


class PublishCommandOptions(PublishOptions, FormatOptions):
    """Options of `hate publish`, and how to print."""

    to: str | None = option(
        "--to FOLDER|URL",
        "The folder of the site, created if there is none; transcripts can also be handed in at a URL.",
        default=None,
    )


@click.command("publish")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path), metavar="PATH...")
@command_options(PublishCommandOptions)
def publish_command(paths: tuple[Path, ...], options: PublishCommandOptions) -> None:
    """Add tests, transcripts and interfaces to a site, a folder that any web server can serve.

    PATH is the folder or script of a test, a transcript of a test that is published there, by file or NAME, or an
    interface for a test, which others can read and try. All of it is checked first, and nothing of it is run; readers
    see all of it or nothing. What was published before stays as it is.

    \b
    hate publish my-test/ mine.jsonl --to ./site
    """
    if options.to is not None and is_url(options.to):
        _check_transcripts(paths, options.to, options)
        given = SubmitOptions(to=options.to, name=options.name, dry_run=options.dry_run)
        hand_in([str(path) for path in paths], given, options.style)
        return
    result = publish(paths, options=options)
    if result.change is not None:
        emit_result(result, options.style)
        return
    for text in result.remarks:
        remark(text)


def _check_transcripts(paths: Sequence[Path], url: str, options: PublishOptions) -> None:
    """Only transcripts are handed in at an address; all else is the owner's, in a folder."""
    tests = [path for path in paths if path.is_dir() or path.suffix == ".toml"]
    theirs = {known.name for kind in (SubmitOptions, FormatOptions) for known in declared_options(kind)}
    if tests or options.changed().keys() - theirs or not paths:
        what = f"{tests[0]}: a test" if tests else "this"
        raise UsageError(
            f"{what} is published in the site's folder, by its owner: --to FOLDER; only transcripts go to {url}"
        )

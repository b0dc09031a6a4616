"""`hate fetch` and `hate cache`: download ahead of time, and look after what was downloaded."""

from collections.abc import Sequence

import click

from harness.api.caching import CacheClearOptions, CacheListOptions, clear_cache, forget_site, list_cache, verify_cache
from harness.api.fetching import FetchOptions, fetch
from harness.cli.completion import complete_test
from harness.cli.options import CommandGroup, FormatOptions, command_options
from harness.cli.output import emit_result, remark
from harness.site.config import site_config


class FetchCommandOptions(FetchOptions, FormatOptions):
    """Options of `hate fetch`, and how to print."""


@click.command("fetch")
@click.argument("words", nargs=-1, required=True, metavar="TEST...", shell_complete=complete_test)
@command_options(FetchCommandOptions)
def fetch_command(words: Sequence[str], options: FetchCommandOptions) -> None:
    """Download all that TEST needs, so that it runs without a network; TEST/NAME is a transcript.

    What is here already is not downloaded again.

    \b
    hate fetch hdigits
    hate fetch hdigits/wisard
    """
    emit_result(fetch(words, options=options), options.style)


@click.group("cache", cls=CommandGroup, invoke_without_command=True)
@click.pass_context
def cache_command(context: click.Context) -> None:
    """The cache of downloads: list what is in it, verify it, clear it; without a command, list.

    \b
    hate cache
    hate cache verify
    """
    if context.invoked_subcommand is None:
        emit_result(list_cache(options=CacheListOptions()), None)


class CacheListCommandOptions(CacheListOptions, FormatOptions):
    """Options of `hate cache list`, and how to print."""


@cache_command.command("list")
@command_options(CacheListCommandOptions)
def list_cache_command(options: CacheListCommandOptions) -> None:
    """List what is in the cache: the tests of sites, and how much there is of the rest.

    \b
    hate cache list --all
    """
    emit_result(list_cache(options=options), options.style)


@cache_command.command("verify")
@command_options(FormatOptions)
def verify_command(options: FormatOptions) -> int:
    """Check everything that has a known SHA-256; remove what is damaged, with exit status 1.

    It is downloaded again when it is needed.

    \b
    hate cache verify
    """
    result = verify_cache()
    if result.damaged or options.style is not None:
        emit_result(result, options.style)
    else:
        for text in result.remarks:
            remark(text)
    return 1 if result.damaged else 0


@cache_command.command("clear")
@click.argument("kinds", nargs=-1, metavar="[KIND]...")
@command_options(CacheClearOptions)
def clear_command(kinds: tuple[str, ...], options: CacheClearOptions) -> None:
    """Remove everything from the cache, or only some KINDs, as `hate cache list` names them.

    Nothing of your own is in there. The keys of sites are kept elsewhere and stay: see `hate cache forget`.

    \b
    hate cache clear runs --older-than 30
    """
    remark(str(clear_cache(kinds, options=options)))


@cache_command.command("forget")
@click.argument("site")
def forget_command(site: str) -> None:
    """Forget the key and the last index of SITE, and trust the next ones: only if its owner says that they are new.

    \b
    hate cache forget https://example.org/tests/
    """
    known = forget_site(site)
    remark(f"{site_config(site).name}: {'forgotten' if known else 'nothing to forget'}")

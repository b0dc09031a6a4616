"""Transcripts as arguments: what they may be, how long and large a download may get, and where they are."""

import re
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

from harness.cli.options import offline_option
from harness.cli.output import remark
from harness.site.limits import Limits
from harness.site.published import published
from harness.site.sources import Source, open_source

F = TypeVar("F", bound=Callable[..., Any])
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def _size(_ctx: click.Context, _param: click.Parameter, value: str) -> int:
    """A number of bytes: 1000000, 500M, 2G."""
    found = re.fullmatch(r"(\d{1,15})\s*([KMGT]?)i?B?", value.strip(), re.IGNORECASE | re.ASCII)
    if found is None or not int(found[1]):
        raise click.BadParameter(f"'{value}' is not a size; write bytes, or 500M, or 2G")
    return int(found[1]) * _UNITS[found[2].upper()]


def _seconds(_ctx: click.Context, _param: click.Parameter, value: float) -> float:
    if not 0 < value < 1e6:
        raise click.BadParameter(f"{value:g} is not a number of seconds above 0")
    return value


def complete_transcript(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Published names, and files, for the shell."""
    known = {name for entry in published() for name in (entry.name, entry.full_name)}
    found = [CompletionItem(name) for name in sorted(known) if name.startswith(incomplete)]
    return found or [CompletionItem(incomplete, type="file")]


def size_option(name: str, default: str, text: str) -> Callable[[F], F]:
    """A size as people write it."""
    return click.option(name, default=default, callback=_size, metavar="SIZE", show_default=True, help=text)


def http_options(command: F) -> F:
    """--http-timeout and --http-limit, for commands that take transcripts from anywhere."""
    defaults = Limits()
    for option in (
        size_option("--http-limit", f"{defaults.size >> 30}G",
                    "Refuse a download that is larger, or unpacks to more: 500M, 2G."),
        click.option("--http-timeout", type=float, default=defaults.seconds, callback=_seconds, metavar="SECONDS",
                     show_default=True, help="Give up on a download that takes longer."),
    ):  # fmt: skip
        command = option(command)
    return offline_option(command)


def opened(texts: Iterable[str], http_timeout: float, http_limit: int) -> list[Source]:
    """The transcripts that a user named; what they should know of where one came from is said on stderr."""
    sources = [open_source(text, Limits(seconds=http_timeout, size=http_limit)) for text in texts]
    for source in sources:
        if source.note:
            remark(f"hate: {source.note}")
    return sources

"""Transcripts as arguments: what they may be, how long and large a download may get, and where they are."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

from harness.analysis.names import run_names
from harness.cli.options import offline_option
from harness.cli.output import remark
from harness.errors import TranscriptError
from harness.site.limits import Limits
from harness.site.naming import known_here
from harness.site.sources import Source, open_sources
from harness.transcript.format import Header
from harness.transcript.read import open_transcript
from harness.transcript.settings import differing, in_words

F = TypeVar("F", bound=Callable[..., Any])
# More runs of one algorithm than anyone reads about in a line.
MOST_TOLD = 10
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


@dataclass(frozen=True)
class _Run:
    """A run as it is called in what is printed, where it is, and how it was set."""

    name: str
    source: Source
    params: dict[str, Any]


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
    """Names of runs and of published transcripts, and files, for the shell."""
    found = [CompletionItem(name) for name in sorted(known_here().names()) if name.startswith(incomplete)]
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


def opened(texts: Sequence[str], http_timeout: float, http_limit: int, *, one_curve: bool = False) -> list[Source]:
    """The transcripts that a user named; what they should know of where one came from is said on stderr.

    So is how runs of one algorithm differ, unless that is what they are drawn by.
    """
    sources = open_sources(texts, Limits(seconds=http_timeout, size=http_limit))
    for note in dict.fromkeys(source.note for source in sources if source.note):
        remark(f"hate: {note}")
    for text in () if one_curve else told_apart(sources):
        remark(f"hate: {text}")
    return sources


def told_apart(sources: Sequence[Source]) -> list[str]:
    """For every algorithm with several runs that have one base name or other parameters: which is which."""
    headers = [header for source in sources if (header := _header(source)) is not None]
    if len(headers) < max(2, len(sources)):  # whoever reads them says what is wrong
        return []
    algorithms = [header.algorithm.name for header in headers]
    names = run_names(algorithms, [source.stem for source in sources])
    groups: dict[str, list[_Run]] = {}
    for name, source, header in zip(names, sources, headers, strict=True):
        groups.setdefault(header.algorithm.name, []).append(_Run(name, source, header.params))
    return [text for algorithm, runs in groups.items() if (text := _which(algorithm, runs))]


def _header(source: Source) -> Header | None:
    try:
        with open_transcript(source.path) as reader:
            return reader.header
    except TranscriptError:
        return None


def _which(algorithm: str, runs: Sequence[_Run]) -> str:
    params = differing([run.params for run in runs])
    if len(runs) < 2 or not (any(params) or any(run.name != run.source.stem for run in runs)):
        return ""
    parts = [
        f"{run.name} is {run.source.full_name or run.source.name}{words and f' ({words})'}"
        for run, words in zip(runs[:MOST_TOLD], map(in_words, params), strict=False)
    ]
    more = f", and {len(runs) - MOST_TOLD:,} more" if len(runs) > MOST_TOLD else ""
    return f"runs of {algorithm}: {', '.join(parts)}{more}"

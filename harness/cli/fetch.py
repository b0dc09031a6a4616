"""`hate fetch` and `hate cache`: download ahead of time, and look after what was downloaded."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from harness.api import runs
from harness.cli.completion import complete_test
from harness.cli.options import CommandGroup, FormatOptions, command_options
from harness.cli.output import emit, remark
from harness.errors import UsageError
from harness.options import LibraryOptions, OptionSet, Range, Writes, option
from harness.params import nearest
from harness.report.blocks import Cell, Table
from harness.script.cases import load_cases
from harness.script.load import Script
from harness.site.cache import (
    RELEASES,
    CacheEntry,
    cache_entries,
    cache_folder,
    entry_kinds,
    is_older,
    remove_leftovers,
)
from harness.site.config import site_config
from harness.site.fetch import fetch_data
from harness.site.find_test import find_test
from harness.site.find_transcripts import KnownTranscripts, site_transcripts_of
from harness.site.sites import find_release, sites
from harness.site.trust import forget

# A test, which part of it, and where that is.
FetchedPart = tuple[str, str, Path]


class FetchOptions(LibraryOptions, FormatOptions):
    """Options of `hate fetch`."""

    transcripts: bool = option(
        "--transcripts", "Also download every transcript of the test at the sites.", default=False
    )
    interfaces: Path | None = option(
        "--interfaces FOLDER",
        "Also copy the interfaces that are published with the test into FOLDER, to read; nothing runs them.",
        default=None,
        writes=Writes.FOLDER,
    )


@click.command("fetch")
@click.argument("words", nargs=-1, required=True, metavar="TEST...", shell_complete=complete_test)
@command_options(FetchOptions)
def fetch_command(words: Sequence[str], options: FetchOptions) -> None:
    """Download all that TEST needs, so that it runs without a network; TEST/NAME is a transcript.

    What is here already is not downloaded again.

    \b
    hate fetch hdigits
    hate fetch hdigits/wisard
    """
    parts: list[FetchedPart] = []
    for word in words:
        if "/" in word and "://" not in word and not Path(word).exists() and not word.endswith(".toml"):
            source = KnownTranscripts().published(word)
            if source.note:
                remark(f"hate: {source.note}")
            parts.append((source.full_name.rpartition("/")[0], f"transcript {source.stem}", source.path))
            continue
        script = find_test(word, options.libraries, runs.note)
        paths = fetch_data(script)
        load_cases(script, paths)
        label = f"{script.name}@{script.version}"
        parts += [(label, "script", script.path), *((label, f"data {name}", path) for name, path in paths.items())]
        parts += _transcripts(script) if options.transcripts else []
        parts += _interfaces(script, options.interfaces) if options.interfaces is not None else []
    rows: list[list[Cell]] = [[test, part, str(path)] for test, part, path in parts]
    payload = {"fetched": [dict(zip(("test", "part", "path"), row, strict=True)) for row in rows]}
    emit(options.style, Table(["test", "part", "path"], rows), payload)


def _transcripts(script: Script) -> list[FetchedPart]:
    among = sites()
    label = f"{script.name}@{script.version}"
    shared = site_transcripts_of(script.name, script.digest, among)
    parts = [(label, f"transcript {source.stem}", source.path) for source in shared]
    for note in among.notes:
        remark(f"hate: {note}")
    return parts


def _interfaces(script: Script, folder: Path) -> list[FetchedPart]:
    """The interfaces of the first site that has the test."""
    from harness.site.catalogue import copy_interface

    release = find_release(f"{script.name}@{script.version}", sites())
    entries = [] if release is None else release.index.interfaces
    if release is None or not entries:
        raise UsageError(f"{script.name}: no interfaces are published with it at the sites")
    label = f"{script.name}@{script.version}"
    store = release.catalogue.store
    return [(label, f"interface {entry.name}", copy_interface(store, entry, folder)) for entry in entries]


@click.group("cache", cls=CommandGroup, invoke_without_command=True)
@click.pass_context
def cache_command(context: click.Context) -> None:
    """The cache of downloads: list what is in it, verify it, clear it; without a command, list.

    \b
    hate cache
    hate cache verify
    """
    if context.invoked_subcommand is None:
        list_cache(CacheListOptions())


class CacheListOptions(FormatOptions):
    """Options of `hate cache list`."""

    every: bool = option("--all", "List every entry, not only tests.", default=False)


class CacheClearOptions(OptionSet):
    """Options of `hate cache clear`."""

    older_than: float | None = option(
        "--older-than DAYS", "Only what is older than this.", default=None, within=Range(0, 1e6)
    )


@cache_command.command("list")
@command_options(CacheListOptions)
def list_cache_command(options: CacheListOptions) -> None:
    """List what is in the cache: the tests of sites, and how much there is of the rest.

    \b
    hate cache list --all
    """
    list_cache(options)


def list_cache(options: CacheListOptions) -> None:
    """Print what is in the cache."""
    rows: list[list[Cell]] = []
    rest: dict[str, list[CacheEntry]] = {}
    for item in cache_entries():
        if options.every or item.kind == RELEASES:
            rows.append([item.kind, item.label, 1, item.size])
        else:
            rest.setdefault(item.kind, []).append(item)
    words = entry_kinds()
    rows += [[kind, words[kind], len(items), sum(item.size for item in items)] for kind, items in rest.items()]
    entries = [dict(zip(("kind", "what", "entries", "bytes"), row, strict=True)) for row in rows]
    folder = str(cache_folder())
    table = Table(["kind", "what", "entries", "bytes"], rows)
    emit(options.style, table, {"folder": folder, "entries": entries})
    remark(f"cache: {folder}")


@cache_command.command("verify")
@command_options(FormatOptions)
def verify_command(options: FormatOptions) -> int:
    """Check everything that has a known SHA-256; remove what is damaged, with exit status 1.

    It is downloaded again when it is needed.

    \b
    hate cache verify
    """
    rows: list[list[Cell]] = []
    checked = 0
    for item in cache_entries():
        damaged = item.is_damaged()
        checked += damaged is not None
        if damaged:
            rows.append([item.kind, item.label, "removed" if item.remove() else "in use"])
    payload: dict[str, Any] = {"checked": checked, "damaged": [{"kind": row[0], "what": row[1]} for row in rows]}
    if rows or options.style is not None:
        emit(options.style, Table(["kind", "damaged", "result"], rows), payload)
    remark(f"{checked:,} checked, {len(rows):,} damaged")
    return 1 if rows else 0


@cache_command.command("clear")
@click.argument("kinds", nargs=-1, metavar="[KIND]...")
@command_options(CacheClearOptions)
def clear_command(kinds: tuple[str, ...], options: CacheClearOptions) -> None:
    """Remove everything from the cache, or only some KINDs, as `hate cache list` names them.

    Nothing of your own is in there. The keys of sites are kept elsewhere and stay: see `hate cache forget`.

    \b
    hate cache clear runs --older-than 30
    """
    for kind in kinds:
        if kind not in (known := entry_kinds()):
            raise UsageError(f"'{kind}' is not a kind of cache entry; {nearest(kind, known)}")
    wanted = is_older(options.older_than) if options.older_than is not None else lambda _: True
    freed = count = busy = 0
    for item in list(cache_entries(kinds)):
        if wanted(item):
            size = item.size
            if item.remove():
                freed, count = freed + size, count + 1
            else:
                busy += 1
    if not kinds:
        remove_leftovers()
    remark(f"{count:,} entries removed, {freed:,} bytes" + (f"; {busy:,} are in use" if busy else ""))


@cache_command.command("forget")
@click.argument("site")
def forget_command(site: str) -> None:
    """Forget the key and the last index of SITE, and trust the next ones: only if its owner says that they are new.

    \b
    hate cache forget https://example.org/tests/
    """
    known = forget(site_config(site))
    remark(f"{site_config(site).name}: {'forgotten' if known else 'nothing to forget'}")

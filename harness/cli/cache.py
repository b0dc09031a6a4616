"""`hate cache`: what was downloaded, whether it is whole, and how to be rid of it."""

from typing import Any

import click

from harness.cli.options import TABULAR, Numbers, format_option
from harness.cli.output import chosen, emit, remark
from harness.report.table import Cell, Table


@click.group("cache")
def command() -> None:
    """The cache of downloads: list what is in it, verify it, clear it."""


@command.command("list")
@click.option("--all", "every", is_flag=True, help="Every entry, not only tests.")
@format_option(*TABULAR)
def list_(every: bool, style: str | None) -> None:
    """List what is in the cache: the tests of sites, and how much there is of the rest."""
    from harness.site.cache import cache_folder
    from harness.site.releases import RELEASES
    from harness.site.stock import KINDS, Item, items

    rows: list[list[Cell]] = []
    rest: dict[str, list[Item]] = {}
    for item in items():
        if every or item.kind == RELEASES:
            rows.append([item.kind, item.label, 1, item.size])
        else:
            rest.setdefault(item.kind, []).append(item)
    rows += [[kind, KINDS[kind], len(found), sum(item.size for item in found)] for kind, found in rest.items()]
    entries = [dict(zip(("kind", "what", "entries", "bytes"), row, strict=True)) for row in rows]
    folder = str(cache_folder())
    emit(chosen(style), Table(["kind", "what", "entries", "bytes"], rows), {"folder": folder, "entries": entries})
    remark(f"cache: {folder}")


@command.command("verify")
@format_option(*TABULAR)
def verify(style: str | None) -> int:
    """Read all that has a known SHA-256. What is damaged is removed, to be downloaded anew; exit status 1 then."""
    from harness.site.stock import items

    rows: list[list[Cell]] = []
    checked = 0
    for item in items():
        damaged = item.is_damaged()
        checked += damaged is not None
        if damaged:
            rows.append([item.kind, item.label, "removed" if item.remove() else "in use"])
    payload: dict[str, Any] = {"checked": checked, "damaged": [{"kind": row[0], "what": row[1]} for row in rows]}
    if rows or style is not None:
        emit(chosen(style), Table(["kind", "damaged", "result"], rows), payload)
    remark(f"{checked:,} checked, {len(rows):,} damaged")
    return 1 if rows else 0


@command.command("clear")
@click.argument("kinds", nargs=-1, metavar="[KIND]...")
@click.option("--older-than", type=Numbers(0, 1e6), metavar="DAYS", help="Only what was made before that.")
def clear(kinds: tuple[str, ...], older_than: float | None) -> None:
    """Remove everything from the cache, or the kinds that `hate cache list` shows; nothing of yours is in there.

    Keys of sites that were seen are kept elsewhere, and stay: see `hate cache forget`.
    """
    from harness.errors import UsageError
    from harness.params import nearest
    from harness.site.stock import KINDS, is_older, items, sweep

    for kind in kinds:
        if kind not in KINDS:
            raise UsageError(f"'{kind}' is not a kind of what is in the cache; {nearest(kind, KINDS)}")
    wanted = is_older(older_than) if older_than is not None else lambda _: True
    freed = count = busy = 0
    for item in list(items(frozenset(kinds or KINDS))):
        if wanted(item):
            size = item.size
            if item.remove():
                freed, count = freed + size, count + 1
            else:
                busy += 1
    if not kinds:
        sweep()
    remark(f"{count:,} entries removed, {freed:,} bytes" + (f"; {busy:,} are in use" if busy else ""))


@command.command("forget")
@click.argument("site")
def forget_(site: str) -> None:
    """Forget the key and the last index of SITE and believe its next one: its owner said that it was made anew."""
    from harness.site.config import site_config
    from harness.site.trust import forget

    known = forget(site_config(site))
    remark(f"{site_config(site).name}: {'forgotten' if known else 'nothing was known of it'}")

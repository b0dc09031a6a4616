"""The cache: `list_cache`, `verify_cache`, `clear_cache` and `forget_site`, which the commands of `hate cache` call."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from harness.api.result import Result
from harness.errors import UsageError
from harness.options import OptionSet, Range, option
from harness.params import nearest
from harness.report.blocks import Block, Table
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
from harness.site.trust import forget


class CacheListOptions(OptionSet):
    """How much of the cache is listed."""

    all: bool = option("--all", "List every entry, not only tests.", default=False)


class CacheClearOptions(OptionSet):
    """What is removed."""

    older_than: float | None = option(
        "--older-than DAYS", "Only what is older than this.", default=None, within=Range(0, 1e6)
    )


class CacheRow(NamedTuple):
    """An entry of the cache, or all entries of a kind together."""

    kind: str
    what: str
    entries: int
    bytes: int


@dataclass(frozen=True, repr=False)
class CacheListResult(Result):
    """What is in the cache."""

    folder: Path
    rows: Sequence[CacheRow]
    remarks: Sequence[str] = ()

    def payload(self) -> dict[str, Any]:
        return {"folder": str(self.folder), "entries": [row._asdict() for row in self.rows]}

    def blocks(self) -> Sequence[Block]:
        """A row for each test, or for each entry, and for each kind of the rest."""
        return [Table(CacheRow._fields, self.rows)]


def list_cache(*, options: CacheListOptions) -> CacheListResult:
    """What is in the cache: the tests of sites, and how much there is of the rest.

    >>> harness.list_cache()

    The result has the folder of the cache, `.folder`, and a row for each test or kind, `.rows`.
    """
    rows: list[CacheRow] = []
    rest: dict[str, list[CacheEntry]] = {}
    for entry in cache_entries():
        if options.all or entry.kind == RELEASES:
            rows.append(CacheRow(entry.kind, entry.label, 1, entry.size))
        else:
            rest.setdefault(entry.kind, []).append(entry)
    words = entry_kinds()
    rows += [
        CacheRow(kind, words[kind], len(entries), sum(entry.size for entry in entries))
        for kind, entries in rest.items()
    ]
    folder = cache_folder()
    return CacheListResult(folder, rows, [f"cache: {folder}"])


class DamagedEntry(NamedTuple):
    """An entry whose content is not what it should be."""

    kind: str
    what: str
    # False where another process was using it.
    removed: bool


@dataclass(frozen=True, repr=False)
class CacheVerifyResult(Result):
    """How much was checked, and what was damaged."""

    checked: int
    damaged: Sequence[DamagedEntry]
    remarks: Sequence[str] = ()

    def payload(self) -> dict[str, Any]:
        damaged = [{"kind": entry.kind, "what": entry.what} for entry in self.damaged]
        return {"checked": self.checked, "damaged": damaged}

    def blocks(self) -> Sequence[Block]:
        """A row for each damaged entry."""
        rows = [[entry.kind, entry.what, "removed" if entry.removed else "in use"] for entry in self.damaged]
        return [Table(["kind", "damaged", "result"], rows)]


def verify_cache() -> CacheVerifyResult:
    """Check everything in the cache that has a known SHA-256, and remove what is damaged.

    >>> harness.verify_cache().damaged

    It is downloaded again when it is needed. The result has the number of entries that were checked, `.checked`.
    """
    checked, damaged = 0, []
    for entry in cache_entries():
        is_damaged = entry.is_damaged()
        checked += is_damaged is not None
        if is_damaged:
            damaged.append(DamagedEntry(entry.kind, entry.label, entry.remove()))
    return CacheVerifyResult(checked, damaged, [f"{checked:,} checked, {len(damaged):,} damaged"])


@dataclass(frozen=True)
class ClearedCache:
    """How much was removed from the cache, and how much was in use and stayed."""

    entries: int
    bytes: int
    in_use: int

    def __str__(self) -> str:
        removed = f"{self.entries:,} entries removed, {self.bytes:,} bytes"
        return removed + (f"; {self.in_use:,} are in use" if self.in_use else "")


def clear_cache(kinds: str | Sequence[str] = (), *, options: CacheClearOptions) -> ClearedCache:
    """Remove everything from the cache, or only some kinds of entries; nothing of your own is in there.

    >>> harness.clear_cache("runs", older_than=30)

    The keys of sites are kept elsewhere and stay; see `forget_site`. The result says how much was removed.

    Args:
        kinds: One or several, as `list_cache` names them; without any, all.
    """
    kinds = [kinds] if isinstance(kinds, str) else kinds
    for kind in kinds:
        if kind not in (known := entry_kinds()):
            raise UsageError(f"'{kind}' is not a kind of cache entry; {nearest(kind, known)}")
    is_wanted = is_older(options.older_than) if options.older_than is not None else lambda _: True
    entries = size = in_use = 0
    for entry in list(cache_entries(kinds)):
        if is_wanted(entry):
            entry_size = entry.size
            if entry.remove():
                entries, size = entries + 1, size + entry_size
            else:
                in_use += 1
    if not kinds:
        remove_leftovers()
    return ClearedCache(entries, size, in_use)


def forget_site(site: str | Path) -> bool:
    """Forget the key and the last index of a site, and trust the next ones: only if its owner says that they are new.

    >>> harness.forget_site("https://example.org/tests/")

    Whether anything was known about the site.

    Args:
        site: Its address, or its folder.
    """
    return forget(site_config(str(site)))

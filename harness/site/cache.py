"""The cache: its entries are made once, listed, checked and removed, safely with several processes at once."""

import contextlib
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec
from filelock import FileLock, Timeout

from harness.errors import DataError
from harness.files.caches import JUDGED, KEPT_COLUMNS, KNOWN_DIGESTS, UNFINISHED_PREFIX
from harness.files.caches import cache_folder as cache_folder
from harness.files.digest import Stamp, entries_below, file_sha256, stamps
from harness.options.entries import SectionEntry, all_added, include_others
from harness.site.layout import Release, decode_release

# Files by their SHA-256; each is called `content` in a folder of its own.
FILES = "files"
CONTENT = "content"
# Downloads that broke off; the next one continues where they ended.
PARTIAL = "partial"
# Published tests: each has a manifest, and a folder with its files.
RELEASES = "releases"
MANIFEST = "release.json"
RELEASE_FOLDER = "test"
# Unpacked archives, by the SHA-256 of the archive.
UNPACKED = "unpacked"
# Scripts from web servers with the files that they name, by the SHA-256 of all of them.
SCRIPTS = "scripts"
# Folders that another machine sent, for a run that asks programs here; by their content.
RECEIVED = "received"
# What runs read and nobody writes: read-only; and of these, what has a listing to be verified against.
SEALED = frozenset({FILES, UNPACKED, SCRIPTS, RELEASES})
LISTED = frozenset({FILES, UNPACKED, SCRIPTS})


def cached(kind: str, key: str, make: Callable[[Path], None]) -> Path:
    """The entry `key`, made once: `make` fills a new folder, which is moved into place when it is complete."""
    entry = cache_folder() / kind / key
    try:
        if entry.exists():
            return entry
        entry.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(entry.parent / f"{key}.lock"):
            if not entry.exists():
                scratch = Path(tempfile.mkdtemp(prefix=UNFINISHED_PREFIX, dir=entry.parent))
                try:
                    make(scratch)
                    _protect(scratch, entry)
                    try:
                        scratch.rename(entry)
                    except OSError:
                        # Clearing the cache removed the lock, and another process has made the entry in the meantime.
                        if not entry.exists():
                            raise
                finally:
                    remove_tree(scratch)
        return entry
    except OSError as error:
        raise _cache_error(entry, error) from None


def verified(kind: str, key: str, make: Callable[[Path], None]) -> Path:
    """The same, made again if its files are not those that it was made with."""
    entry = cached(kind, key, make)
    if not is_intact(entry):
        discard_damaged(kind, key)
        entry = cached(kind, key, make)
    return entry


def is_intact(entry: Path, *, thorough: bool = False) -> bool:
    """Whether a listed entry has the content of its listing; files are read only if they may have changed."""
    listing = read_listing(entry)
    try:
        if listing is None:
            # A file from before there were listings, if it has the content that its entry is named after.
            if entry.parent.name != FILES or not is_whole(entry / CONTENT, entry.name, None):
                return False
            write_listing(entry, make_listing(entry, entry.name))
            return True
        now = stamps(entry)
        if not thorough and now == {name: file.stamp for name, file in listing.items()}:
            return True
        if changed_files(entry, listing, thorough=thorough):
            return False
        # A link or a copy changed the stamps; the next check need not read the files again.
        write_listing(entry, {name: ListedFile(file.sha256, now[name]) for name, file in listing.items()})
        return True
    except (OSError, KeyError):
        return False


def discard_damaged(kind: str, key: str) -> None:
    """Remove an entry that is not intact, unless another process has made it again in the meantime."""
    entry = cache_folder() / kind / key
    try:
        with FileLock(entry.parent / f"{key}.lock"):
            if not is_intact(entry):
                remove_atomically(entry)
    except OSError as error:
        raise _cache_error(entry, error) from None


def cached_by_content(kind: str, make: Callable[[Path], str]) -> Path:
    """A new entry named after its content: `make` fills a new folder and returns the name."""
    parent = cache_folder() / kind
    try:
        parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=UNFINISHED_PREFIX, dir=parent, ignore_cleanup_errors=True) as outer:
            scratch = Path(outer) / "entry"
            scratch.mkdir(0o755)
            entry = parent / make(scratch)
            with FileLock(parent / f"{entry.name}.lock"):
                _replace(scratch, entry)
                _protect(entry, entry)
        return entry
    except OSError as error:
        raise _cache_error(parent, error) from None


def _cache_error(path: Path, error: OSError) -> DataError:
    return DataError(f"cache {path}: {error.strerror or error}; free some space or set XDG_CACHE_HOME")


def discard_entry(kind: str, key: str) -> None:
    """Remove an entry, whether or not it will be made again."""
    entry = cache_folder() / kind / key
    try:
        with FileLock(entry.parent / f"{key}.lock"):
            remove_atomically(entry)
    except OSError as error:
        raise DataError(f"cache {entry}: {error.strerror or error}") from None


def remove_atomically(path: Path) -> None:
    """Remove a file or folder: other processes see all of it or nothing."""
    if path.is_symlink() or not path.is_dir():
        path.unlink(missing_ok=True)
        return
    listing_path(path).unlink(missing_ok=True)
    # A folder that is read-only can be neither moved nor emptied.
    unseal_folders(path)
    with tempfile.TemporaryDirectory(prefix=UNFINISHED_PREFIX, dir=path.parent, ignore_cleanup_errors=True) as outer:
        path.rename(Path(outer) / "entry")


def _replace(scratch: Path, entry: Path) -> None:
    """Move into place. Existing files may be damaged, and may be open, so each is replaced atomically."""
    if not entry.exists():
        scratch.rename(entry)
        return
    unseal_folders(entry)
    for file in scratch.iterdir():
        file.replace(entry / file.name)


def _protect(folder: Path, entry: Path) -> None:
    """Make the content of an entry read-only, and list it; `folder` is where it is now."""
    kind = entry.parent.name
    if kind not in SEALED:
        folder.chmod(0o755)
        return
    seal(folder)
    if kind in LISTED:
        # The name of a file's entry is the SHA-256 of its content, which was checked on the way.
        write_listing(entry, make_listing(folder, entry.name if kind == FILES else ""))


def link_or_copy(source: Path, target: Path) -> None:
    """Put a file in another place in the cache: linked if it is in the cache and the disk allows it, else copied."""
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        if not source.is_relative_to(cache_folder()):
            raise OSError("outside the cache")
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)


def is_whole(path: Path, sha256: str, size: int | None) -> bool:
    try:
        return (size is None or path.stat().st_size == size) and file_sha256(path) == sha256
    except OSError:
        return False


# The kinds of entries, and what users call them.
ENTRY_KINDS = {
    RELEASES: "tests of sites",
    FILES: "downloaded files and indexes",
    UNPACKED: "unpacked archives",
    SCRIPTS: "scripts from web servers",
    "folds": "folds for tuning",
    "runs": "runs of sweeps and of tuning",
    RECEIVED: "files that another machine sent for a run",
    KEPT_COLUMNS: "columns of large transcripts",
    KNOWN_DIGESTS: "digests of data that was hashed before",
    JUDGED: "which transcripts were judged again",
    PARTIAL: "interrupted downloads",
    "urls": "records of addresses",
}


def entry_kinds() -> dict[str, str]:
    """All kinds of entries, with the inputs that sections of scripts make."""
    include_others()
    made = {entry.made: entry.holds for entry in all_added(SectionEntry)}
    return ENTRY_KINDS | made


DAY = 86_400.0
HOUR = 3_600.0


@dataclass(frozen=True)
class CacheEntry:
    """An entry of the cache."""

    kind: str
    path: Path

    @property
    def size(self) -> int:
        """The size of all its files, in bytes."""
        files = self.path.rglob("*") if self.path.is_dir() else [self.path]
        total = 0
        for file in files:
            with contextlib.suppress(OSError):
                total += file.lstat().st_size if file.is_file() else 0
        return total

    @property
    def label(self) -> str:
        """What it is; for a test, its name and version."""
        release = self.release()
        return self.path.name if release is None else f"{release.name} {release.version}"

    def release(self) -> Release | None:
        if self.kind != RELEASES:
            return None
        with contextlib.suppress(OSError, DataError):
            return decode_release((self.path / MANIFEST).read_bytes(), str(self.path))
        return None

    def is_damaged(self) -> bool | None:
        """Whether its content is wrong; None if it cannot be checked."""
        if self.kind == FILES:
            return not is_whole(self.path / CONTENT, self.path.name, None)
        if self.kind in (UNPACKED, SCRIPTS):
            return not is_intact(self.path, thorough=True)
        if self.kind == KEPT_COLUMNS:
            from harness.transcript.kept_columns import is_sound  # with numpy, which few commands of the cache need

            return not is_sound(self.path)
        if self.kind != RELEASES:
            return None
        release = self.release()
        files = release.files if release is not None else []
        whole = (is_whole(self.path / RELEASE_FOLDER / file.path, file.sha256, file.bytes) for file in files)
        return release is None or not all(whole)

    def remove(self) -> bool:
        """Remove it, unless it is in use; returns whether it was removed."""
        lock = self.path.with_name(f"{self.path.name}.lock")
        try:
            with FileLock(lock, timeout=0):
                remove_atomically(self.path)
                lock.unlink(missing_ok=True)
        except (Timeout, FileNotFoundError):
            return False
        return True


def cache_entries(kinds: Collection[str] = ()) -> Iterator[CacheEntry]:
    """All entries, or those of some kinds, one kind after the other."""
    for kind in kinds or entry_kinds():
        with contextlib.suppress(FileNotFoundError):
            for path in sorted((cache_folder() / kind).iterdir()):
                if not path.name.startswith(UNFINISHED_PREFIX) and path.suffix not in (".lock", LISTING_SUFFIX):
                    yield CacheEntry(kind, path)


def remove_leftovers() -> None:
    """Remove what killed processes left unfinished; anything younger than an hour may still be in use."""
    for leftover in cache_folder().glob(f"*/{UNFINISHED_PREFIX}*"):
        with contextlib.suppress(OSError):
            if time.time() - leftover.stat().st_mtime > HOUR:
                remove_tree(leftover)


def is_older(days: float) -> Callable[[CacheEntry], bool]:
    """A check whether an entry was made more than `days` days ago."""
    limit = time.time() - days * DAY
    return lambda entry: entry.path.lstat().st_mtime < limit


LISTING_SUFFIX = ".list"


class ListedFile(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A file of an entry: its content, and its stamp when it was listed."""

    sha256: str
    stamp: Stamp


Listing = dict[bytes, ListedFile]

_decode_listing = msgspec.msgpack.Decoder(Listing).decode


def make_listing(folder: Path, sha256: str = "") -> Listing:
    """The files of a folder; `sha256` is that of its only file, where it is known."""
    return {
        name: ListedFile(sha256 or file_sha256(folder / os.fsdecode(name)), stamp)
        for name, stamp in stamps(folder).items()
    }


def listing_path(entry: Path) -> Path:
    """Where the listing of an entry is: beside it."""
    return entry.with_name(f"{entry.name}{LISTING_SUFFIX}")


def write_listing(entry: Path, listing: Listing) -> None:
    path = listing_path(entry)
    part = path.with_name(f"{path.name}.{os.getpid()}")
    part.write_bytes(msgspec.msgpack.encode(listing))
    part.chmod(0o444)
    part.replace(path)


def read_listing(entry: Path) -> Listing | None:
    """The listing of an entry; None if there is none that can be read."""
    try:
        return _decode_listing(listing_path(entry).read_bytes())
    except (OSError, msgspec.MsgspecError):
        return None


def changed_files(folder: Path, listing: Listing, *, thorough: bool = False) -> list[str]:
    """The names of files whose content is not what is listed: other, gone, or new.

    The content is read only where the stamp is another, or of all files if the check is to be thorough.
    """
    now = stamps(folder)
    # The empty name is that of a file, or a link, in the place of the folder.
    changed = list((now.keys() ^ listing.keys()) - {b""})
    for name in now.keys() & listing.keys():
        listed = listing[name]
        if thorough or now[name] != listed.stamp:
            path = folder / os.fsdecode(name)
            if now[name].size != listed.stamp.size or not is_whole(path, listed.sha256, None):
                changed.append(name)
    return sorted(map(os.fsdecode, changed))


def seal(folder: Path) -> None:
    """Make a folder and all in it read-only: what is shared by many runs is not written to by accident."""
    for entry in [*entries_below(os.fsencode(folder))]:
        os.chmod(entry.path, 0o555 if entry.is_dir(follow_symlinks=False) else 0o444)  # noqa: PTH101 (bytes)
    folder.chmod(0o555)


def unseal_folders(folder: Path) -> None:
    """Let files be removed from a folder and the folders in it."""
    folder.chmod(0o700)
    for entry in entries_below(os.fsencode(folder)):
        if entry.is_dir(follow_symlinks=False):
            os.chmod(entry.path, 0o700)  # noqa: PTH101 (bytes)


def remove_tree(folder: Path) -> None:
    """Remove a folder, read-only or not; of a link that somebody put there, the link."""
    try:
        if folder.is_symlink():
            folder.unlink()
            return
        unseal_folders(folder)
    except OSError as error:
        if folder.exists():
            raise DataError(f"{folder}: {error.strerror or error}; remove it by hand") from None
    shutil.rmtree(folder, ignore_errors=True)

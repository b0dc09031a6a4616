"""Listings: the files of a cache entry by digest, read-only, and whether they are still what they were."""

import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

import msgspec

from harness.errors import DataError
from harness.files.digest import file_sha256

LISTING_SUFFIX = ".list"


class Stamp(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What the system says of a file without reading it. Nobody but the system can set `ctime_ns`."""

    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int

    def replaced(self, other: "Stamp") -> bool:
        """Whether the content was written anew; permissions and links change only the last of the times."""
        return (self.size, self.mtime_ns, self.inode) != (other.size, other.mtime_ns, other.inode)


class ListedFile(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A file of an entry: its content, and its stamp when it was listed."""

    sha256: str
    stamp: Stamp


# The names are bytes: archives from elsewhere may have names that are not UTF-8.
Stamps = dict[bytes, Stamp]
Listing = dict[bytes, ListedFile]
# The stamp of something that is not a plain file, such as a link.
NOT_A_FILE = Stamp(-1, 0, 0, 0)

_decode = msgspec.msgpack.Decoder(Listing).decode


def stamps(place: Path) -> Stamps:
    """The stamps of all files of a folder by name, or of a single file by the empty name."""
    if not place.is_dir() or place.is_symlink():
        return {b"": _stamp(place.lstat())} if os.path.lexists(place) else {}
    root = os.fsencode(place)
    return {
        entry.path[len(root) + 1 :]: _stamp(entry.stat(follow_symlinks=False))
        for entry in _entries(root)
        if not entry.is_dir(follow_symlinks=False)
    }


def _entries(root: bytes) -> "Iterator[os.DirEntry[bytes]]":
    """Everything below a folder, each folder before what is in it; links are not followed, however deep it is."""
    waiting = [root]
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for entry in entries:
                yield entry
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)


def _stamp(found: os.stat_result) -> Stamp:
    if not stat.S_ISREG(found.st_mode):
        return NOT_A_FILE
    return Stamp(found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino)


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
    """Write it, or replace it."""
    path = listing_path(entry)
    part = path.with_name(f"{path.name}.{os.getpid()}")
    part.write_bytes(msgspec.msgpack.encode(listing))
    part.chmod(0o444)
    part.replace(path)


def read_listing(entry: Path) -> Listing | None:
    """The listing of an entry; None if there is none that can be read."""
    try:
        return _decode(listing_path(entry).read_bytes())
    except (OSError, msgspec.MsgspecError):
        return None


def changed_files(folder: Path, listing: Listing, *, thorough: bool = False) -> list[str]:
    """The names of files whose content is not what is listed: other, gone, or new.

    The content is read only where the stamp is another, or of all files if the check is to be thorough.
    """
    now = stamps(folder)
    # The empty name is that of a file, or a link, in the place of the folder.
    found = list((now.keys() ^ listing.keys()) - {b""})
    for name in now.keys() & listing.keys():
        listed = listing[name]
        if (thorough or now[name] != listed.stamp) and not _has_content(folder, name, now[name], listed):
            found.append(name)
    return sorted(map(os.fsdecode, found))


def _has_content(folder: Path, name: bytes, stamp: Stamp, listed: ListedFile) -> bool:
    if stamp.size != listed.stamp.size:
        return False
    try:
        return file_sha256(folder / os.fsdecode(name)) == listed.sha256
    except OSError:
        return False


def seal(folder: Path) -> None:
    """Make a folder and all in it read-only: what is shared by many runs is not written to by accident."""
    for entry in [*_entries(os.fsencode(folder))]:
        os.chmod(entry.path, 0o555 if entry.is_dir(follow_symlinks=False) else 0o444)  # noqa: PTH101 (bytes)
    folder.chmod(0o555)


def unseal_folders(folder: Path) -> None:
    """Let files be removed from a folder and the folders in it."""
    folder.chmod(0o700)
    for entry in _entries(os.fsencode(folder)):
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

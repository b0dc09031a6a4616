"""Listings: the files of a cache entry by digest, read-only, and whether they are still what they were."""

import os
import shutil
from pathlib import Path

import msgspec

from harness.errors import DataError
from harness.files.digest import file_sha256
from harness.files.stamps import Stamp, entries_below, stamps

LISTING_SUFFIX = ".list"


class ListedFile(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A file of an entry: its content, and its stamp when it was listed."""

    sha256: str
    stamp: Stamp


Listing = dict[bytes, ListedFile]

_decode = msgspec.msgpack.Decoder(Listing).decode


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

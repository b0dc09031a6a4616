"""Digests of files, and stamps: what the system says of files without reading them.

The digest of a test, scheme 1, is the SHA-256 over path, NUL, sha256 in hex, newline, for every file that it names.
"""

import hashlib
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import msgspec

SCHEME = 1


def file_sha256(path: Path) -> str:
    """SHA-256 of a file, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def folder_sha256(folder: Path) -> str:
    """SHA-256 of a folder: of its listing, as in the digest of a test."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return listing_sha256({path.relative_to(folder).as_posix(): file_sha256(path) for path in files})


def path_sha256(path: Path) -> str:
    return folder_sha256(path) if path.is_dir() else file_sha256(path)


def digest(files: Mapping[str, str]) -> str:
    """The digest of a test from the sha256 of the files that it names."""
    return f"{SCHEME}:{listing_sha256(files)}"


def digest_without_script(cases: Iterable[tuple[str, str]]) -> str:
    """The digest of an imported result: over the sorted id, NUL, expect, newline."""
    return case_list_digest(sorted(f"{case_id}\0{expect}\n" for case_id, expect in cases))


def case_list_digest(parts: Iterable[str]) -> str:
    """The same from its lines, which are sorted already; a part may have many of them."""
    sha256 = hashlib.sha256()
    for part in parts:
        sha256.update(part.encode())
    return f"{SCHEME}:{sha256.hexdigest()}"


def listing_sha256(files: Mapping[str, str]) -> str:
    """SHA-256 over path, NUL, sha256 in hex, newline, for some files, sorted by bytes."""
    # The names of files need not be UTF-8; their bytes count.
    lines = sorted(f"{path}\0{sha256}\n".encode(errors="surrogateescape") for path, sha256 in files.items())
    return hashlib.sha256(b"".join(lines)).hexdigest()


class Stamp(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """What the system says of a file without reading it. Nobody but the system can set `ctime_ns`."""

    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int

    def is_replaced(self, other: "Stamp") -> bool:
        """Whether the content was written anew; permissions and links change only the last of the times."""
        return (self.size, self.mtime_ns, self.inode) != (other.size, other.mtime_ns, other.inode)


# The names are bytes: archives from elsewhere may have names that are not UTF-8.
Stamps = dict[bytes, Stamp]
# The stamp of something that is not a plain file, such as a link.
NOT_A_FILE = Stamp(-1, 0, 0, 0)


def stamps(path: Path) -> Stamps:
    """The stamps of all files of a folder by name, or of a single file by the empty name."""
    if not path.is_dir() or path.is_symlink():
        return {b"": stamp_of(path.lstat())} if os.path.lexists(path) else {}
    root = os.fsencode(path)
    return {
        entry.path[len(root) + 1 :]: stamp_of(entry.stat(follow_symlinks=False))
        for entry in entries_below(root)
        if not entry.is_dir(follow_symlinks=False)
    }


def entries_below(root: bytes) -> "Iterator[os.DirEntry[bytes]]":
    """Everything below a folder, each folder before what is in it; links are not followed, however deep it is."""
    waiting = [root]
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for entry in entries:
                yield entry
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)


def file_stamp(path: Path | str) -> Stamp:
    """The stamp of the file that a name leads to, through links too; as of no file if there is none."""
    try:
        return stamp_of(os.stat(path))  # noqa: PTH116 (called for each case of a test)
    except (OSError, ValueError):
        return NOT_A_FILE


def stamp_of(status: os.stat_result) -> Stamp:
    """The stamp of a file, from what the system says."""
    if not stat.S_ISREG(status.st_mode):
        return NOT_A_FILE
    return Stamp(status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)

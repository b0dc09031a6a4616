"""Unpack a zip or tar archive safely: nothing outside its folder, no links, no devices, no bombs."""

import errno
import lzma
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO

from harness.errors import DataError

LARGEST_RATIO = 1000
SMALLEST_LIMIT = 1 << 30
MOST_MEMBERS = 5_000_000
# Archives of tapes are filled up with zeros to whole blocks, and those are never larger.
LARGEST_FILLING = 64 << 20
# Everything that the libraries raise for damaged archives; ValueError is for names and numbers in them.
_DAMAGE = (
    zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError, struct.error, EOFError, ValueError, IndexError,
    OverflowError, NotImplementedError, RuntimeError,
)  # fmt: skip
# What is the machine's fault and no archive's.
_MACHINE = (errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EPERM, errno.EROFS, errno.EIO, errno.EMFILE, errno.EFBIG)


@dataclass(frozen=True)
class Member:
    """A regular file of an archive."""

    name: str
    size: int
    content: IO[bytes]


def unpack(archive: Path, folder: Path) -> None:
    """All regular files of the archive into the folder; a DataError, and nothing else, for a hostile or torn one."""
    limit = max(SMALLEST_LIMIT, archive.stat().st_size * LARGEST_RATIO)
    total = 0
    try:
        for number, member in enumerate(_members(archive)):
            target = _target(archive, folder, member.name)
            total += _copy(member, target, limit - total, archive)
            if number >= MOST_MEMBERS:
                raise DataError(f"{archive.name}: more than {MOST_MEMBERS:,} files")
    except _DAMAGE as error:
        raise DataError(f"{archive.name}: damaged, or neither a zip nor a tar archive: {error}") from None
    except OSError as error:
        if error.errno in _MACHINE:
            raise
        raise DataError(f"{archive.name}: cannot be unpacked: {error.strerror or error}") from None


def _members(archive: Path) -> Iterator[Member]:
    if zipfile.is_zipfile(archive):
        yield from _zip_members(archive)
    elif tarfile.is_tarfile(archive):
        yield from _tar_members(archive)
    else:
        raise DataError(f"{archive.name}: torn, or neither a zip nor a tar archive, for which unpack = true is")


def _zip_members(archive: Path) -> Iterator[Member]:
    with zipfile.ZipFile(archive) as file:
        for info in file.infolist():
            kind = stat.S_IFMT(info.external_attr >> 16)
            if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
                raise DataError(f"{archive.name}: '{info.filename}' is a link or device; pack plain files only")
            if not info.is_dir():
                with file.open(info) as content:
                    yield Member(info.filename, info.file_size, content)


def _tar_members(archive: Path) -> Iterator[Member]:
    with tarfile.open(archive) as file:
        for info in file:
            if not (info.isreg() or info.isdir()):
                raise DataError(f"{archive.name}: '{info.name}' is a link or device; pack plain files only")
            if info.isreg() and (content := file.extractfile(info)) is not None:
                yield Member(info.name, info.size, content)
        _check_end(file)


def _check_end(file: tarfile.TarFile) -> None:
    """A tar archive ends with zeros: the library takes any other end, also that of a torn file, for a good one."""
    source = file.fileobj
    if source is None:
        raise tarfile.ReadError("nothing to read")
    source.seek(file.offset)
    if source.read(tarfile.BLOCKSIZE) != bytes(tarfile.BLOCKSIZE):
        raise tarfile.ReadError("it is torn, or a member's header is damaged")
    left = LARGEST_FILLING
    # Read on, so that the checksum of a compressed file is looked at.
    while left > 0 and (block := source.read(1 << 20)):
        left -= len(block)


def _target(archive: Path, folder: Path, name: str) -> Path:
    path = PurePosixPath(name)
    bad = not path.parts or path.is_absolute() or ".." in path.parts or "\\" in name or "\0" in name
    if bad or any(":" in part for part in path.parts):
        raise DataError(f"{archive.name}: member {name!r} would land outside its folder; pack it with relative names")
    target = folder.joinpath(*path.parts)
    if target.exists() or not _has_folder(target):
        raise DataError(f"{archive.name}: member {name!r} is there twice")
    return target


def _has_folder(target: Path) -> bool:
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        return False
    return True


def _copy(member: Member, target: Path, limit: int, archive: Path) -> int:
    """Copy what is really there, not what the archive's index claims, up to the limit."""
    with target.open("xb") as out:
        done = 0
        while block := member.content.read(1 << 20):
            done += len(block)
            if done > limit:
                raise DataError(f"{archive.name}: unpacks to more than {LARGEST_RATIO} times its size; refused")
            out.write(block)
    return done

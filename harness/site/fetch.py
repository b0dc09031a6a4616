"""Fetch a script and its data: downloaded, checked and safely unpacked, once."""

import errno
import hashlib
import lzma
import os
import stat
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import IO
from urllib.parse import quote, unquote, urljoin

from harness.errors import DataError, ScriptError
from harness.files.digest import entries_below
from harness.files.known_digests import known_sha256
from harness.files.mistakes import Mistakes
from harness.files.toml import read_toml, validate
from harness.script.load import SUFFIX, Script, load_script, take_settings
from harness.script.references import DOWNLOADED
from harness.script.schema import FORMAT, DataSection, script_model
from harness.site.cache import SCRIPTS, UNPACKED, cache_folder, link_or_copy, verified
from harness.site.download_request import DownloadLimits, content_request
from harness.site.layout import check_inside
from harness.site.url_cache import ANY_FILE, remote_file, verified_content
from harness.site.urls import is_url, masked, url_path


def is_script_address(text: str) -> bool:
    return is_url(text) and url_path(text).endswith(SUFFIX)


def fetch_script(url: str) -> tuple[Script, str]:
    """The script at any address, in the cache with the files that it names, and a note about it for the user."""
    name = unquote(url_path(url).rpartition("/")[2])
    check_inside(name, masked(url))
    script = remote_file(url, DownloadLimits(), ANY_FILE)
    files, notes = {name: script.path}, [script.note]
    for path in _named_files(script.path, masked(url)):
        check_inside(path, masked(url))
        file = remote_file(urljoin(url, quote(path)), DownloadLimits(), ANY_FILE)
        files[path] = file.path
        notes.append(file.note)
    # The folder of each file is named after its content.
    lines = sorted(f"{name}\0{path.parent.name}\n" for name, path in files.items())

    def fill(folder: Path) -> None:
        for name, path in files.items():
            link_or_copy(path, folder / name)

    folder = verified(SCRIPTS, hashlib.sha256("".join(lines).encode()).hexdigest(), fill)
    return replace(load_script(folder / name), confined=DOWNLOADED), next(filter(None, notes), "")


def _named_files(path: Path, name: str) -> Iterator[str]:
    """The files that a script names; checks first that it is a script."""
    try:
        parsed, text = read_toml(path)
    except ScriptError as error:
        raise ScriptError(str(error).replace(str(path), name)) from None
    if parsed.get("format", FORMAT) != FORMAT:
        raise DataError(
            f"{name}: format {parsed['format']!r} is not known here, only {FORMAT}; a newer hate may read it"
        )
    take_settings(parsed)
    file = validate(script_model(parsed, name), parsed, text, Mistakes(name))
    yield from Script(path, file).tables
    yield from (data.path for data in file.data.values() if data.path is not None)


def fetch_data(script: Script) -> dict[str, Path]:
    """Where each data entry of the script is, a file or a folder: checked, downloaded and unpacked as needed."""
    paths = {name: _fetch_entry(script, name, data) for name, data in script.file.data.items()}
    # Inputs that are made are made when they are asked for.
    return paths | ({script.made: cache_folder() / script.made} if script.made else {})


def _fetch_entry(script: Script, name: str, data: DataSection) -> Path:
    try:
        if data.url is None:
            source = _local_data(script, data)
        else:
            source = verified_content(content_request([data.url], data.sha256 or "", data.bytes))
        if not data.unpack:
            return source
        # Content-addressed, so a changed archive is a new entry; files that a run has changed are unpacked again.
        return verified(UNPACKED, data.sha256 or known_sha256(source), lambda folder: unpack(source, folder))
    except DataError as error:
        raise DataError(f"{script.path}: data.{name}: {error}") from None


def _local_data(script: Script, data: DataSection) -> Path:
    source = script.data_path(data)
    if data.unpack and source.is_dir():
        raise DataError(f"'{data.path}' is a folder; remove unpack = true")
    for entry in entries_below(os.fsencode(source)) if source.is_dir() else ():
        if entry.is_symlink():
            raise DataError(f"'{os.fsdecode(entry.name)}' in '{source.name}' is a link; put the file itself there")
    if data.bytes is not None and source.is_file() and source.stat().st_size != data.bytes:
        raise DataError(f"'{data.path}' has {source.stat().st_size:,} bytes, the script says {data.bytes:,}")
    if data.sha256 is not None and (sha256 := known_sha256(source)) != data.sha256:
        raise DataError(f"'{data.path}' has sha256 {sha256}, the script says {data.sha256}; restore the file")
    return source


MAX_RATIO = 1000
MIN_LIMIT = 1 << 30
MAX_MEMBERS = 5_000_000
# Tar archives are padded with zeros to whole blocks, which are never larger than this.
MAX_PADDING_BYTES = 64 << 20
# Everything that the libraries raise for damaged archives; ValueError for bad names and numbers in them.
_DAMAGE = (
    zipfile.BadZipFile,
    tarfile.TarError,
    zlib.error,
    lzma.LZMAError,
    struct.error,
    EOFError,
    ValueError,
    IndexError,
    OverflowError,
    NotImplementedError,
    RuntimeError,
)
# Errors of the machine, not of the archive.
_MACHINE = (errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EPERM, errno.EROFS, errno.EIO, errno.EMFILE, errno.EFBIG)


@dataclass(frozen=True)
class ArchiveMember:
    """A regular file of an archive."""

    name: str
    size: int
    content: IO[bytes]


def unpack(archive: Path, folder: Path) -> None:
    """Unpack all regular files of the archive into the folder; a DataError for a hostile or incomplete one."""
    limit = max(MIN_LIMIT, archive.stat().st_size * MAX_RATIO)
    total = 0
    try:
        if zipfile.is_zipfile(archive):
            members = _zip_members(archive)
        elif tarfile.is_tarfile(archive):
            members = _tar_members(archive)
        else:
            raise DataError(f"{archive.name}: incomplete, or not a zip or tar archive; unpack = true needs one")
        for number, member in enumerate(members):
            target = _target(archive, folder, member.name)
            total += _copy(member, target, limit - total, archive)
            if number >= MAX_MEMBERS:
                raise DataError(f"{archive.name}: more than {MAX_MEMBERS:,} files")
    except _DAMAGE as error:
        raise DataError(f"{archive.name}: damaged, or not a zip or tar archive: {error}") from None
    except OSError as error:
        if error.errno in _MACHINE:
            raise
        raise DataError(f"{archive.name}: cannot be unpacked: {error.strerror or error}") from None


def _zip_members(archive: Path) -> Iterator[ArchiveMember]:
    with zipfile.ZipFile(archive) as file:
        for info in file.infolist():
            kind = stat.S_IFMT(info.external_attr >> 16)
            if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
                raise DataError(f"{archive.name}: '{info.filename}' is a link or device; pack plain files only")
            if not info.is_dir():
                with file.open(info) as content:
                    yield ArchiveMember(info.filename, info.file_size, content)


def _tar_members(archive: Path) -> Iterator[ArchiveMember]:
    with tarfile.open(archive) as file:
        for info in file:
            if not (info.isreg() or info.isdir()):
                raise DataError(f"{archive.name}: '{info.name}' is a link or device; pack plain files only")
            if info.isreg() and (content := file.extractfile(info)) is not None:
                yield ArchiveMember(info.name, info.size, content)
        _check_end(file)


def _check_end(file: tarfile.TarFile) -> None:
    """A tar archive must end with zeros; the library accepts any end, even of an incomplete file."""
    source = file.fileobj
    if source is None:
        raise tarfile.ReadError("nothing to read")
    source.seek(file.offset)
    if source.read(tarfile.BLOCKSIZE) != bytes(tarfile.BLOCKSIZE):
        raise tarfile.ReadError("it is incomplete, or a member's header is damaged")
    remaining = MAX_PADDING_BYTES
    # Read on, so that the checksum of a compressed file is checked.
    while remaining > 0 and (block := source.read(1 << 20)):
        remaining -= len(block)


def _target(archive: Path, folder: Path, name: str) -> Path:
    path = PurePosixPath(name)
    unsafe = not path.parts or path.is_absolute() or ".." in path.parts or "\\" in name or "\0" in name
    if unsafe or any(":" in part for part in path.parts):
        raise DataError(f"{archive.name}: member {name!r} would be unpacked outside its folder; use relative names")
    target = folder.joinpath(*path.parts)
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        is_new = not target.exists()
    except (FileExistsError, NotADirectoryError):
        is_new = False
    if not is_new:
        raise DataError(f"{archive.name}: member {name!r} appears twice")
    return target


def _copy(member: ArchiveMember, target: Path, limit: int, archive: Path) -> int:
    """Copy the actual content, whatever size the archive claims, up to the limit."""
    with target.open("xb") as out:
        done = 0
        while block := member.content.read(1 << 20):
            done += len(block)
            if done > limit:
                raise DataError(f"{archive.name}: unpacks to more than {MAX_RATIO} times its size; refused")
            out.write(block)
    return done

"""Bring a script's data to where a run can use it: check it, download it, unpack it, once."""

from pathlib import Path

from harness.errors import DataError
from harness.files.digest import file_sha256, path_sha256
from harness.script.load import Script
from harness.script.schema import Data
from harness.site.cache import cached
from harness.site.content import Wanted, content
from harness.site.unpack import unpack


def provide(script: Script) -> dict[str, Path]:
    """Where each data entry of the script is: a file or a folder."""
    return {name: _provide_one(script, name, data) for name, data in script.file.data.items()}


def _provide_one(script: Script, name: str, data: Data) -> Path:
    try:
        source = _downloaded(data) if data.url is not None else _local(script, name, data)
        if not data.unpack:
            return source
        # Content-addressed, so that a changed archive is a new entry; unpacking checks nothing that is unpacked.
        return cached("unpacked", data.sha256 or file_sha256(source), lambda folder: unpack(source, folder))
    except DataError as error:
        raise DataError(f"{script.path}: data.{name}: {error}") from None


def _downloaded(data: Data) -> Path:
    return content(Wanted(data.sha256 or "", data.bytes, [data.url or ""]))


def _local(script: Script, name: str, data: Data) -> Path:
    source = script.data_path(data)
    if data.unpack and source.is_dir():
        raise DataError(f"'{data.path}' is a folder; leave out unpack = true")
    _check_links(source)
    if data.bytes is not None and source.is_file() and source.stat().st_size != data.bytes:
        raise DataError(f"'{data.path}' has {source.stat().st_size:,} bytes, the script says {data.bytes:,}")
    if data.sha256 is not None and (found := path_sha256(source)) != data.sha256:
        raise DataError(f"'{data.path}' has sha256 {found}, the script says {data.sha256}; restore the file")
    return source


def _check_links(source: Path) -> None:
    if source.is_dir():
        for path in source.rglob("*"):
            if path.is_symlink():
                raise DataError(f"'{path.name}' in '{source.name}' is a link; put the file itself there")

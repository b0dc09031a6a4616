"""The zip of an inspect_ai log. Its members are compressed with zstd (method 93), in older ones with deflate."""

import io
import struct
import sys
import zipfile
import zlib
from pathlib import Path
from typing import IO, Any

from harness.errors import ForeignError, MissingExtra

ZSTANDARD = 93
LARGEST_MEMBER = 1 << 30
# Logs shrink to a tenth or a fiftieth; what shrinks more than this was made to.
LARGEST_RATIO = 1000
ALWAYS_ALLOWED = 16 << 20
MOST_MEMBERS = 1_000_000
_LOCAL = struct.Struct("<4s5H3L2H")
_BROKEN = (
    zipfile.BadZipFile, zlib.error, struct.error, EOFError, NotImplementedError, RuntimeError, OSError, ValueError,
)  # fmt: skip


class Archive:
    """A zip for reading, with bounds on what a member may unpack to."""

    def __init__(self, path: Path) -> None:
        self._name = str(path)
        try:
            self._zip = zipfile.ZipFile(path)
        except _BROKEN as error:
            raise ForeignError(f"{path}: damaged or cut short: {error}") from None
        # Of members with the same name the last one counts, as everywhere.
        self._members = {info.filename: info for info in self._zip.infolist()}
        if len(self._members) > MOST_MEMBERS:
            self._zip.close()
            raise ForeignError(f"{path}: more than {MOST_MEMBERS:,} members")

    def __enter__(self) -> "Archive":
        return self

    def __exit__(self, *_: object) -> None:
        self._zip.close()

    def __contains__(self, name: str) -> bool:
        return name in self._members

    @property
    def names(self) -> list[str]:
        """All members."""
        return list(self._members)

    def read(self, name: str) -> bytes:
        """A member, whole; an error for one that is damaged, or too large to be meant."""
        info = self._members[name]
        place = f"{self._name}: {name}"
        allowed = min(LARGEST_MEMBER, ALWAYS_ALLOWED + LARGEST_RATIO * info.compress_size)
        if info.file_size > allowed:
            raise ForeignError(f"{place}: would unpack to {info.file_size:,} bytes; refused")
        try:
            with self._open(info) as content:
                # What is really there, not what the index says.
                data = content.read(info.file_size + 1)
        except MissingExtra:
            raise
        except _BROKEN as error:
            raise ForeignError(f"{place}: damaged: {error}") from None
        except Exception as error:  # zstandard's own exception, which is known only where it is installed
            raise ForeignError(f"{place}: damaged: {error}") from None
        if len(data) != info.file_size or zlib.crc32(data) != info.CRC:
            raise ForeignError(f"{place}: damaged: its size or checksum is not what the archive says")
        return data

    def _open(self, info: zipfile.ZipInfo) -> IO[bytes]:
        return _unpacked(self._raw(info), self._name) if info.compress_type == ZSTANDARD else self._zip.open(info)

    def _raw(self, info: zipfile.ZipInfo) -> bytes:
        """The compressed bytes of a member: behind a header of its own, whose name and extra field vary in length."""
        file: Any = self._zip.fp
        file.seek(info.header_offset)
        header = _LOCAL.unpack(file.read(_LOCAL.size))
        if header[0] != b"PK\x03\x04" or info.flag_bits & 1:
            raise zipfile.BadZipFile("no local header, or encrypted")
        file.seek(header[-2] + header[-1], io.SEEK_CUR)
        data: bytes = file.read(info.compress_size)
        return data


def _unpacked(packed: bytes, name: str) -> IO[bytes]:
    """A stream that decompresses as it is read, across the frames that long members have."""
    if sys.version_info >= (3, 14):
        from compression.zstd import ZstdFile

        return ZstdFile(io.BytesIO(packed))
    try:
        import zstandard
    except ImportError:
        hint = "pip install 'hate-harness[import]'"
        raise MissingExtra(f"{name}: its members are packed with zstd, which needs zstandard: {hint}") from None
    stream: Any = zstandard.ZstdDecompressor().stream_reader(io.BytesIO(packed), read_across_frames=True)
    opened: IO[bytes] = stream
    return opened

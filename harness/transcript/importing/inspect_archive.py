"""The zip of an inspect_ai log: a member for each sample, compressed with zstd (method 93), in older logs with deflate.

A hostile file must not fill the memory: what its members unpack to is limited.
"""

import io
import struct
import sys
import zipfile
import zlib
from pathlib import Path
from typing import IO, Any

from harness.errors import ForeignError

ZSTANDARD = 93
LARGEST_MEMBER = 1 << 30
# Logs shrink to a tenth or a fiftieth; anything that shrinks more than this is hostile.
LARGEST_RATIO = 1000
ALWAYS_ALLOWED = 16 << 20
MOST_MEMBERS = 1_000_000
_LOCAL = struct.Struct("<4s5H3L2H")
_BROKEN = (
    zipfile.BadZipFile, zlib.error, struct.error, EOFError, NotImplementedError, RuntimeError, OSError, ValueError,
)  # fmt: skip


class InspectArchive:
    """A zip for reading, with limits on the unpacked size of its members."""

    def __init__(self, path: Path) -> None:
        self._name = str(path)
        try:
            self._zip = zipfile.ZipFile(path)
        except _BROKEN as error:
            raise ForeignError(f"{path}: damaged or incomplete: {error}") from None
        # If several members have the same name, the last one counts, as in other tools.
        self._members = {info.filename: info for info in self._zip.infolist()}
        if len(self._members) > MOST_MEMBERS:
            self._zip.close()
            raise ForeignError(f"{path}: more than {MOST_MEMBERS:,} members")

    def __enter__(self) -> "InspectArchive":
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
        """The content of a member; an error if it is damaged or suspiciously large."""
        info = self._members[name]
        place = f"{self._name}: {name}"
        allowed = min(LARGEST_MEMBER, ALWAYS_ALLOWED + LARGEST_RATIO * info.compress_size)
        if info.file_size > allowed:
            raise ForeignError(f"{place}: would unpack to {info.file_size:,} bytes; refused")
        try:
            with self._open(info) as content:
                # The actual content, whatever size the index claims.
                data = content.read(info.file_size + 1)
        except Exception as error:  # from zipfile, zlib or zstandard, which are not all imported here
            raise ForeignError(f"{place}: damaged: {error}") from None
        if len(data) != info.file_size or zlib.crc32(data) != info.CRC:
            raise ForeignError(f"{place}: damaged: its size or checksum is not what the archive says")
        return data

    def _open(self, info: zipfile.ZipInfo) -> IO[bytes]:
        return _unpacked(self._raw(info)) if info.compress_type == ZSTANDARD else self._zip.open(info)

    def _raw(self, info: zipfile.ZipInfo) -> bytes:
        """The compressed bytes of a member, after its local header, whose name and extra field vary in length."""
        file: Any = self._zip.fp
        file.seek(info.header_offset)
        header = _LOCAL.unpack(file.read(_LOCAL.size))
        if header[0] != b"PK\x03\x04" or info.flag_bits & 1:
            raise zipfile.BadZipFile("no local header, or encrypted")
        file.seek(header[-2] + header[-1], io.SEEK_CUR)
        data: bytes = file.read(info.compress_size)
        return data


def _unpacked(packed: bytes) -> IO[bytes]:
    """A stream that decompresses as it is read; long members have several frames."""
    if sys.version_info >= (3, 14):
        from compression.zstd import ZstdFile

        return ZstdFile(io.BytesIO(packed))
    import zstandard

    stream: Any = zstandard.ZstdDecompressor().stream_reader(io.BytesIO(packed), read_across_frames=True)
    opened: IO[bytes] = stream
    return opened

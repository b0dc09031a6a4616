"""The forms of a transcript file: JSON Lines, the same compressed, or Parquet; and one made of another."""

import gzip
import hashlib
import io
import os
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import IO, Any, cast

from harness.errors import OutputError, TranscriptError
from harness.files.durable import move_into_place, sync_file, write_all
from harness.files.gzip_blocks import MAGIC as GZIP_MAGIC
from harness.files.gzip_blocks import zipped
from harness.files.outputs import is_stream

PARQUET_MAGIC = b"PAR1"
BLOCK = 1 << 20
# The end of the name of a file that is still being made.
SCRATCH = ".zipping"


class Form(StrEnum):
    """How a transcript is stored."""

    LINES = ".jsonl"
    GZIP = ".gz"
    PARQUET = ".parquet"

    @staticmethod
    def of(path: Path) -> "Form":
        """The form that a file's name asks for."""
        return next((form for form in (Form.GZIP, Form.PARQUET) if path.suffix == form), Form.LINES)


class BlockStream(io.RawIOBase):
    """Blocks that are made of a file as one stream of bytes; with it, the file is closed."""

    def __init__(self, file: IO[bytes], blocks: Iterator[bytes]) -> None:
        self._file = file
        self._blocks = blocks
        self._rest = memoryview(b"")

    def fileno(self) -> int:
        return self._file.fileno()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._rest:
            block = next(self._blocks, None)
            if block is None:
                return 0
            self._rest = memoryview(block)
        count = min(len(buffer), len(self._rest))
        buffer[:count], self._rest = self._rest[:count], self._rest[count:]
        return count

    def close(self) -> None:
        self._file.close()
        super().close()


def open_lines(path: Path) -> IO[bytes]:
    """The lines of a transcript file, whatever its form, which its first bytes tell."""
    with path.open("rb") as file:
        first = file.read(len(PARQUET_MAGIC))
    if first == PARQUET_MAGIC:
        from harness.transcript.parquet import open_parquet

        return open_parquet(path)
    return cast("IO[bytes]", gzip.open(path)) if first.startswith(GZIP_MAGIC) else path.open("rb")


def check_form(target: Path) -> None:
    """An error if files of this form cannot be written here: a file would take the place of a pipe or a device."""
    if is_stream(target):
        raise OutputError(f"{target}: a pipe or a device, and a transcript is stored in a file; choose another name")
    if Form.of(target) is Form.PARQUET:
        from harness.transcript.parquet import check_pyarrow

        check_pyarrow(target)


def store_as(lines: Path, target: Path) -> None:
    """Make a file of the form of `target` from a complete transcript in JSON Lines, on disk before it has its name."""
    scratch = target.with_name(target.name + SCRATCH)
    try:
        if Form.of(target) is Form.PARQUET:
            _write_parquet(lines, scratch)
        else:
            _write_lines(lines, scratch, packed=Form.of(target) is Form.GZIP)
        move_into_place(scratch, target)
    except BaseException:
        scratch.unlink(missing_ok=True)
        raise


def _write_lines(lines: Path, scratch: Path, *, packed: bool) -> None:
    with open_lines(lines) as source:
        fd = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        try:
            blocks = iter(lambda: source.read(BLOCK), b"")
            for block in zipped(blocks) if packed else blocks:
                write_all(fd, block)
            sync_file(fd)
        finally:
            os.close(fd)


def _write_parquet(lines: Path, scratch: Path) -> None:
    """Write it, and read it again: what cannot be turned back into the same bytes is not kept."""
    from harness.transcript.parquet import write_parquet

    with open_lines(lines) as source:
        write_parquet(source, scratch, str(lines))
    if lines_sha256(lines) != lines_sha256(scratch):
        raise TranscriptError(f"{lines}: cannot be stored as Parquet without a loss; store it as .jsonl.gz")
    with scratch.open("rb") as file:
        sync_file(file.fileno())


def lines_sha256(path: Path) -> str:
    """The SHA-256 of the lines of a transcript, whatever its form."""
    with open_lines(path) as stream:
        return hashlib.file_digest(cast("io.BufferedReader", stream), "sha256").hexdigest()


def is_parquet(path: Path) -> bool:
    """Whether the first bytes of a file are those of Parquet."""
    try:
        with path.open("rb") as file:
            return file.read(len(PARQUET_MAGIC)) == PARQUET_MAGIC
    except OSError:
        return False


def is_parquet_transcript(path: Path) -> bool:
    """Whether a Parquet file has a transcript's header in its metadata, which is at its end."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - BLOCK))
            return b"hate.header" in file.read()
    except OSError:
        return False

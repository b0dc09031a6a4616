"""Write to a site's folder so that readers see all or nothing, also when the writer is killed or the power fails."""

import contextlib
import hashlib
import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from filelock import FileLock, Timeout

from harness.errors import OutputError
from harness.files.digest import file_sha256
from harness.site.layout import TOP, Ref, file_path, index_path, signature_path
from harness.site.publishing.shelf import Shelf

# Work in progress and the lock; nobody reads it.
WORKSHOP = ".publishing"
LONGEST_WAIT = 3600
BLOCK = 1 << 20


@contextmanager
def locked(root: Path) -> Iterator["Deposit"]:
    """The folder for one publisher alone; what a killed one left behind is cleared away."""
    workshop = root / WORKSHOP
    try:
        workshop.mkdir(parents=True, exist_ok=True)
        with FileLock(workshop / "lock", timeout=LONGEST_WAIT):
            for left in workshop.glob("*.part"):
                left.unlink(missing_ok=True)
            yield Deposit(root)
    except Timeout:
        raise OutputError(f"{root}: another publisher has been at work for an hour; see {workshop / 'lock'}") from None
    except OSError as error:
        raise OutputError(f"{error.filename or root}: {error.strerror or error}; nothing was published") from None


@dataclass(frozen=True)
class Deposit:
    """A site's folder that can be written to."""

    root: Path

    def put(self, shelf: Shelf) -> None:
        """Everything new but the top index: nobody sees it yet."""
        for ref, source in shelf.files.items():
            self._put_file(ref, source)
        for ref, data in shelf.indexes.items():
            self._put_data(index_path(ref.sha256), data)

    def put_top(self, data: bytes, signature: bytes | None) -> None:
        """From here on readers see the change. The signature comes first: it has the name of what it signs."""
        if signature is not None:
            self._put_data(signature_path(hashlib.sha256(data).hexdigest()), signature)
        self._put_data(TOP, data)
        _sync_folder(self.root)

    def _put_file(self, ref: Ref, source: Path) -> None:
        target = self.root / file_path(ref.sha256)
        if _is_whole(target, ref):
            return
        with self._part(target) as part:
            digest = hashlib.sha256()
            with source.open("rb") as reader, part.open("xb") as writer:
                while block := reader.read(BLOCK):
                    digest.update(block)
                    writer.write(block)
                _sync(writer)
            if digest.hexdigest() != ref.sha256:
                raise OutputError(f"{source}: changed while it was published; nothing was published, try again")

    def _put_data(self, name: str, data: bytes) -> None:
        target = self.root / name
        with contextlib.suppress(OSError):
            if target.read_bytes() == data:
                return
        with self._part(target) as part, part.open("xb") as writer:
            writer.write(data)
            _sync(writer)

    @contextmanager
    def _part(self, target: Path) -> Iterator[Path]:
        """A new file that takes its place when it is whole."""
        part = self.root / WORKSHOP / f"{uuid.uuid4().hex}.part"
        try:
            yield part
            if not target.parent.is_dir():
                target.parent.mkdir(parents=True, exist_ok=True)
                _sync_folder(target.parent.parent)
            part.replace(target)
            _sync_folder(target.parent)
        finally:
            part.unlink(missing_ok=True)


def _is_whole(path: Path, ref: Ref) -> bool:
    try:
        return path.stat().st_size == ref.bytes and file_sha256(path) == ref.sha256
    except OSError:
        return False


def _sync(file: IO[bytes]) -> None:
    file.flush()
    with contextlib.suppress(OSError):  # some file systems cannot
        os.fsync(file.fileno())


def _sync_folder(folder: Path) -> None:
    """So that the name is on disk too; Windows has no such thing."""
    with contextlib.suppress(OSError):
        fd = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)

"""Guard the data of a test during a run: an algorithm may read it, and whatever else it does to it is found out."""

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from harness.engine.plan import Plan
from harness.errors import DataError, DataSpoilt, HateError, Interrupted
from harness.files.digest import Stamps, path_sha256, stamps
from harness.script.load import Script
from harness.site.cache import (
    FILES,
    UNPACKED,
    Listing,
    cache_folder,
    changed_files,
    discard_damaged,
    read_listing,
    write_listing,
)
from harness.site.fetch import fetch_data
from harness.transcript.write import TranscriptWriter

REMEDY = "an algorithm may only read its input: copy a file before you change it"


@dataclass(frozen=True)
class _Entry:
    """Data in the cache, which many runs share; it can be made again."""

    kind: str
    folder: Path
    listing: Listing

    @staticmethod
    def of(path: Path) -> "_Entry | None":
        """The entry of the cache that a path belongs to; None if it is elsewhere."""
        for kind in (UNPACKED, FILES):
            root = cache_folder() / kind
            if path.is_relative_to(root) and path != root:
                folder = root / path.relative_to(root).parts[0]
                listing = read_listing(folder)
                return None if listing is None else _Entry(kind, folder, listing)
        return None

    def changes(self) -> list[str]:
        now = stamps(self.folder)
        if now == {name: file.stamp for name, file in self.listing.items()}:
            return []
        # Written anew, even with the old content: what was there in the meantime is not known.
        anew = [
            n for n, f in self.listing.items() if self.kind == UNPACKED and n in now and now[n].is_replaced(f.stamp)
        ]
        return sorted({*changed_files(self.folder, self.listing), *map(os.fsdecode, anew)})


@dataclass(frozen=True)
class _Local:
    """A file or folder beside the script, which belongs to the user."""

    path: Path
    stamps: Stamps
    sha256: str

    def changes(self) -> list[str]:
        """Files that are other or gone. New ones do no harm to this run, and give the test another digest."""
        now = stamps(self.path)
        other = [name for name, stamp in self.stamps.items() if now.get(name) != stamp]
        if not other:
            return []
        try:
            same = now.keys() == self.stamps.keys() and path_sha256(self.path) == self.sha256
        except OSError:
            same = False
        return [] if same else sorted(os.fsdecode(name) or self.path.name for name in other)


class DataGuard:
    """Knows the data of a test as it was before the run."""

    def __init__(self, plan: Plan) -> None:
        self._script = plan.cases.script
        # What has been written of the run, which counts for nothing if the data was spoilt.
        self.writer: TranscriptWriter | None = None
        self._words: str | None = None
        paths = {f"data.{name}": path for name, path in plan.cases.data_paths.items()}
        entries = {name: _Entry.of(path) for name, path in paths.items()}
        self._entries = {name: entry for name, entry in entries.items() if entry is not None}
        self._local = dict(_local(self._script))

    def check(self) -> None:
        """Raise a DataSpoilt if any file is not what it was; call it when the algorithm has ended."""
        if words := self.spoilt():
            error = DataSpoilt(words)
            error.note = self._set_records_aside()
            raise error

    def spoilt(self) -> str:
        """What was changed, in words; empty if nothing was. The cache is mended at once."""
        if self._words is None:
            data: dict[str, _Entry | _Local] = {**self._entries, **self._local}
            changed: dict[str, list[str]] = {}
            for name, part in data.items():
                try:
                    changed[name] = part.changes()
                except OSError as error:  # no longer readable, or a path too long to be named
                    changed[name] = [os.fsdecode(error.filename or "")]
            self._words = "; ".join(
                f"{name}: {'1 file was' if len(files) == 1 else f'{len(files):,} files were'} changed during the run, "
                f"such as '{files[0]}'"
                for name, files in changed.items()
                if files
            )
            damaged = [entry for name, entry in self._entries.items() if changed[name]]
            if damaged:
                self._words += f"; {self._mend(damaged)}"
            if self._words:
                self._words += f"; {REMEDY}"
        return self._words

    def _mend(self, damaged: list[_Entry]) -> str:
        try:
            for entry in damaged:
                # The algorithm may have changed the listing as well.
                write_listing(entry.folder, entry.listing)
                discard_damaged(entry.kind, entry.folder.name)
            fetch_data(self._script)
        except (HateError, OSError) as error:
            return f"the cache could not be mended: {error}"
        return "the cache has been mended"

    def _set_records_aside(self) -> str:
        if self.writer is None:
            return ""
        count = self.writer.counts.tests
        return f"{count:,} records, which count for nothing, are in {self.writer.set_aside()}"

    def note(self, error: HateError | Interrupted) -> None:
        """Tell of spoilt data in the note of another error."""
        with contextlib.suppress(DataError, OSError):
            if words := self.spoilt():
                error.note = "; ".join(filter(None, (words, self._set_records_aside())))


@contextlib.contextmanager
def guarded(plan: Plan) -> Iterator[DataGuard]:
    """Within it, an algorithm may run. Call `check` before its results are taken for valid."""
    guard = DataGuard(plan)
    try:
        yield guard
    except DataSpoilt:
        raise
    except (HateError, Interrupted) as error:
        guard.note(error)
        raise


def _local(script: Script) -> Iterator[tuple[str, _Local]]:
    """The script, its tables, and its data beside it."""
    for name, sha256 in script.file_digests.items():
        path = script.folder / name
        if os.path.lexists(path):  # not the address of a download
            yield f"'{name}'", _Local(path, stamps(path), sha256)

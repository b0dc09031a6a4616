"""Write transcripts that are made of others: completely or not at all."""

import contextlib
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from harness.engine.target import create, default_path, forced_path, has_begun
from harness.files.outputs import exists_error
from harness.model import Trial
from harness.transcript.format import Header
from harness.transcript.importing.convert import store
from harness.transcript.write import TranscriptWriter


def store_whole(
    header: Header, trials: Iterable[Trial], path: Path | None, *, force: bool, spared: Collection[Path] = ()
) -> Path:
    """Write a transcript, to the first free default path where none is named; returns its path.

    With `force`, to the first default path, unless that is to be `spared`: this command has written or read it.
    """
    if path is None and force:
        forced = forced_path(header)
        path = None if forced.resolve() in {path.resolve() for path in spared} else forced
    if path is not None and has_begun(path):
        if not force:
            raise exists_error(path)
        # The old one stays until the new one is whole.
        return store(TranscriptWriter.create_beside(path, header, ".import"), trials)
    with no_folder_left((default_path(header.test.name, header.algorithm.name) if path is None else path).parent):
        return store(create(path, header, force=False), trials)


@contextlib.contextmanager
def no_folder_left(folder: Path) -> Iterator[None]:
    """After an error within it nothing stays behind of a folder, and those above it, that were made for a file."""
    missing = [parent for parent in (folder, *folder.parents) if not parent.exists()]
    try:
        yield
    except BaseException:
        with contextlib.suppress(OSError):
            for parent in missing:
                parent.rmdir()
        raise

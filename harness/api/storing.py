"""Write transcripts that are made of others: completely or not at all."""

from collections.abc import Sequence
from pathlib import Path

from harness.engine.target import create, has_begun
from harness.errors import OutputError
from harness.model import Trial
from harness.transcript.format import Header
from harness.transcript.importing.convert import store
from harness.transcript.write import TranscriptWriter


def store_whole(header: Header, trials: Sequence[Trial], path: Path | None, *, force: bool) -> Path:
    """Write a transcript, to the first free default path where none is named; returns its path."""
    if path is None or not has_begun(path):
        return store(create(path, header, force=False).writer, trials)
    if not force:
        raise OutputError(f"{path}: exists; --force overwrites it")
    # The old one stays until the new one is whole.
    return store(TranscriptWriter.create_beside(path, header, ".import"), trials)

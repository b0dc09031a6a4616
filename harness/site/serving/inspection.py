"""Transcripts of strangers: checked for what would harm those who read them later."""

from pathlib import Path

from msgspec import UNSET

from harness.errors import DataError, TranscriptError
from harness.site.inflate import BadGzip, gunzip_if_packed
from harness.site.publishing.offers import TranscriptOffer, offer_transcript
from harness.site.serving.binding import Cases, check_bound
from harness.transcript.read import open_transcript

BLOCK = 1 << 20
# Of all records together: a reader keeps a column for each.
MOST_COLUMNS = 200
LONGEST_LINE = 1 << 18


def inspected(path: Path, *, name: str, by: str, largest: int) -> TranscriptOffer:
    """A transcript that can be published; a HateError says what is wrong with it."""
    _check_size(path, largest)
    offer = offer_transcript(path, name=name, by=by)
    if isinstance(offer.header.limit, int) or offer.header.part:
        raise TranscriptError(f"{path}: a run with --limit or --train-folds; submit a whole one")
    return offer


def _check_size(path: Path, largest: int) -> None:
    """Neither a gzip bomb nor a line without end."""
    total, line = 0, 0
    with path.open("rb") as file:
        try:
            for block in gunzip_if_packed(iter(lambda: file.read(BLOCK), b"")):
                total += len(block)
                parts = block.split(b"\n")
                longest = max(line + len(parts[0]), *map(len, parts))
                line = len(parts[-1]) + (line if len(parts) == 1 else 0)
                if total > largest:
                    raise DataError(f"{path}: more than {largest:,} bytes when unpacked")
                if longest > LONGEST_LINE:
                    raise DataError(f"{path}: a line of more than {LONGEST_LINE:,} bytes")
        except BadGzip as error:
            raise TranscriptError(f"{path}: {error}") from None


def check_records(path: Path, repeat: int, cases: Cases | None) -> None:
    """Every case once, or as often as the run says; those of the test; no more columns than a table can have."""
    seen: set[tuple[str, int]] = set()
    columns: set[str] = set()
    with open_transcript(path) as reader:
        for block in reader.blocks():
            for trial in block:
                key = (trial.id, trial.repeat if isinstance(trial.repeat, int) else 1)
                if key in seen or key[1] > repeat:
                    raise TranscriptError(f"{path}: case '{trial.id[:100]}' is there twice")
                if cases is not None:
                    check_bound(trial, cases, str(path))
                seen.add(key)
                columns.update(() if trial.columns is UNSET else trial.columns)
            if len(columns) > MOST_COLUMNS:
                raise TranscriptError(f"{path}: more than {MOST_COLUMNS} columns")

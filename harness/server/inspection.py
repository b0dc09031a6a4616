"""Checks of submitted transcripts: first their size, then what their first and last lines say, then their records."""

import hashlib
from pathlib import Path

import msgspec
from msgspec import UNSET

from harness.errors import DataError, TranscriptError
from harness.files.gunzip import BadGzip, gunzip_if_packed
from harness.model import Counts, Trial
from harness.server.state import SiteState, find_test
from harness.site.audit import judge
from harness.site.candidates import TranscriptCandidate, read_transcript_candidate
from harness.site.changes import NameTaken
from harness.transcript.format import Header
from harness.transcript.read import open_transcript

BLOCK = 1 << 20
# In all records together: a reader allocates an array for each.
MAX_COLUMNS = 200
MAX_LINE_BYTES = 1 << 18
# In one submission, and lines besides them: header, end, and a few blank lines that a careless tool may add.
MAX_RECORDS = 5_000_000
SPARE_LINES = 100
_encoder = msgspec.json.Encoder()


def inspect_transcript(path: Path, *, name: str, by: str, largest: int) -> TranscriptCandidate:
    """A transcript that can be published; a HateError says what is wrong with it."""
    check_size(path, largest)
    candidate = read_transcript_candidate(path, name=name, by=by)
    if isinstance(candidate.header.limit, int) or candidate.header.part:
        raise TranscriptError(f"{path}: a run of a part of its test, as with --limit; submit a complete run")
    return candidate


def check_size(path: Path, largest: int) -> Header:
    """Refuse decompression bombs, endless lines, and more lines than the header promises records; the header."""
    with open_transcript(path) as reader:
        header = reader.header
    repeat = header.repeat if isinstance(header.repeat, int) else 1
    most = MAX_RECORDS if header.test.cases is None else min(header.test.cases * repeat, MAX_RECORDS)
    total = lines = last = 0
    with path.open("rb") as file:
        try:
            for block in gunzip_if_packed(iter(lambda: file.read(BLOCK), b"")):
                total += len(block)
                lines += block.count(b"\n")
                if total > largest:
                    raise DataError(f"{path}: more than {largest:,} bytes when unpacked")
                if lines > most + SPARE_LINES:
                    raise DataError(
                        f"{path}: more lines than records; a complete run has {most + SPARE_LINES:,} at most"
                    )
                first, *others = map(len, block.split(b"\n"))
                # The last line of a block may go on in the next.
                longest = max(last + first, *others, 0)
                last = others[-1] if others else last + first
                if longest > MAX_LINE_BYTES:
                    raise DataError(f"{path}: a line of more than {MAX_LINE_BYTES:,} bytes")
        except BadGzip as error:
            raise TranscriptError(f"{path}: {error}") from None
    return header


def judge_submission(state: SiteState, candidate: TranscriptCandidate) -> TranscriptCandidate:
    """A submission that was judged again; its records are read once.

    A NameTaken error if someone else has submitted the same: a file is published under its owner's name. A
    TranscriptError if the records have more columns than a reader should make room for.
    """
    test = find_test(state, f"{candidate.header.test.name}@{candidate.header.test.version}")
    rivals = [
        entry
        for entry in (() if test is None else state.catalogue.transcripts(test.index))
        if entry.version == candidate.header.test.version and entry.by != candidate.by
        if Counts(entry.TP, entry.TN, entry.FP, entry.FN, entry.ER) == candidate.counts
    ]
    columns: set[str] = set()
    own = hashlib.sha256()

    def watch(block: list[Trial]) -> None:
        columns.update(*(trial.columns for trial in block if trial.columns is not UNSET))
        if len(columns) > MAX_COLUMNS:
            raise TranscriptError(f"{candidate.path}: more than {MAX_COLUMNS} columns")
        if rivals:
            own.update(_encoder.encode_lines(block))

    judged = judge(state.catalogue, candidate, watch=watch)
    for entry in rivals:
        if records_sha256(state.catalogue.store.file(entry.file)) == own.hexdigest():
            whose = entry.by or "the owner of this site"
            raise NameTaken(f"{candidate.path}: {whose} has published the same records as '{entry.name}'")
    return judged


def records_sha256(path: Path) -> str:
    """The hash of what a transcript says about its cases, however it is written and compressed."""
    digest = hashlib.sha256()
    with open_transcript(path) as reader:
        for block in reader.blocks():
            digest.update(_encoder.encode_lines(block))
    return digest.hexdigest()

"""Checks of submitted transcripts: their size, what their first and last lines say, and their records.

The server makes them of what arrives, and `hate submit` of what it sends, on what the site publishes. This module needs
none of the libraries that serving needs.
"""

import hashlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import msgspec
from msgspec import UNSET

from harness.errors import DataError, TranscriptError
from harness.files.gzip_blocks import BadGzip, gunzip_if_packed
from harness.model import Counts, Trial
from harness.server.state import SiteState, find_test
from harness.site.audit import judge
from harness.site.blind import read_blind_answers
from harness.site.catalogue import SiteTest
from harness.site.changes import NameTaken, SiteDraft, name_owner, plan_change
from harness.site.config import SiteConfig, site_config
from harness.site.local_runs import transcript_stem
from harness.site.local_tests import cases_here
from harness.site.publish_candidates import TranscriptCandidate, check_name, read_transcript_candidate
from harness.site.sites import open_site
from harness.site.upload import SubmissionReceipt, Upload, send
from harness.transcript.format import Header, now
from harness.transcript.read import open_transcript

BLOCK = 1 << 20
# In all records together: a reader allocates an array for each.
MAX_COLUMNS = 200
MAX_LINE_BYTES = 1 << 18
# In one submission, and lines besides them: header, end, and a few blank lines that a careless tool may add.
MAX_RECORDS = 5_000_000
SPARE_LINES = 100
_encoder = msgspec.json.Encoder()


def inspect_transcript(path: Path, *, name: str, by: str, max_bytes: int) -> TranscriptCandidate:
    """A transcript that can be published; a HateError says what is wrong with it."""
    check_size(path, max_bytes)
    candidate = read_transcript_candidate(path, name=name, by=by)
    if isinstance(candidate.header.limit, int) or candidate.header.part:
        raise TranscriptError(f"{path}: a run of a part of its test, as with --limit; submit a complete run")
    return candidate


def check_size(path: Path, max_bytes: int) -> Header:
    """Refuse decompression bombs, endless lines, and more lines than the header promises records; the header."""
    with open_transcript(path) as reader:
        header = reader.header
    repeat = header.repeat if isinstance(header.repeat, int) else 1
    max_records = MAX_RECORDS if header.test.cases is None else min(header.test.cases * repeat, MAX_RECORDS)
    total = lines = last = 0
    with path.open("rb") as file:
        try:
            for block in gunzip_if_packed(iter(lambda: file.read(BLOCK), b"")):
                total += len(block)
                lines += block.count(b"\n")
                if total > max_bytes:
                    raise DataError(f"{path}: more than {max_bytes:,} bytes when unpacked")
                if lines > max_records + SPARE_LINES:
                    raise DataError(
                        f"{path}: more lines than records; a complete run has {max_records + SPARE_LINES:,} at most"
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
    digest = hashlib.sha256()

    def watch(block: list[Trial]) -> None:
        columns.update(*(trial.columns for trial in block if trial.columns is not UNSET))
        if len(columns) > MAX_COLUMNS:
            raise TranscriptError(f"{candidate.path}: more than {MAX_COLUMNS} columns")
        if rivals:
            digest.update(_encoder.encode_lines(block))

    judged = judge(state.catalogue, candidate, watch=watch)
    for entry in rivals:
        if records_sha256(state.catalogue.store.file(entry.file)) == digest.hexdigest():
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


# Only the server knows its limit.
MAX_BYTES = 1 << 40


@dataclass(frozen=True)
class CheckedTranscript:
    """A transcript that the server should accept."""

    path: Path
    # TEST@VERSION.
    test: str
    name: str
    # Why others may not believe it.
    notes: tuple[str, ...] = ()

    @property
    def full_name(self) -> str:
        """TEST@VERSION/NAME."""
        return f"{self.test}/{self.name}"


@dataclass(frozen=True)
class SubmissionClient:
    """A site, and who hands something in."""

    address: str
    token: str

    @property
    def submitter(self) -> str:
        """The name that the token belongs to."""
        return self.token.partition(":")[0]

    @cached_property
    def site(self) -> SiteConfig:
        return site_config(self.address)

    @cached_property
    def _opened(self) -> tuple[SiteState, str]:
        catalogue, note = open_site(self.site)
        return SiteState("", catalogue), note

    @property
    def state(self) -> SiteState:
        return self._opened[0]

    @property
    def note(self) -> str:
        """What the user should know about the site."""
        return self._opened[1]

    def check(self, path: Path, name: str) -> CheckedTranscript:
        """What the server will check; a HateError says what is wrong. Without a name, it is the file's."""
        with open_transcript(path) as reader:
            run = reader.header.test
        name, full_name = name or transcript_stem(path.name), f"{run.name}@{run.version}"
        test, catalogue = find_test(self.state, full_name), self.state.catalogue
        if test is not None and test.version.blind:
            return self._check_answers(path, name, test)
        candidate = inspect_transcript(path, name=name, by=self.submitter, max_bytes=MAX_BYTES)
        judged = judge_submission(self.state, candidate)
        change = plan_change(SiteDraft(catalogue.store), catalogue.top, [judged], now())
        return CheckedTranscript(path, full_name, candidate.name, tuple(change.notes))

    def _check_answers(self, path: Path, name: str, test: SiteTest) -> CheckedTranscript:
        """The answers of a blind run are complete, and the name is free; their worth is not known here."""
        check_size(path, MAX_BYTES)
        check_name(name, path)
        public = cases_here(test.script())
        if public is None:
            raise DataError(
                f"{test.label}: its cases are in data that is not here; `hate fetch {test.full_name}` first"
            )
        read_blind_answers(path, public)
        if name_owner(self.state.catalogue, name) not in (None, self.submitter):
            raise NameTaken(f"{path}: the name '{name}' belongs to someone else; choose another with --name")
        return CheckedTranscript(path, test.full_name, name)

    def send(self, checked: CheckedTranscript) -> SubmissionReceipt:
        """Send it; the server has the last word."""
        return send(Upload(checked.path, self.site.address, checked.test, checked.name, self.token))

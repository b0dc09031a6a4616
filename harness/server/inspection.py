"""Checks of submitted transcripts: sizes, records, and whether they belong to the test that they name."""

import hashlib
import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
from msgspec import UNSET

from harness.errors import DataError, TranscriptError
from harness.files.gunzip import BadGzip, gunzip_if_packed
from harness.model import Counts, Trial
from harness.script.cases import load_cases
from harness.server.state import SiteState, find_test
from harness.site.candidates import TranscriptCandidate, read_transcript_candidate
from harness.site.changes import NameTaken
from harness.site.fetch import fetch_data
from harness.site.published import SiteTest
from harness.transcript.read import open_transcript

# For larger tests, only the digest and the number of cases are checked: reading all cases would take too long.
LARGEST_RELEASE = 200 << 20
MOST_CASES = 1_000_000
MOST_TESTS = 4
BLOCK = 1 << 20
# In all records together: a reader allocates an array for each.
MOST_COLUMNS = 200
LONGEST_LINE = 1 << 18
# In one submission, and lines besides them: header, end, and a few blank lines that a careless tool may add.
MOST_RECORDS = 5_000_000
SPARE_LINES = 100
_encoder = msgspec.json.Encoder()


@dataclass(frozen=True)
class CaseFacts:
    """What the test says about a case; its record must agree."""

    positive: bool
    # As in records: UNSET if the test has no such group.
    stratum: Any
    psu: Any


CaseFactsById = dict[str, CaseFacts]


@dataclass
class CaseFactsCache:
    """Facts about the cases of a few tests, cached in memory."""

    _facts: OrderedDict[str, CaseFactsById | None] = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def of(self, state: SiteState, name: str, version: str) -> CaseFactsById | None:
        """The cases of a test; None if there is no such test, or if reading it needs a download or too much time."""
        test = find_test(state, f"{name}@{version}") if version else None
        if test is None:
            return None
        digest = test.version.digest
        with self._lock:
            if digest not in self._facts:
                self._facts[digest] = _read_case_facts(test)
            while len(self._facts) > MOST_TESTS:
                self._facts.popitem(last=False)
            return self._facts[digest]


def _read_case_facts(test: SiteTest) -> CaseFactsById | None:
    if sum(file.bytes for file in test.release.files) > LARGEST_RELEASE or (test.version.cases or 0) > MOST_CASES:
        return None
    script = test.script()
    if any(data.url is not None for data in script.file.data.values()):
        return None
    cases = load_cases(script, fetch_data(script))
    return {
        case.id: CaseFacts(
            case.positive,
            UNSET if cases.stratum is None else cases.stratum(case),
            UNSET if cases.psu is None else cases.psu(case),
        )
        for case in cases
    }


def check_case(trial: Trial, cases: CaseFactsById, name: str) -> None:
    """A TranscriptError if a record belongs to no case of the test, or contradicts it."""
    known = cases.get(trial.id)
    if known is None:
        raise TranscriptError(f"{name}: the test has no case '{trial.id[:100]}'")
    if trial.outcome.positive != known.positive:
        sign = "positive" if known.positive else "negative"
        raise TranscriptError(f"{name}: case '{trial.id[:100]}' is {sign} in the test, {trial.outcome.value} here")
    for group in ("stratum", "psu"):
        if getattr(trial, group) != getattr(known, group):
            raise TranscriptError(f"{name}: case '{trial.id[:100]}' has another {group} in the test")


def inspect_transcript(path: Path, *, name: str, by: str, largest: int) -> TranscriptCandidate:
    """A transcript that can be published; a HateError says what is wrong with it."""
    check_size(path, largest)
    candidate = read_transcript_candidate(path, name=name, by=by)
    if isinstance(candidate.header.limit, int) or candidate.header.part:
        raise TranscriptError(f"{path}: a run with --limit, --train-folds or --no-vary; submit a complete run")
    return candidate


def check_size(path: Path, largest: int) -> None:
    """Refuse decompression bombs, endless lines, and more lines than the header promises records."""
    with open_transcript(path) as reader:
        header = reader.header
    repeat = header.repeat if isinstance(header.repeat, int) else 1
    most = MOST_RECORDS if header.test.cases is None else min(header.test.cases * repeat, MOST_RECORDS)
    size = _UnpackedSize(str(path), largest, most + SPARE_LINES)
    with path.open("rb") as file:
        try:
            for block in gunzip_if_packed(iter(lambda: file.read(BLOCK), b"")):
                size.add(block)
        except BadGzip as error:
            raise TranscriptError(f"{path}: {error}") from None


@dataclass
class _UnpackedSize:
    """How much has been unpacked so far; too much is a DataError at once, before anything is parsed."""

    name: str
    most_bytes: int
    most_lines: int
    total: int = 0
    lines: int = 0
    # The length of the last line, which may continue.
    last: int = 0

    def add(self, block: bytes) -> None:
        self.total += len(block)
        self.lines += block.count(b"\n")
        if self.total > self.most_bytes:
            raise DataError(f"{self.name}: more than {self.most_bytes:,} bytes when unpacked")
        if self.lines > self.most_lines:
            raise DataError(f"{self.name}: more lines than records; a complete run has {self.most_lines:,} at most")
        parts = block.split(b"\n")
        longest = max(self.last + len(parts[0]), *map(len, parts))
        self.last = len(parts[-1]) + (self.last if len(parts) == 1 else 0)
        if longest > LONGEST_LINE:
            raise DataError(f"{self.name}: a line of more than {LONGEST_LINE:,} bytes")


def check_original(state: SiteState, candidate: TranscriptCandidate) -> None:
    """A NameTaken error if someone else has submitted the same records: a file is published under its owner's name."""
    test = find_test(state, f"{candidate.header.test.name}@{candidate.header.test.version}")
    if test is None:
        return
    own = None
    for entry in state.catalogue.transcripts(test.index):
        counts = Counts(entry.TP, entry.TN, entry.FP, entry.FN, entry.ER)
        if entry.version != test.version.version or entry.by == candidate.by or counts != candidate.counts:
            continue
        own = own or records_sha256(candidate.path)
        if records_sha256(state.catalogue.store.file(entry.file)) == own:
            whose = entry.by or "the owner of this site"
            raise NameTaken(f"{candidate.path}: {whose} has published the same records as '{entry.name}'")


def records_sha256(path: Path) -> str:
    """The hash of what a transcript says about its cases, however it is written and compressed."""
    digest = hashlib.sha256()
    with open_transcript(path) as reader:
        for block in reader.blocks():
            digest.update(_encoder.encode_lines(block))
    return digest.hexdigest()


def check_records(path: Path, repeat: int, cases: CaseFactsById | None) -> None:
    """Check that every case belongs to the test and occurs as often as it should, and that there are few columns."""
    seen: set[tuple[str, int]] = set()
    columns: set[str] = set()
    with open_transcript(path) as reader:
        for block in reader.blocks():
            for trial in block:
                key = (trial.id, trial.repeat if isinstance(trial.repeat, int) else 1)
                if key in seen or key[1] > repeat:
                    raise TranscriptError(f"{path}: case '{trial.id[:100]}' appears twice")
                if cases is not None:
                    check_case(trial, cases, str(path))
                seen.add(key)
                columns.update(() if trial.columns is UNSET else trial.columns)
            if len(columns) > MOST_COLUMNS:
                raise TranscriptError(f"{path}: more than {MOST_COLUMNS} columns")

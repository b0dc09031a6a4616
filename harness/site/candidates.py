"""Tests and transcripts to publish, checked before anything is written."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec

from harness.errors import HateError, ScriptError, TranscriptError, UsageError
from harness.files.digest import file_sha256
from harness.model import Counts
from harness.script.cases import load_cases
from harness.script.library import find_script
from harness.script.load import SUFFIX, Script, load_script
from harness.site.fetch import fetch_data
from harness.site.layout import (
    FORMAT,
    LONGEST_SYNOPSIS,
    MOST_FILES,
    Ref,
    Release,
    ReleaseFile,
    TranscriptName,
    check_inside,
)
from harness.site.local_runs import transcript_stem
from harness.transcript.format import Header
from harness.transcript.read import summarise

# Files beside a script that it need not name: the origin of the data, and its licence.
DOCUMENT_PATTERNS = ("*.md", "LICENSE*", "LICENCE*", "NOTICE*", "README*", "CITATION*")


@dataclass(frozen=True)
class TestCandidate:
    """A valid test."""

    release: Release
    synopsis: str
    task: str
    cases: int
    # Where each file of the release is.
    sources: dict[Ref, Path]

    @property
    def test_name(self) -> str:
        """The name of the test."""
        return self.release.name

    @property
    def label(self) -> str:
        """Its name and version, for messages."""
        return f"{self.release.name} {self.release.version}"


@dataclass(frozen=True)
class TranscriptCandidate:
    """A valid, complete transcript."""

    name: str
    path: Path
    ref: Ref
    header: Header
    counts: Counts
    by: str = ""

    @property
    def test_name(self) -> str:
        """The name of the test that was run."""
        return self.header.test.name

    @property
    def repeat(self) -> int:
        """The number of answers for each case."""
        return self.header.repeat if isinstance(self.header.repeat, int) else 1


Candidate = TestCandidate | TranscriptCandidate


def read_candidate(path: Path, *, name: str = "", by: str = "") -> Candidate:
    """The test (a folder or script) or transcript at a path; `name` renames a transcript."""
    if path.is_dir() or path.suffix == ".toml":
        if name:
            raise UsageError("--name is for transcripts; the name of a test is in its script")
        return read_test_candidate(path)
    return read_transcript_candidate(path, name=name, by=by)


def read_test_candidate(path: Path) -> TestCandidate:
    """A test, with its data fetched and every case checked."""
    if path.is_dir() and not any(path.glob(f"*{SUFFIX}")):
        raise ScriptError(f"{path}: no script (*{SUFFIX}) in this folder; see `hate new script`")
    script = load_script(find_script(str(path.absolute())))
    cases = len(load_cases(script, fetch_data(script)))
    paths = sorted(_files(script))
    if len(paths) > MOST_FILES:
        raise ScriptError(f"{script.path}: {len(paths):,} files, more than {MOST_FILES:,}; pack its data as a zip")
    files, sources = [], {}
    for path_inside in paths:
        check_inside(path_inside, str(script.path))
        source = script.folder / path_inside
        ref = Ref(file_sha256(source), source.stat().st_size)
        files.append(ReleaseFile(path_inside, ref.sha256, ref.bytes))
        sources[ref] = source
    release = Release("release", FORMAT, script.name, script.version, script.digest, script.path.name, files)
    return TestCandidate(release, _shortened(script.file.test.synopsis), script.task.name, cases, sources)


def _files(script: Script) -> set[str]:
    """Every file of a test, relative to its folder, except data that has a URL."""
    named = {script.path.name, *script.tables}
    for data in script.file.data.values():
        if data.path is not None:
            named |= set(_below(script.folder, data.path))
    documents = {path.name for pattern in DOCUMENT_PATTERNS for path in script.folder.glob(pattern) if path.is_file()}
    return {str(Path(name)) for name in named} | documents


def _below(folder: Path, name: str) -> Iterator[str]:
    path = folder / name
    if path.is_dir():
        yield from (file.relative_to(folder).as_posix() for file in path.rglob("*") if file.is_file())
    else:
        yield name


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_SYNOPSIS else line[: LONGEST_SYNOPSIS - 1] + "…"


def read_transcript_candidate(path: Path, *, name: str = "", by: str = "") -> TranscriptCandidate:
    """A transcript, with every record checked."""
    if not path.is_file():
        raise UsageError(f"{path}: no such file or folder; publish a test's folder, its script, or transcripts")
    name = name or transcript_stem(path.name)
    try:
        msgspec.convert(name, TranscriptName)
    except msgspec.ValidationError:
        text = f"'{name:.100}' cannot be a transcript's name, which may have letters, digits and ._+-"
        raise UsageError(f"{path}: {text}; choose one with --name") from None
    summary = summarise(path)
    if not summary.complete:
        raise TranscriptError(f"{path}: incomplete, it has no end line; finish the run with `hate run --resume`")
    ref = Ref(file_sha256(path), path.stat().st_size)
    return TranscriptCandidate(name, path, ref, summary.header, summary.counts, by)


def read_candidates(
    paths: list[Path], *, name: str = "", by: str = "", names: Mapping[Path, str] | None = None
) -> list[Candidate]:
    """All candidates; the mistakes in all of them are reported together. `names` renames some files."""
    candidates: list[Candidate] = []
    mistakes: list[HateError] = []
    for path in paths:
        try:
            candidates.append(read_candidate(path, name=name or (names or {}).get(path, ""), by=by))
        except HateError as error:
            mistakes.append(error)
    if len(mistakes) == 1:
        raise mistakes[0]
    if mistakes:
        raise UsageError("\n  ".join([f"{len(mistakes)} of {len(paths)} cannot be published", *map(str, mistakes)]))
    return candidates

"""What is to be published: tests and transcripts, checked before anything is written."""

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
from harness.site.data import fetch_data
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

# Files beside a script that no script names: where the data comes from, and what may be done with it.
PAPERS = ("*.md", "LICENSE*", "LICENCE*", "NOTICE*", "README*", "CITATION*")


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
        """The test's name."""
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
        """How many answers each case has."""
        return self.header.repeat if isinstance(self.header.repeat, int) else 1


Candidate = TestCandidate | TranscriptCandidate


def read_candidate(path: Path, *, name: str = "", by: str = "") -> Candidate:
    """What is at a path: a test's folder or script, or a transcript, which may be given another name."""
    if path.is_dir() or path.suffix == ".toml":
        if name:
            raise UsageError("--name is for transcripts; the name of a test is in its script")
        return read_test_candidate(path)
    return read_transcript_candidate(path, name=name, by=by)


def read_test_candidate(path: Path) -> TestCandidate:
    """A test, with its data in place and every case checked."""
    if path.is_dir() and not any(path.glob(f"*{SUFFIX}")):
        raise ScriptError(f"{path}: no script (*{SUFFIX}) in this folder; see `hate new script`")
    script = load_script(find_script(str(path.absolute())))
    cases = len(load_cases(script, fetch_data(script)))
    places = sorted(_files(script))
    if len(places) > MOST_FILES:
        raise ScriptError(f"{script.path}: {len(places):,} files, more than {MOST_FILES:,}; pack its data as a zip")
    files, sources = [], {}
    for place in places:
        check_inside(place, str(script.path))
        source = script.folder / place
        ref = Ref(file_sha256(source), source.stat().st_size)
        files.append(ReleaseFile(place, ref.sha256, ref.bytes))
        sources[ref] = source
    release = Release("release", FORMAT, script.name, script.version, script.digest, script.path.name, files)
    return TestCandidate(release, _short(script.file.test.synopsis), script.task.name, cases, sources)


def _files(script: Script) -> set[str]:
    """Every file of a test, relative to its folder; data that has a URL stays where it is."""
    named = {script.path.name, *script.tables}
    for data in script.file.data.values():
        if data.path is not None:
            named |= set(_below(script.folder, data.path))
    papers = {path.name for pattern in PAPERS for path in script.folder.glob(pattern) if path.is_file()}
    return {str(Path(name)) for name in named} | papers


def _below(folder: Path, name: str) -> Iterator[str]:
    path = folder / name
    if path.is_dir():
        yield from (file.relative_to(folder).as_posix() for file in path.rglob("*") if file.is_file())
    else:
        yield name


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_SYNOPSIS else line[: LONGEST_SYNOPSIS - 1] + "…"


def read_transcript_candidate(path: Path, *, name: str = "", by: str = "") -> TranscriptCandidate:
    """A transcript, with every record checked."""
    if not path.is_file():
        raise UsageError(f"{path}: no such file or folder; publish a test's folder, its script, or transcripts")
    called = name or transcript_stem(path.name)
    try:
        msgspec.convert(called, TranscriptName)
    except msgspec.ValidationError:
        text = f"'{called:.100}' cannot be a transcript's name: it may have letters, digits and ._+-"
        raise UsageError(f"{path}: {text}; choose one with --name") from None
    summary = summarise(path)
    if not summary.complete:
        raise TranscriptError(f"{path}: incomplete, it has no end line; finish the run with `hate run --resume`")
    ref = Ref(file_sha256(path), path.stat().st_size)
    return TranscriptCandidate(called, path, ref, summary.header, summary.counts, by)


def read_candidates(
    paths: list[Path], *, name: str = "", by: str = "", called: Mapping[Path, str] | None = None
) -> list[Candidate]:
    """All candidates; mistakes in several are reported together. `called` gives some files another name."""
    found: list[Candidate] = []
    mistakes: list[HateError] = []
    for path in paths:
        try:
            found.append(read_candidate(path, name=name or (called or {}).get(path, ""), by=by))
        except HateError as error:
            mistakes.append(error)
    if len(mistakes) == 1:
        raise mistakes[0]
    if mistakes:
        raise UsageError("\n  ".join([f"{len(mistakes)} of {len(paths)} cannot be published", *map(str, mistakes)]))
    return found

"""Tests, transcripts and interfaces to publish, checked before anything is written; nothing runs an interface."""

import ast
import tomllib
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from harness.errors import InterfaceError, ScriptError, TranscriptError, UsageError
from harness.files.digest import file_sha256
from harness.files.known_digests import hashed_anew
from harness.files.mistakes import Mistakes, made_of_all
from harness.model import Counts, Standing
from harness.script.cases import CaseSet, load_cases, training_cases
from harness.script.library import find_script
from harness.script.load import SUFFIX, Script, load_script
from harness.script.references import FOR_OTHERS
from harness.script.template import unfilled
from harness.site.fetch import fetch_data
from harness.site.layout import (
    FORMAT,
    MAX_FILES,
    MAX_SYNOPSIS_LENGTH,
    Ref,
    Release,
    ReleaseFile,
    TranscriptName,
    check_inside,
)
from harness.site.local_runs import transcript_stem
from harness.transcript.format import Header
from harness.transcript.read import WITHHELD, glance

INTERFACE_FILES = ("interface.py", "interface.toml")
MAX_INTERFACE_FILES = 100
MAX_INTERFACE_BYTES = 20 << 20
# Said of what another tool judged: its digest is that of no test script.
NOT_A_RUN = "imported from another tool, and so not a run of a published test; only runs of tests can be published"
# Files beside a script that it need not name: the origin of the data, and its licence.
DOCUMENT_PATTERNS = ("*.md", "LICENSE*", "LICENCE*", "NOTICE*", "README*", "CITATION*")


@dataclass(frozen=True)
class InterfaceCandidate:
    """The files of an interface, and the test that it is for."""

    name: str
    path: Path
    files: tuple[ReleaseFile, ...]
    sources: dict[Ref, Path]
    test_name: str = ""

    @property
    def label(self) -> str:
        return f"interface {self.name} for {self.test_name}"


def is_interface(path: Path) -> bool:
    """Whether a path is an interface, not a test or a transcript."""
    if path.is_dir():
        return any((path / name).is_file() for name in INTERFACE_FILES) and not any(path.glob(f"*{SUFFIX}"))
    return path.suffix == ".py" or path.name == INTERFACE_FILES[1]


def read_interface_candidate(path: Path, *, name: str = "") -> InterfaceCandidate:
    """An interface, parsed but not run: the folder with all its files, or one file."""
    folder = path if path.is_dir() else path.parent
    paths = list(_interface_files(path)) if path.is_dir() else [path]
    main = next((folder / main_name for main_name in INTERFACE_FILES if (folder / main_name) in paths), path)
    _check_syntax(main)
    total = sum(file.stat().st_size for file in paths)
    if len(paths) > MAX_INTERFACE_FILES or total > MAX_INTERFACE_BYTES:
        raise InterfaceError(f"{path}: {len(paths):,} files of {total:,} bytes; publish the interface, not its data")
    files, sources = _files_inside(folder, (file.relative_to(folder).as_posix() for file in paths), str(path))
    stem = (
        path.resolve().name
        if path.is_dir()
        else path.stem
        if path.name not in INTERFACE_FILES
        else folder.resolve().name
    )
    return InterfaceCandidate(name or stem, path, tuple(files), sources)


def _files_inside(folder: Path, names: Iterable[str], source: str) -> tuple[list[ReleaseFile], dict[Ref, Path]]:
    """Files by their paths in a folder, as an index names them, and where each of them is; `source` is for messages."""
    files, sources = [], {}
    for name in names:
        check_inside(name, source)
        ref = Ref(file_sha256(folder / name), (folder / name).stat().st_size)
        files.append(ReleaseFile(name, ref.sha256, ref.bytes))
        sources[ref] = folder / name
    return files, sources


def _interface_files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")):
        hidden = any(part.startswith((".", "__pycache__")) for part in path.relative_to(folder).parts)
        if path.is_symlink():
            raise InterfaceError(f"{path}: a link; put the file itself there")
        if path.is_file() and not hidden:
            yield path


def _check_syntax(path: Path) -> None:
    """That it can be read as what it claims to be; its code is not run."""
    try:
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".py":
            ast.parse(text)
        else:
            tomllib.loads(text)
    except (SyntaxError, ValueError, RecursionError, OSError) as error:
        raise InterfaceError(f"{path}: not an interface: {str(error).splitlines()[0]}") from None


@dataclass(frozen=True)
class TestCandidate:
    """A valid test."""

    release: Release
    synopsis: str
    task: str
    cases: int
    # Where each file of the release is.
    sources: dict[Ref, Path]
    # What transcripts of it are judged by.
    case_set: CaseSet | None = None

    @property
    def test_name(self) -> str:
        return self.release.name

    @property
    def blind(self) -> str:
        """The commitment to its hidden part, if it is a blind test."""
        return "" if self.case_set is None else self.case_set.script.file.test.blind or ""

    @property
    def label(self) -> str:
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
    # Why its outcomes could not be judged again; empty if they were.
    self_reported: str = ""
    # What it is ranked by, if that is known.
    standing: Standing | None = None
    # Whether its records were read and held against its test; until then, its counts are its own word.
    judged: bool = False

    @property
    def test_name(self) -> str:
        return self.header.test.name

    @property
    def isolation(self) -> str:
        """Where the algorithm ran, as its header has it; empty if that says nothing."""
        return self.header.isolation if isinstance(self.header.isolation, str) else ""

    @property
    def notes(self) -> list[str]:
        """Why others may not believe it."""
        reported = [f"self-reported: {self.self_reported}"] if self.self_reported else []
        return [*reported, *filter(None, [self.header.isolation_note])]

    @property
    def repeat(self) -> int:
        """The number of answers for each case."""
        return self.header.repeat if isinstance(self.header.repeat, int) else 1


Candidate = TestCandidate | TranscriptCandidate | InterfaceCandidate


def read_candidate(path: Path, *, name: str = "", by: str = "") -> Candidate:
    """The test (a folder or script), interface or transcript at a path; `name` renames one of the last two."""
    if is_interface(path):
        return read_interface_candidate(path, name=name)
    if path.is_dir() or path.suffix == ".toml":
        if name:
            raise UsageError("--name is for transcripts; the name of a test is in its script")
        return read_test_candidate(path)
    return read_transcript_candidate(path, name=name, by=by)


@hashed_anew()
def read_test_candidate(path: Path) -> TestCandidate:
    """A test, with its data fetched and every case checked."""
    if path.is_dir() and not any(path.glob(f"*{SUFFIX}")):
        raise ScriptError(f"{path}: no script (*{SUFFIX}) in this folder; see `hate new script`")
    script = replace(load_script(find_script(str(path.absolute()))), confined=FOR_OTHERS)
    # Nobody should meet a template at a site.
    mistakes = Mistakes(str(script.path))
    for text in unfilled(script):
        mistakes.add(text)
    mistakes.raise_if_any()
    cases = load_cases(script, fetch_data(script))
    deque(training_cases(script, cases.data_paths), 0)
    paths = sorted(_test_files(script))
    if len(paths) > MAX_FILES:
        raise ScriptError(f"{script.path}: {len(paths):,} files, more than {MAX_FILES:,}; pack its data as a zip")
    files, sources = _files_inside(script.folder, paths, str(script.path))
    release = Release("release", FORMAT, script.name, script.version, script.digest, script.path.name, files)
    synopsis = " ".join(script.file.test.synopsis.split())
    if len(synopsis) > MAX_SYNOPSIS_LENGTH:
        synopsis = synopsis[: MAX_SYNOPSIS_LENGTH - 1] + "…"
    return TestCandidate(release, synopsis, script.task.name, len(cases), sources, cases)


def _test_files(script: Script) -> set[str]:
    """Every file of a test, relative to its folder, except data that has a URL."""
    named = {script.path.name, *script.tables}
    for data in script.file.data.values():
        if data.path is not None:
            path = script.folder / data.path
            inside = (file.relative_to(script.folder).as_posix() for file in path.rglob("*") if file.is_file())
            named |= set(inside) if path.is_dir() else {data.path}
    documents = {path.name for pattern in DOCUMENT_PATTERNS for path in script.folder.glob(pattern) if path.is_file()}
    return {str(Path(name)) for name in named} | documents


def check_name(name: str, path: Path) -> None:
    """A UsageError if a transcript cannot have this name."""
    try:
        msgspec.convert(name, TranscriptName)
    except msgspec.ValidationError:
        text = f"'{name:.100}' cannot be a transcript's name, which may have letters, digits and ._+-"
        raise UsageError(f"{path}: {text}; choose one with --name") from None


def read_transcript_candidate(path: Path, *, name: str = "", by: str = "") -> TranscriptCandidate:
    """A transcript, from its first and last lines; its records are read once, when it is judged."""
    if not path.is_file():
        raise UsageError(f"{path}: no such file or folder; publish a test's folder, its script, or transcripts")
    name = name or transcript_stem(path.name)
    check_name(name, path)
    summary = glance(path)
    if summary.header.is_imported:
        raise TranscriptError(f"{path}: {NOT_A_RUN}")
    if summary.header.is_blind:
        raise TranscriptError(f"{path}: {WITHHELD}")
    if not summary.complete:
        raise TranscriptError(f"{path}: incomplete, it has no end line; finish the run with `hate run --resume`")
    ref = Ref(file_sha256(path), path.stat().st_size)
    return TranscriptCandidate(name, path, ref, summary.header, summary.counts, by)


def read_candidates(
    paths: list[Path], *, name: str = "", by: str = "", names: Mapping[Path, str] | None = None, for_test: str = ""
) -> list[Candidate]:
    """All candidates; the mistakes in all of them are reported together. `names` renames some files.

    Interfaces are for the test `for_test`, or for the only one among the candidates.
    """

    def read(path: Path) -> Candidate:
        return read_candidate(path, name=name or (names or {}).get(path, ""), by=by)

    candidates = made_of_all(paths, read, cannot="published")
    return [_for_test(candidate, candidates, for_test) for candidate in candidates]


def _for_test(candidate: Candidate, candidates: list[Candidate], name: str) -> Candidate:
    if not isinstance(candidate, InterfaceCandidate):
        return candidate
    tests = {other.test_name for other in candidates if isinstance(other, TestCandidate)}
    if not name and len(tests) != 1:
        raise UsageError(f"{candidate.path}: an interface; say for which test with --for TEST")
    check_name(candidate.name, candidate.path)
    return replace(candidate, test_name=name or next(iter(tests)))

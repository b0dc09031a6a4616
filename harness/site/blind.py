"""Blind tests: what is published of a test, and what its site keeps to itself.

The public part is a test like any other, without the columns that hold the truth. The hidden part is the whole test, in
a folder that is never served. The public script commits to it, so that a site cannot change its mind later.
"""

import csv
import hashlib
import secrets
import shutil
import uuid
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, cast

import msgspec

from harness.errors import DataError, OutputError, ScriptError, TranscriptError, UsageError
from harness.files.tables import rows
from harness.files.toml import read_toml
from harness.files.toml_text import toml_text
from harness.model import BlindTrial, Case
from harness.script.cases import CaseSet, cases_without_data
from harness.script.leakage import folders_tell, telling_columns, truth_of
from harness.script.load import Script, load_script
from harness.site.publish_candidates import TestCandidate, read_test_candidate
from harness.tasks.answers import shown
from harness.transcript.format import Header
from harness.transcript.read import open_transcript

# Beside the folder of the site: whatever copies or serves that folder must not find the truth in it.
SUFFIX = ".private"
MANIFEST = "hidden.json"
WHOLE = "test"
PUBLIC = "public"
# A column with more values for each class is hidden only if it tells the class beyond chance.
VALUES_A_CLASS = 4
HIDDEN_COLUMNS = ("expect", "positive", "truth")


class HiddenManifest(msgspec.Struct, frozen=True):
    """What belongs together: a test, what is published of it, and the commitment."""

    name: str
    version: str
    # Of the whole test, and of its public part.
    digest: str
    public: str
    salt: str

    @property
    def commitment(self) -> str:
        """What the public script says; without the salt, few labels could be guessed from it."""
        return commitment(self.salt, self.digest)


def commitment(salt: str, digest: str) -> str:
    """A hash that binds the site to a test without telling anything about it."""
    return "sha256:" + hashlib.sha256(f"{salt}:{digest}".encode()).hexdigest()


def private_folder(root: Path) -> Path:
    """Where a site keeps what it does not publish, unless told otherwise."""
    folder = root.resolve()
    return folder.with_name(folder.name + SUFFIX)


@dataclass(frozen=True)
class BlindSplit:
    """A test, taken apart."""

    # What is published.
    candidate: TestCandidate
    # Columns that are hidden because they tell the truth; and what else might.
    notes: list[str]


def hide_test(path: Path, private: Path) -> BlindSplit:
    """Put the whole test into the private folder; the result is its public part, ready to be published."""
    candidate = read_test_candidate(path)
    if candidate.case_set is None:
        raise ScriptError(f"{path}: no cases")
    cases = candidate.case_set
    _check_suitable(cases.script)
    revealing = revealing_columns(cases)
    folder = private / f"{cases.name}@{cases.script.version}"
    if not folder.exists():
        _make_folder(folder, candidate, revealing)
    manifest = read_manifest(folder)
    if manifest.digest != cases.digest:
        raise UsageError(
            f"{folder}: another test with this name and version is hidden there; give the test a new version"
        )
    script = next((folder / PUBLIC).glob("*.hate.toml"))
    public = read_test_candidate(script)
    # An older version hid fewer columns, and what is published never changes.
    shown = {name for case in public.case_set or () for name in case.columns}
    notes = [
        f"column '{name}' tells the truth, and is published already; give the test a new version to hide it"
        if name in shown
        else f"column '{name}' tells the truth, so it is hidden too"
        for name in revealing
    ]
    return BlindSplit(public, [*notes, *_suspicions(cases)])


def _check_suitable(script: Script) -> None:
    if script.is_blind:
        raise UsageError(f"{script.path}: blind already; publish it without --blind, or the test that it was made from")
    if script.file.cases.glob is not None:
        raise UsageError(f"{script.path}: the names of its files are its cases; list them in a table to hide the truth")
    tables = {table.table for table in (script.file.train, script.file.gallery) if table is not None}
    if script.file.cases.table in tables:
        raise UsageError(f"{script.path}: its cases are a table for learning or a gallery too, which names the truth")
    if not script.task.records_answers:
        raise UsageError(f"{script.path}: answers of a {script.task.name} test are files, which cannot be handed in")


def revealing_columns(cases: CaseSet) -> list[str]:
    """Columns that tell the class or the truth of the claim: beyond chance, or exactly and with few values."""
    classes: set[str] = set()
    columns: dict[str, _ColumnTruth] = {}
    for case in cases:
        classes.add(truth_of(case))
        for name in case.columns:
            columns.setdefault(name, _ColumnTruth()).add(case.column(name), case)
    # In a small test nothing is beyond chance, but a few values that name the classes are hidden all the same.
    max_values = VALUES_A_CLASS * max(2, len(classes))
    exact = {name for name, column in columns.items() if 1 < len(column.classes) <= max_values and column.tells}
    revealing = exact.union(telling_columns(cases, truth_of))
    return [name for name in columns if name in revealing]


class _ColumnTruth:
    """What goes together with each value of a column."""

    def __init__(self) -> None:
        self.classes: dict[str, str] = {}
        self.positive: dict[str, bool] = {}
        self._tells_class = self._tells_truth = True

    def add(self, value: str, case: Case) -> None:
        real = truth_of(case)
        self._tells_class &= self.classes.setdefault(value, real) == real
        self._tells_truth &= self.positive.setdefault(value, case.positive) == case.positive

    @property
    def tells(self) -> bool:
        """Whether it follows from the value what the class is, or whether the claim is true."""
        several = len(set(self.classes.values())) > 1, len(set(self.positive.values())) > 1
        return (self._tells_class and several[0]) or (self._tells_truth and several[1])


def _suspicions(cases: CaseSet) -> Iterator[str]:
    """What an author should look at: names that contain the class, and inputs that are labelled elsewhere."""
    script = cases.script
    tables = [table.table for table in (script.file.train, script.file.gallery) if table is not None]
    labelled = {str(row.get("input", "")) for name in tables for _, row in rows(script.folder / name)}
    if count := sum(str(case.input) in labelled for case in cases) if labelled else 0:
        yield f"{count:,} inputs of the cases are also in the table for learning or the gallery, with their class"
    for what in ("id", "input"):
        named = [case for case in cases if case.real_class]
        classes = {case.real_class for case in named}
        names = [(Path(case.column(what)).name.casefold(), case.real_class.casefold()) for case in named]
        if len(classes) > 1 and all(real_class in name for name, real_class in names):
            yield f"the {what} of every case contains its class; rename them if that is no coincidence"
    if folders_tell(cases):
        yield "the folder that an input is in tells its class; put all inputs into one folder"


def _make_folder(folder: Path, candidate: TestCandidate, revealing: Collection[str]) -> None:
    """All or nothing, and for its owner's eyes only."""
    part = folder.with_name(f".{folder.name}.{uuid.uuid4().hex}.part")
    try:
        if not folder.parent.exists():
            folder.parent.mkdir(parents=True)
            folder.parent.chmod(0o700)
        part.mkdir(mode=0o700)
        for file in candidate.release.files:
            target = part / WHOLE / file.path
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(candidate.sources[file.ref], target)
        script = load_script(part / WHOLE / candidate.release.script)
        salt = secrets.token_hex(32)
        public = _write_public(part / PUBLIC, script, revealing, commitment(salt, script.digest))
        # Whatever is wrong with it must be known before it is moved into place.
        read_test_candidate(public.path)
        manifest = HiddenManifest(script.name, script.version, script.digest, public.digest, salt)
        (part / MANIFEST).write_bytes(msgspec.json.format(msgspec.json.encode(manifest)) + b"\n")
        part.rename(folder)
    except OSError as error:
        raise OutputError(
            f"{folder}: {error.strerror or error}; name a folder that is not served with --private"
        ) from None
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _write_public(folder: Path, script: Script, revealing: Collection[str], promise: str) -> Script:
    """The same files, but a table without the truth, and a script that says so."""
    shutil.copytree(script.folder, folder)
    hidden = {*HIDDEN_COLUMNS, *revealing} - ({"expect"} if script.task.shows_claim else set())
    if script.file.cases.table is not None:
        (folder / script.file.cases.table).unlink()
    parsed = read_toml(script.path)[0]
    parsed["test"]["blind"] = promise
    parsed["cases"] = {"table": _write_table(folder, script, hidden)}
    parsed["design"] = _public_design(parsed.get("design", {}), hidden)
    if not parsed["design"]:
        del parsed["design"]
    (folder / script.path.name).write_text(toml_text(parsed), encoding="utf-8")
    return load_script(folder / script.path.name)


def _write_table(folder: Path, script: Script, hidden: Collection[str]) -> str:
    """The public columns of all cases, in the format that they came in if that is text."""
    name = script.file.cases.table
    if name is None:
        cases = [dict(row) for row in script.file.cases.case or []]
    else:
        cases = [row for _, row in rows(script.folder / name)]
    shown = [{key: value for key, value in row.items() if key not in hidden} for row in cases]
    if name is None or not name.lower().endswith((".csv", ".tsv")):
        name = f"{Path(name or 'cases').with_suffix('')}.jsonl"
        lines = [msgspec.json.encode(row) + b"\n" for row in shown]
        (folder / name).write_bytes(b"".join(lines))
        return name
    with (folder / name).open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(shown[0]), delimiter="\t" if name.lower().endswith(".tsv") else ",")
        writer.writeheader()
        writer.writerows(shown)
    return name


def _public_design(design: Mapping[str, Any], hidden: Collection[str]) -> dict[str, Any]:
    """What the design says without hidden columns; the site uses all of it."""
    columns = {
        key: {value} if isinstance(value, str) else set(value) for key, value in design.items() if key != "weights"
    }
    kept = {key: design[key] for key, names in columns.items() if not names & set(hidden)}
    weights = design.get("weights", "cases")
    of_column = isinstance(weights, str) and weights not in (*hidden, "equal")
    if of_column or "stratum" in kept:
        kept["weights"] = weights
    return kept


def read_manifest(folder: Path) -> HiddenManifest:
    """What is hidden in a folder; a DataError if that cannot be read."""
    try:
        return msgspec.json.decode((folder / MANIFEST).read_bytes(), type=HiddenManifest)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise DataError(f"{folder / MANIFEST}: cannot be read: {getattr(error, 'strerror', None) or error}") from None


@dataclass(frozen=True)
class HiddenTest:
    """The whole of a blind test, where the truth is."""

    folder: Path

    @cached_property
    def manifest(self) -> HiddenManifest:
        return read_manifest(self.folder)

    @cached_property
    def cases(self) -> CaseSet:
        """The cases with the truth; a DataError unless they are what the public script promises."""
        script = load_script(next((self.folder / WHOLE).glob("*.hate.toml")))
        if script.digest != self.manifest.digest:
            raise DataError(f"{self.folder}: the hidden test was changed; restore it")
        return cases_without_data(script)

    def check_promise(self, public: Script) -> None:
        """A DataError unless this is what the published test commits to."""
        if (public.digest, public.file.test.blind) != (self.manifest.public, self.manifest.commitment):
            raise DataError(f"{self.folder}: not the hidden part of {public.name} {public.version} as it is published")


def find_hidden(private: Path, name: str, version: str) -> HiddenTest | None:
    """The hidden part of a test; None if it is not here."""
    folder = private / f"{name}@{version}"
    return HiddenTest(folder) if (folder / MANIFEST).is_file() else None


@dataclass(frozen=True)
class BlindAnswers:
    """A complete run of a blind test: the answer to each case."""

    header: Header
    answers: dict[str, BlindTrial]


def read_blind_answers(path: Path, public: CaseSet) -> BlindAnswers:
    """The answers, complete and of this test; a TranscriptError says what is wrong. Says nothing about the truth."""
    answers: dict[str, BlindTrial] = {}
    with open_transcript(path, record=BlindTrial) as reader:
        header = reader.header
        _check_header(path, header, public)
        for trial in chain.from_iterable(reader.blocks()):
            if trial.id in answers:
                raise TranscriptError(f"{path}:{len(answers) + 2}: case '{trial.id[:100]}' appears twice")
            answers[trial.id] = cast("BlindTrial", trial)  # that is what was asked for
    if reader.end is None or not reader.end.sha256:
        raise TranscriptError(
            f"{path}: incomplete, it has no end line with a sha256; finish it with `hate run --resume`"
        )
    expected = {case.id for case in public}
    if answers.keys() != expected:
        odd = next(iter(answers.keys() - expected), None) or next(iter(expected - answers.keys()))
        raise TranscriptError(f"{path}: case '{odd[:100]}' is missing, or not of the test; hand in a complete run")
    return BlindAnswers(header, answers)


def _check_header(path: Path, header: Header, public: CaseSet) -> None:
    test = header.test
    if not header.is_blind:
        raise TranscriptError(f"{path}: {public.name} is a blind test; hand in a run of it, which has answers only")
    if (test.name, test.version, test.digest) != (public.name, public.script.version, public.digest):
        raise TranscriptError(
            f"{path}:1: not of the published {public.name} {public.script.version}: its digest differs"
        )
    if header.repeat is not msgspec.UNSET and header.repeat != 1:
        # How often each of several answers was right would tell the outcomes of single cases, by their counts alone.
        raise TranscriptError(
            f"{path}:1: repeat {shown(header.repeat)}: a blind test takes one answer per case; run it without --repeat"
        )
    if header.part:
        raise TranscriptError(f"{path}: a run with --limit or --train-folds; hand in a complete run")

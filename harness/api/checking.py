"""Whether scripts, interfaces and transcripts are valid: `check`, `hate check`."""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from harness.api.result import Result
from harness.errors import HateError, ScriptError, UsageError
from harness.files.known_digests import hashed_anew
from harness.files.mistakes import Mistakes
from harness.files.toml import read_toml
from harness.interface.load import load_interface
from harness.interface.python_source import read_python
from harness.report.blocks import Block, Cell, Table
from harness.report.text import safe, safe_message
from harness.script.cases import CaseSet, read_cases, training
from harness.script.design import FIXED_COLUMNS
from harness.script.leakage import telling_columns
from harness.script.load import SUFFIX, read_script, table_names
from harness.script.references import FOR_OTHERS
from harness.script.template import unfilled
from harness.site.audit import audit_file
from harness.site.fetch import fetch_data
from harness.transcript.storage import Form, is_parquet_transcript


@dataclass(frozen=True)
class CheckedFile:
    """A file that was checked: what it is, with warnings; or what is wrong with it."""

    path: Path
    lines: Sequence[str]
    # With the place of each mistake; empty if there is none.
    error: str = ""

    @property
    def valid(self) -> bool:
        return not self.error

    @property
    def text(self) -> str:
        """As the command prints it."""
        lines = [safe(f"{self.path}: {line}") for line in self.lines]
        return "\n".join([*lines, safe_message(self.error)] if self.error else lines)


@dataclass(frozen=True, repr=False)
class CheckResult(Result):
    """The files that were checked."""

    files: Sequence[CheckedFile]

    @property
    def invalid(self) -> Sequence[CheckedFile]:
        """Those with mistakes."""
        return [file for file in self.files if not file.valid]

    @property
    def valid(self) -> bool:
        """Whether all are."""
        return not self.invalid

    @property
    def total(self) -> str:
        """How many there are, in a line; empty for a single one."""
        return f"{len(self.files):,} checked, {len(self.invalid):,} invalid" if len(self.files) > 1 else ""

    def payload(self) -> Any:
        files = [
            {"path": str(file.path), "valid": file.valid, "lines": file.lines, "error": file.error or None}
            for file in self.files
        ]
        return {"checked": len(files), "invalid": len(self.invalid), "files": files}

    def plain(self) -> str:
        """As the command prints it."""
        return "".join(f"{text}\n" for text in (*(file.text for file in self.files), self.total) if text)

    def blocks(self) -> Sequence[Block]:
        """A row for each line about a file."""
        rows: list[list[Cell]] = []
        for file in self.files:
            lines = [*file.lines, *file.error.splitlines()]
            rows += [[str(file.path), "yes" if file.valid else "no", line] for line in lines]
        return [Table(["file", "valid", "line"], rows)]


def check(paths: str | Path | Sequence[str | Path]) -> CheckResult:
    """Validate test scripts, interfaces and transcripts.

    >>> harness.check("my-test/").valid

    Args:
        paths: Files, or folders, in which every script, interface and transcript is checked. Python code that is found
            in a folder is read, not run; name its file to have it loaded.
    """
    several = [paths] if isinstance(paths, (str, Path)) else list(paths)
    if not several:
        raise UsageError("no file; name at least one")
    return CheckResult(list(check_files(several)))


def check_files(paths: Sequence[str | Path]) -> Iterator[CheckedFile]:
    """Each file of `check`, when it has been checked."""
    named = {Path(path) for path in paths if Path(path).is_file()}
    for file in [file for path in paths for file in _files(Path(path))]:
        lines, mistake = list[str](), ""
        with hashed_anew():
            try:
                lines += _check_of(file, named=file in named)(file)
            except HateError as error:
                mistake = str(error)
        yield CheckedFile(file, lines, mistake)


def _files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise UsageError(f"{path}: no such file or folder")
    names = (f"*{SUFFIX}", "interface.py", "interface.toml", "*.jsonl", "*.jsonl.gz", "*.parquet")
    files = sorted({file for name in names for file in path.rglob(name) if "__pycache__" not in file.parts})
    # Files in a script's folder that look like transcripts but are its tables, also where the script has mistakes.
    scripts = [file for file in files if file.name.endswith(SUFFIX)]
    tables = {(script.parent / name).resolve() for script in scripts for name in table_names(script)}
    if not files:
        raise UsageError(f"{path}: no script (*{SUFFIX}), interface or transcript in there")
    others = {file for file in files if file.suffix == Form.PARQUET and not is_parquet_transcript(file)}
    return [file for file in files if file.resolve() not in tables and file not in others]


def _check_of(file: Path, *, named: bool) -> Callable[[Path], Iterator[str]]:
    if file.name.endswith(SUFFIX):
        return _check_script
    if file.suffix == ".py" and not named:
        return _read_interface
    if file.suffix == ".toml":
        with suppress(ScriptError):
            return _check_script if "test" in read_toml(file)[0] else _check_interface
    return _check_interface if file.suffix in (".py", ".toml") else _check_transcript


def _check_script(file: Path) -> Iterator[str]:
    cases, trained = _load_all(file)
    script = cases.script
    resolve = cases.references.resolve
    seen = sorted({case.id for case in cases if _key(resolve(case.input)) in trained}) if trained else []
    for column in sorted({name for case in cases for name in case.columns}):
        if near := get_close_matches(column, FIXED_COLUMNS, n=1, cutoff=0.75):
            yield f"warning: column '{column}' is not one that the harness knows; did you mean '{near[0]}'?"
    for column in telling_columns(cases):
        yield (
            f"warning: column '{column}' tells the answer, and programs are handed it: cases with the same value, or "
            "the same beginning or end of it, have the same answer; leave it out unless the design needs it"
        )
    if seen:
        yield f"warning: {len(seen):,} test inputs are training material too, such as that of case '{seen[0]}'"
    yield from _overlaps(cases, trained)
    yield from (f"warning: {text}" for text in unfilled(script))
    yield f"a valid test: {script.name} {script.version}, {len(cases):,} cases, {script.digest}"


def _check_truths(cases: CaseSet, mistakes: Mistakes) -> None:
    """Read every truth that is a file, and add what is wrong with them."""
    for case in cases.as_judged() if cases.script.task.expect_is_file else ():
        if text := cases.script.task.truth_mistake(case, cases.rules):
            mistakes.add(f"case '{case.id}': {text}")


def _load_all(file: Path) -> tuple[CaseSet, set[str]]:
    """The cases and the inputs of the training part; a ScriptError has the mistakes of the script and of all tables."""
    mistakes = Mistakes(str(file))
    reading = read_script(file, mistakes)
    script, data_paths, trained = replace(reading.script, confined=FOR_OTHERS), {}, set[str]()
    if not reading.has_cases:
        mistakes.raise_if_any()
    try:
        data_paths = fetch_data(script)
    except HateError as error:
        mistakes.add(_without_name(error, file))
    cases = None
    if data_paths or not script.file.data or script.file.cases.glob is None:
        before = mistakes.count
        cases = read_cases(script, data_paths, mistakes)
        if mistakes.count == before:
            _check_truths(cases, mistakes)
    if not reading.is_wrong(("train",)):
        try:
            trained = {_key(question.input) for question in training(script, data_paths)}
        except HateError as error:
            for line in _without_name(error, file).splitlines():
                mistakes.add(line.strip())
    mistakes.raise_if_any()
    if cases is None:
        raise ScriptError(f"{file}: its cases cannot be read")
    return cases, trained


def _without_name(error: HateError, file: Path) -> str:
    """The text of an error about a script, for a report that begins with the script's name."""
    return re.sub(r"^[\d,]+ mistakes\n", "", str(error).removeprefix(f"{file}: "))


def _overlaps(cases: CaseSet, trained: set[str]) -> Iterator[str]:
    """Images of a rank test that serve two purposes."""
    if cases.gallery is None:
        return
    twins = [case.id for case in cases if cases.gallery.twin(case) >= 0]
    if twins:
        text = f"warning: {len(twins):,} probes are in the gallery too, such as '{twins[0]}'"
        yield f"{text}; none is compared with itself"
    resolve = cases.references.resolve
    learned = [entry.id for entry in cases.gallery.entries if _key(resolve(entry.input)) in trained]
    if learned:
        yield f"warning: {len(learned):,} gallery images are training material too, such as '{learned[0]}'"


def _key(value: object) -> str:
    return value if isinstance(value, str) else repr(value)


def _check_interface(file: Path) -> Iterator[str]:
    loaded = load_interface(str(file))
    yield from loaded.remarks()
    yield f"a valid interface: {loaded.name} {loaded.version} ({loaded.kind})".replace("  ", " ")


def _read_interface(file: Path) -> Iterator[str]:
    """Code that nobody named is not run: it may have come with a test from elsewhere."""
    source = read_python(file)
    yield f"a valid interface: {source.name} {source.version} (python); read, not run".replace("  ", " ")


def _check_transcript(file: Path) -> Iterator[str]:
    result = audit_file(file)
    result.raise_if_any()
    what = "a valid transcript" if result.complete else "warning: an incomplete transcript"
    header = result.header
    judged = "" if result.self_reported else ", judged again"
    yield f"{what}: {header.test.name}, {header.algorithm.name}, {result.counts.tests:,} records{judged}"
    if result.self_reported:
        yield f"self-reported: {result.self_reported}"

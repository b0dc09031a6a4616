"""Load a test script: parse, validate, resolve what it names. Its cases are read later, when its data is at hand."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from harness.errors import ScriptError
from harness.files import digest as digests
from harness.files.lines import key_lines
from harness.files.mistakes import Mistakes
from harness.files.strict_toml import line_place, read_toml, validate
from harness.params import Param, Value
from harness.script.paths import inside
from harness.script.schema import FORMAT, Data, ScriptFile
from harness.tasks import TASKS
from harness.tasks.task import Rules, Task

SUFFIX = ".hate.toml"


@dataclass(frozen=True)
class Script:
    """A valid test script; every file that it names is there."""

    path: Path
    file: ScriptFile

    @property
    def folder(self) -> Path:
        """Where the script and all that it names live."""
        return self.path.parent

    @property
    def name(self) -> str:
        """The test's name."""
        return self.file.test.name

    @property
    def version(self) -> str:
        """The test's version."""
        return self.file.test.version

    @property
    def task(self) -> Task:
        """What is asked of an algorithm."""
        return TASKS[self.file.test.task]

    @property
    def rules(self) -> Rules:
        """How answers are decided on, beside the decision parameters."""
        tolerance = self.file.test.tolerance
        return Rules(
            larger_is_better=self.file.test.larger_is_better,
            relative_tolerance=tolerance is not None and tolerance.relative is not None,
        )

    @cached_property
    def params(self) -> dict[str, Param]:
        """The parameters of the test: the task's decision parameters, as the script sets and adds to them."""
        declared = dict(self.task.decisions)
        if (tolerance := self.file.test.tolerance) is not None:
            limit = tolerance.absolute if tolerance.absolute is not None else tolerance.relative
            declared["tolerance"] = _with_default(declared["tolerance"], limit or 0.0)
        for name, section in self.file.params.items():
            default = float(section.default) if section.type == "float" else section.default
            declared[name] = Param(name, section.type, default, section.decision, section.help)
        return declared

    @property
    def tables(self) -> list[str]:
        """The tables that the script names, relative to its folder."""
        weights = self.file.design.weights
        named = [self.file.cases.table, *(t.table for t in (self.file.train, self.file.gallery) if t is not None)]
        named.append(weights if isinstance(weights, str) and is_table(weights) else None)
        return list(dict.fromkeys(name for name in named if name is not None))

    @cached_property
    def digest(self) -> str:
        """The identity of this test: of the script and everything that it names."""
        files = {name: digests.file_sha256(self.folder / name) for name in (self.path.name, *self.tables)}
        for data in self.file.data.values():
            files[data.url or data.path or ""] = data.sha256 or digests.path_sha256(self.data_path(data))
        return digests.digest(files)

    def data_path(self, data: Data) -> Path:
        """Where data that lies beside the script is."""
        return self.folder / (data.path or "")


def is_table(name: str) -> bool:
    """Whether a name is that of a table file, not of a column."""
    return name.endswith((".csv", ".tsv", ".jsonl", ".parquet"))


def _with_default(param: Param, default: Value) -> Param:
    return Param(param.name, param.type, default, param.decision, param.help)


def load_script(path: Path) -> Script:
    """A script from its file; a ScriptError with every mistake otherwise."""
    parsed, text = read_toml(path)
    _check_format(path, parsed)
    mistakes = Mistakes(str(path))
    script = Script(path, validate(ScriptFile, parsed, text, mistakes))
    _check_decisions(script, mistakes)
    _check_files(script, key_lines(text), mistakes)
    mistakes.raise_if_any()
    return script


def _check_format(path: Path, parsed: dict[str, Any]) -> None:
    """Ahead of everything else: a later format may differ in every other key."""
    version = parsed.get("format", FORMAT)
    if version != FORMAT:
        raise ScriptError(f"{path}: format {version!r} is not known here, only {FORMAT}; a newer hate may read it")


def _check_decisions(script: Script, mistakes: Mistakes) -> None:
    """Only a task knows how to decide on recorded answers, so only its own parameters can be decisions."""
    decisions = script.task.decisions
    for name, section in script.file.params.items():
        if section.decision and name not in decisions:
            known = ", ".join(decisions)
            mistakes.add(f"params.{name}: not a decision parameter of a {script.task.name} test; those are: {known}")
        elif name in decisions and not section.decision:
            mistakes.add(f"params.{name}: a decision parameter of every {script.task.name} test; say decision = true")
    if script.task.name == "score" and "threshold" not in script.file.params:
        mistakes.add("params.threshold: missing; a score test must say which score is high enough")


def _check_files(script: Script, lines: dict[tuple[str, ...], int], mistakes: Mistakes) -> None:
    """Every file that the script names is there and inside its folder."""
    named: list[tuple[tuple[str, ...], str | None]] = [(("cases", "table"), script.file.cases.table)]
    named += [((key, "table"), table.table) for key, table in _tables(script)]
    named += [(("data", name, "path"), data.path) for name, data in script.file.data.items()]
    weights = script.file.design.weights
    named += [(("design", "weights"), weights)] if isinstance(weights, str) and is_table(weights) else []
    for key, name in named:
        if name is None:
            continue
        try:
            inside(script.folder, name)
        except ScriptError as error:
            mistakes.add(f"{'.'.join(key)}: {error}", place=line_place(lines, key))


def _tables(script: Script) -> list[tuple[str, Any]]:
    return [(key, t) for key, t in (("train", script.file.train), ("gallery", script.file.gallery)) if t is not None]
